// Run by test_trial_js.py with `node --test`.

import assert from "node:assert/strict";
import test from "node:test";

const folder = new URL("../../annotation_app/trial/", import.meta.url);
const { Outbox, newEventId, retryDelay } = await import(new URL("outbox.js", folder));
const { HeldKeys, compileKeymap, keyName } = await import(new URL("keys.js", folder));
const { TaskQueue } = await import(new URL("tasks.js", folder));
const { PictureStore } = await import(new URL("pictures.js", folder));
const { expose, frameCount, measureFrameMs, painted } = await import(new URL("clock.js", folder));
const { roundBox } = await import(new URL("box.js", folder));
const { Api } = await import(new URL("api.js", folder));

// --- what stands in for the browser -----------------------------------------------------------------------------

class Storage {
  items = new Map();
  full = false;
  get length() { return this.items.size; }
  key(index) { return [...this.items.keys()][index] ?? null; }
  getItem(name) { return this.items.get(name) ?? null; }
  setItem(name, value) {
    if (this.full) throw new DOMException("full", "QuotaExceededError");
    this.items.set(name, value);
  }
  removeItem(name) { this.items.delete(name); }
}

// Time that passes only when a test says so.
class Timers {
  now = 0;
  #queue = [];
  #last = 0;
  setTimeout = (work, delay) => { this.#queue.push({ id: ++this.#last, at: this.now + delay, work }); return this.#last; };
  clearTimeout = (id) => { this.#queue = this.#queue.filter((entry) => entry.id !== id); };
  async pass(ms) {
    const end = this.now + ms;
    for (;;) {
      await settle();
      const due = this.#queue.filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.clearTimeout(due.id);
      this.now = due.at;
      due.work();
    }
    this.now = end;
    await settle();
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const stored = (events) => ({ acks: events.map((event) => ({ event_id: event.event_id, status: "stored" })) });
const said = (id, more = {}) => ({ event_id: id, assignment: `task ${id}`, kind: "answer", answer: "accept", ...more });
const press = (key, more = {}) => ({ key, code: `Key${key.toUpperCase()}`, repeat: false, ...more });

function makeOutbox({ storage = new Storage(), timers = new Timers(), send = async (events) => stored(events) } = {}) {
  const answers = [];
  const outbox = new Outbox({
    key: "k", storage, send, timers, now: () => timers.now, onAnswer: (answer) => answers.push(answer), onChange() {},
  });
  return { outbox, storage, timers, answers };
}

// --- outbox -----------------------------------------------------------------------------------------------------

test("an event lies in the storage until it is acknowledged", async () => {
  const { outbox, storage, timers } = makeOutbox();
  outbox.add([said("1")]);
  assert.equal(storage.length, 1);
  assert.equal(outbox.nUnsaved, 1);
  await timers.pass(0);
  assert.equal(storage.length, 0);
  assert.equal(outbox.size, 0);
});

test("a failed sending is tried again, ever more slowly, until it works", async () => {
  const sent = [];
  let works = false;
  const timers = new Timers();
  const send = async (events) => {
    sent.push([timers.now, events.map((event) => event.event_id)]);
    if (!works) throw new Error("down");
    return stored(events);
  };
  const { outbox } = makeOutbox({ timers, send });
  outbox.add([said("1"), said("2")]);
  await timers.pass(3600);
  assert.deepEqual(sent.map(([time]) => time), [0, 500, 1500, 3500]);
  assert.equal(outbox.failing, true);
  works = true;
  await timers.pass(4000);
  assert.equal(outbox.size, 0);
  assert.equal(outbox.failing, false);
  assert.deepEqual(sent.at(-1)[1], ["1", "2"]);
});

test("the delay doubles up to its limit", () => {
  assert.deepEqual([1, 2, 3, 5, 6, 40].map(retryDelay), [500, 1000, 2000, 8000, 15000, 15000]);
});

test("another tab of the same person sends what is left, in its order, and not what is of others", async () => {
  const storage = new Storage();
  const first = makeOutbox({ storage, send: async () => { throw new Error("down"); } });
  first.outbox.add([said("1")]);
  first.outbox.add([said("2")]);
  first.outbox.stop();
  storage.setItem("cuebench:other:3", JSON.stringify({ order: 1, event: said("3") }));
  storage.setItem("cuebench:k:4", "{ cut");
  const sent = [];
  const second = makeOutbox({ storage, send: async (events) => { sent.push(...events); return stored(events); } });
  assert.equal(second.outbox.size, 2);
  second.outbox.flushNow();
  await second.timers.pass(0);
  assert.deepEqual(sent.map((event) => event.event_id), ["1", "2"]);
  assert.equal(storage.getItem("cuebench:other:3") !== null, true);
});

test("a refused event leaves the outbox, one without an acknowledgement stays", async () => {
  let round = 0;
  const send = async () => ({ acks: round++ === 0 ? [{ event_id: "1", status: "refused" }] : [] });
  const { outbox, timers } = makeOutbox({ send });
  outbox.add([said("1"), said("2")]);
  await timers.pass(0);
  assert.deepEqual(outbox.events.map((event) => event.event_id), ["2"]);
  outbox.stop();
});

test("a full storage costs nothing but the safety of a reload, and says so", async () => {
  const storage = new Storage();
  storage.full = true;
  const { outbox, timers, answers } = makeOutbox({ storage });
  outbox.add([said("1")]);
  assert.equal(outbox.storageFull, true);
  assert.equal(outbox.nUnsaved, 1);
  await timers.pass(0);
  assert.equal(answers.length, 1);
  assert.equal(outbox.storageFull, false);
});

test("what is said while a batch is on its way goes with the next one", async () => {
  const batches = [];
  let finish;
  const send = (events) => {
    batches.push(events.map((event) => event.event_id));
    return new Promise((resolve) => { finish = () => resolve(stored(events)); });
  };
  const { outbox, timers } = makeOutbox({ send });
  outbox.add([said("1")]);
  await timers.pass(0);
  outbox.add([said("2")]);
  await timers.pass(50);
  assert.deepEqual(batches, [["1"]]);
  finish();
  await timers.pass(0);
  assert.deepEqual(batches, [["1"], ["2"]]);
});

test("a shown event waits for its answer and does not hold one up", async () => {
  const { outbox, timers, answers } = makeOutbox();
  outbox.add([said("0", { kind: "shown", answer: null })], 1000);
  assert.equal(outbox.nUnsaved, 0);
  await timers.pass(900);
  assert.equal(answers.length, 0);
  outbox.add([said("1")]);
  outbox.add([said("2", { kind: "shown" })], 1000);
  await timers.pass(0);
  assert.equal(answers[0].acks.length, 3);
});

test("a batch that is too empty for an endless loop: without acknowledgements nothing is sent at once again", async () => {
  let nSent = 0;
  const { outbox, timers } = makeOutbox({ send: async () => { nSent += 1; return { acks: [] }; } });
  outbox.add([said("1")]);
  await timers.pass(400);
  assert.equal(nSent, 1);
  await timers.pass(200);
  assert.equal(nSent, 2);
  outbox.stop();
});

test("a task that was only shown is not on its way", () => {
  const { outbox } = makeOutbox();
  outbox.add([said("0", { kind: "shown" })], 1000);
  outbox.add([said("1")]);
  assert.deepEqual([...outbox.assignments()], ["task 1"]);
  outbox.stop();
});

test("event ids are random, with and without randomUUID", () => {
  const old = { getRandomValues: (bytes) => crypto.getRandomValues(bytes) };
  assert.match(newEventId(old), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(newEventId(), newEventId());
});

// --- keys -------------------------------------------------------------------------------------------------------

test("a key is known by what it writes, and by its place where it writes nothing that is known", () => {
  assert.equal(keyName(press("A")), "a");
  assert.equal(keyName({ key: "ф", code: "KeyA" }), "a");
  assert.equal(keyName({ key: "q", code: "KeyA" }), "q"); // AZERTY: the letter on the cap
  assert.equal(keyName({ key: "&", code: "Digit1" }), "1");
  assert.equal(keyName({ key: "7", code: "Numpad7" }), "7");
  assert.equal(keyName({ key: "?", code: "Slash", shiftKey: true }), "?");
  assert.equal(keyName({ key: "Backspace", code: "Backspace" }), "Backspace");
});

test("two actions on one key are an error", () => {
  assert.throws(() => compileKeymap({ accept: ["a"], reject: ["a"] }), /key a: accept and reject/);
  assert.equal(compileKeymap({ undo: ["u", "Backspace"] }).get("Backspace"), "undo");
});

test("a held key counts once, with or without the mark of a repeat", () => {
  const held = new HeldKeys();
  assert.equal(held.press(press("a")), true);
  assert.equal(held.press(press("a", { repeat: true })), false);
  assert.equal(held.press(press("a")), false);
  assert.equal(held.press(press("x")), true);
  held.release(press("a"));
  assert.equal(held.press(press("a")), true);
  held.clear();
  assert.equal(held.press(press("x")), true);
  assert.equal(held.press(press("s", { repeat: true })), false);
});

// --- tasks ------------------------------------------------------------------------------------------------------

const tasks = (...ids) => ids.map((id) => ({ id, block: 0 }));
const order = (queue) => queue.upcoming(99).map((task) => task.id);

test("the server's list follows what is on the screen", () => {
  const queue = new TaskQueue();
  queue.merge(tasks("a", "b", "c"));
  queue.merge(tasks("b", "a", "d"));
  assert.deepEqual(order(queue), ["a", "b", "d"]);
});

test("an answered task does not come back with an older list", () => {
  const queue = new TaskQueue();
  queue.merge(tasks("a", "b"));
  queue.answer("a");
  queue.merge(tasks("a", "b", "c"));
  assert.deepEqual(order(queue), ["b", "c"]);
});

test("undo goes back without end, with the answer that was given", () => {
  const queue = new TaskQueue();
  queue.setHistory([{ id: "y", block: 0, answer: "accept" }, { id: "x", block: 0, answer: "reject" }]);
  queue.merge(tasks("a", "b"));
  queue.answer("a", { answer: "unsure" });
  assert.deepEqual(["a", "y", "x"].map(() => queue.undo().task.answer), ["unsure", "accept", "reject"]);
  assert.equal(queue.undo(), null);
  assert.deepEqual(order(queue), ["x", "y", "a", "b"]);
});

test("a task whose undo is on its way stays, whatever the list says", () => {
  const queue = new TaskQueue();
  queue.merge(tasks("a", "b", "c"));
  queue.answer("a");
  queue.answer("b");
  queue.undo();
  queue.undo();
  queue.merge(tasks("c"), new Set(["a", "b"]));
  assert.deepEqual(order(queue), ["a", "b", "c"]);
});

test("later goes to the end of its block, and undo brings it back without an answer", () => {
  const queue = new TaskQueue();
  queue.merge([{ id: "a", block: 0 }, { id: "b", block: 0 }, { id: "c", block: 1 }]);
  queue.postpone("a");
  assert.deepEqual(order(queue), ["b", "a", "c"]);
  assert.equal(queue.undo().act, "later");
  assert.deepEqual(order(queue), ["a", "b", "c"]);
});

test("what was put off stays at the end when more tasks come", () => {
  const queue = new TaskQueue();
  queue.merge(tasks("a", "b"));
  queue.postpone("a", { undoable: false });
  queue.merge(tasks("a", "b", "c"));
  assert.deepEqual(order(queue), ["b", "c", "a"]);
  assert.equal(queue.nUndoable, 0);
});

// --- pictures ---------------------------------------------------------------------------------------------------

function makePictures(load, timers = new Timers()) {
  const changed = [];
  URL.revokeObjectURL = () => {};
  const pictures = new PictureStore({
    load, decode: async (blob) => ({ src: `blob:${blob}` }), onChange: (url) => changed.push(url), timers, clock: () => timers.now,
  });
  return { pictures, changed, timers };
}

test("at most three pictures are loaded at once, the most urgent first", async () => {
  const begun = [];
  const { pictures } = makePictures((url) => { begun.push(url); return new Promise(() => {}); });
  pictures.want(["a", "b", "c", "d"]);
  assert.deepEqual(begun, ["a", "b", "c"]);
  assert.equal(pictures.get("d").state, "waiting");
});

test("a picture that fails is tried again, then said to be missing, and can be asked for again", async () => {
  let nCalls = 0;
  const { pictures, timers } = makePictures(async () => { nCalls += 1; if (nCalls < 4) throw new Error("down"); return "x"; });
  pictures.want(["a"]);
  await timers.pass(0);
  assert.equal(pictures.get("a").state, "retrying");
  await timers.pass(5000);
  assert.equal(nCalls, 3);
  assert.equal(pictures.get("a").state, "failed");
  pictures.retry("a");
  await timers.pass(0);
  assert.equal(pictures.get("a").state, "ready");
});

test("a picture that is not there is not asked for again and again", async () => {
  let nCalls = 0;
  const { pictures, timers } = makePictures(async () => { nCalls += 1; throw Object.assign(new Error("404"), { permanent: true }); });
  pictures.want(["a"]);
  await timers.pass(60000);
  assert.equal(nCalls, 1);
  assert.equal(pictures.get("a").state, "failed");
});

test("a picture that nobody wants any more is let go", async () => {
  const { pictures, timers, changed } = makePictures(async (url) => url);
  pictures.want(["a"]);
  await timers.pass(0);
  pictures.want(["b"]);
  assert.equal(pictures.get("a").state, "waiting");
  await timers.pass(0);
  assert.deepEqual(changed, ["a", "b"]);
});

// --- clock ------------------------------------------------------------------------------------------------------

function makeFrames(step = 10) {
  let now = 0;
  return (work) => setImmediate(() => work((now += step)));
}

test("times in ms become whole frames, at least one", () => {
  assert.deepEqual([0, 1, 200, 500].map((ms) => frameCount(ms, 1000 / 60)), [0, 1, 12, 30]);
  assert.equal(frameCount(200, 1000 / 144), 29);
});

test("a picture counts as painted at the second frame", async () => {
  assert.equal(await painted(makeFrames()), 20);
});

test("the length of a frame is the median", async () => {
  assert.equal(await measureFrameMs(8, makeFrames(7)), 7);
});

test("a brief exposure shows each stage for its frames, and times the stimulus", async () => {
  let frame = 0;
  const frames = (work) => setImmediate(() => work((frame += 1) * 10));
  const shown = [];
  const exposure = { fixation_ms: 30, stimulus_ms: 50, mask_ms: 20 };
  const seen = await expose(exposure, 10, (stage) => shown.push([stage, frame]), () => true, frames);
  assert.deepEqual(shown, [["fixation", 1], ["stimulus", 4], ["mask", 9], ["response", 11]]);
  assert.deepEqual(seen, { onset: 50, dropped: false });
});

test("a dropped frame is noticed", async () => {
  const times = [10, 20, 50, 60, 70];
  const frames = (work) => setImmediate(() => work(times.shift()));
  const seen = await expose({ fixation_ms: 0, stimulus_ms: 30, mask_ms: 0 }, 10, () => {}, () => true, frames);
  assert.equal(seen.dropped, true);
});

test("an exposure that is given up shows nothing more", async () => {
  const shown = [];
  const exposure = { fixation_ms: 10, stimulus_ms: 10, mask_ms: 10 };
  assert.equal(await expose(exposure, 10, (stage) => shown.push(stage), () => shown.length < 2, makeFrames()), null);
  assert.deepEqual(shown, ["fixation", "stimulus"]);
});

// --- box, api ---------------------------------------------------------------------------------------------------

test("a box has whole px inside the photograph, whichever corner came first", () => {
  assert.deepEqual(roundBox({ x0: 30.2, y0: 40.9, x1: 10.7, y1: 5.5 }, 100, 50), [10, 5, 31, 41]);
  assert.deepEqual(roundBox({ x0: 100, y0: 50, x1: 100, y1: 50 }, 100, 50), [99, 49, 100, 50]);
  assert.deepEqual(roundBox({ x0: -5, y0: -5, x1: 500, y1: 500 }, 100, 50), [0, 0, 100, 50]);
});

test("a request carries the session in its header, never in its address", async () => {
  const calls = [];
  const fetcher = async (url, options) => { calls.push([url, options]); return new Response('{"acks": []}'); };
  await new Api("/api", "secret", false, fetcher).send([], [], 12);
  const [url, options] = calls[0];
  assert.equal(url, "/api/events");
  assert.equal(options.headers["X-Cuebench-Session"], "secret");
});

test("an answer of the server that trying again won't change is told from one that it may", async () => {
  const answer = (status) => async () => new Response('{"error": "no such session"}', { status });
  await assert.rejects(new Api("/api", "s", false, answer(401)).tasks(12), { permanent: true, message: "no such session" });
  await assert.rejects(new Api("/api", "s", false, answer(503)).tasks(12), { permanent: false });
});
