// What binds the loop to the server: the outbox, the tasks that come, the light that says whether all is saved.

import { ApiError } from "./api.js";
import { Outbox, retryDelay } from "./outbox.js";

const N_TASKS = 12;
const SHOWN_DELAY_MS = 1000; // that a picture was shown goes with its answer, or alone after a while
const HEARTBEAT_MS = 20000;
const IS_OVER = new Set(["answer", "timeout"]);
const OPEN_PHASES = { study: ["trials", "break"], practice: ["practice"] };

export class Sync {
  #timer = null;
  #nStartFailures = 0;
  #exhausted = false; // the server had fewer tasks than it was asked for
  #checking = false;

  constructor(loop) {
    this.loop = loop;
    this.outbox = null;
    this.state = null;
    this.online = true;
  }

  get nTasks() {
    return N_TASKS + (this.loop.desk.nShown > 1 ? 2 * this.loop.desk.nShown : 0);
  }

  // Nothing is on its way, and the server has nothing more.
  get isSettled() {
    return this.#exhausted && this.outbox.size === 0;
  }

  // Ask until the server answers; returns whether there is something to show.
  async start() {
    while (!this.loop.stopped) {
      try {
        this.#begin(await this.loop.api.tasks(this.nTasks));
        return !this.loop.halted && !this.loop.leaving;
      } catch (error) {
        if (error instanceof ApiError && error.permanent) {
          this.loop.halt("unknown");
          return false;
        }
        this.#nStartFailures += 1;
        this.loop.view.setLight("down", "no connection, trying again");
        await new Promise((resolve) => setTimeout(resolve, retryDelay(this.#nStartFailures)));
      }
    }
    return false;
  }

  #begin(state) {
    const { loop } = this;
    this.key = state.outbox_key;
    this.reasons = state.reasons ?? {};
    this.outbox = new Outbox({
      key: state.outbox_key,
      storage: safeStorage(),
      send: (events) => loop.api.send(events, [...this.outbox.assignments()], this.nTasks),
      onAnswer: (answer, events) => this.#onAnswer(answer, events),
      onChange: () => this.#drawLight(),
    });
    this.#replay();
    this.#take(state);
    if (state.answered) loop.tasks.setHistory(state.answered);
    this.#noteInterrupted(new Set(state.interrupted));
    this.#announceTab();
    this.outbox.flushNow();
    this.#drawLight();
    this.#timer = setInterval(() => document.hidden || this.check(), HEARTBEAT_MS);
  }

  // What an earlier tab said and could not send counts as said.
  #replay() {
    for (const event of this.outbox.events) {
      if (IS_OVER.has(event.kind)) this.loop.tasks.answer(event.assignment);
      else if (event.kind === "undo") this.loop.tasks.reopen(event.assignment);
    }
  }

  // A reload or a crash while a picture was on the screen is part of the record of a study, once: `known` are those that the
  // server noted when this tab was opened. Noted twice, the trial would be over.
  #noteInterrupted(known) {
    if (!this.loop.isStudy) return;
    const assignment = read(this.#shownKey);
    const task = this.loop.tasks.upcoming(this.nTasks).find((one) => one.id === assignment);
    if (!task) return;
    if (!known.has(task.id)) this.outbox.add([this.loop.makeEvent("interrupted", task)]);
    this.loop.tasks.postpone(task.id, { undoable: false });
    forget(this.#shownKey);
  }

  get #shownKey() {
    return `cuebench-shown:${this.key}`;
  }

  recordShown(task, loadMs) {
    write(this.#shownKey, task.id);
    this.outbox.add([this.loop.makeEvent("shown", task, { load_ms: loadMs })], SHOWN_DELAY_MS);
  }

  record(events) {
    if (this.loop.isStudy) forget(this.#shownKey);
    this.outbox.add(events);
    this.#drawProgress();
  }

  // Ask what the state is when nothing is sent: a newer tab, a closed campaign, new tasks.
  async check() {
    if (this.#checking || this.loop.stopped || this.loop.halted) return;
    this.#checking = true;
    try {
      const nBefore = this.outbox.size;
      const state = await this.loop.api.tasks(this.nTasks);
      this.online = true;
      if (nBefore === 0 && this.outbox.size === 0) this.#take(state);
      if (state.answered && this.loop.tasks.nUndoable === 0) this.loop.tasks.setHistory(state.answered);
    } catch (error) {
      this.#onFailure(error);
    }
    this.#checking = false;
    this.#drawLight();
  }

  settle() {
    if (this.outbox.size > 0) this.outbox.flushNow();
    else this.check();
  }

  #onAnswer(answer, events) {
    this.online = true;
    if (this.loop.stopped) return;
    const refused = answer.acks.filter((ack) => ack.status === "refused");
    if (refused.length > 0) {
      this.loop.view.tell(`Not stored: ${[...new Set(refused.map((ack) => ack.detail))].join("; ")}.`, "bad");
    }
    this.loop.desk.onStored?.(answer, events);
    this.#take(answer);
  }

  #take(state) {
    const { loop } = this;
    this.state = state;
    if (!state.live) return loop.halt("superseded");
    if (!state.open) return loop.halt("closed");
    const busy = this.outbox.assignments();
    loop.tasks.merge(state.tasks, busy);
    this.#exhausted = state.tasks.length === 0 && busy.size === 0;
    this.#drawProgress();
    const open = OPEN_PHASES[loop.mode];
    if (state.phase && open && !open.includes(state.phase)) loop.leaving ??= "phase";
    if (loop.desk.holds) return undefined;
    if (loop.leaving) return loop.view.root.dataset.state === "left" ? undefined : loop.leave(loop.leaving);
    if (loop.trial) loop.want();
    else if (["saving", "starting"].includes(loop.view.root.dataset.state) && this.key && this.#timer) loop.show();
    return undefined;
  }

  #onFailure(error) {
    this.online = false;
    if (error instanceof ApiError && error.status === 401) this.loop.halt("unknown");
  }

  #drawProgress() {
    if (!this.state) return;
    const { n_answered: nAnswered, n_total: nTotal, n_today: nToday } = this.state.progress;
    const nWaiting = this.outbox.events.reduce(
      (sum, event) => sum + (IS_OVER.has(event.kind) ? 1 : event.kind === "undo" ? -1 : 0), 0,
    );
    if (this.loop.mode === "practice") this.loop.view.setProgress(0, 0);
    else if (this.loop.isStudy) this.loop.view.setProgress(nAnswered + nWaiting, nTotal);
    else this.loop.view.setProgress(nAnswered + nWaiting, nTotal, { nToday, asShare: true });
  }

  #drawLight() {
    const { outbox } = this;
    if (!outbox || this.loop.stopped) return;
    const unsaved = outbox.nUnsaved > 0 ? `${outbox.nUnsaved} unsaved` : "";
    if (outbox.failing && outbox.lastError instanceof ApiError && outbox.lastError.status === 401) this.loop.halt("unknown");
    const down = outbox.failing || !this.online || !navigator.onLine;
    if (down) this.loop.view.setLight("down", unsaved ? `no connection, ${unsaved}` : "no connection");
    else if (unsaved) this.loop.view.setLight("sending", unsaved);
    else this.loop.view.setLight("saved", "all saved");
    this.loop.view.root.dataset.unsaved = String(outbox.nUnsaved);
    if (outbox.storageFull) this.loop.view.tell("This browser's storage is full: keep this tab open until all is saved.", "bad");
  }

  listen(options) {
    window.addEventListener("online", () => { this.outbox?.flushNow(); this.check(); }, options);
    window.addEventListener("offline", () => this.#drawLight(), options);
    window.addEventListener("pagehide", () => this.outbox?.flushNow(), options);
    window.addEventListener("focus", () => this.outbox && this.check(), options);
    window.addEventListener("beforeunload", (event) => {
      if (this.outbox?.nUnsaved > 0) event.preventDefault();
    }, options);
  }

  // Tell the other tabs of this browser that there is a newer one, so that they ask the server at once.
  #announceTab() {
    if (!globalThis.BroadcastChannel) return;
    this.channel = new BroadcastChannel(`cuebench:${this.key}`);
    this.channel.onmessage = () => this.check();
    this.channel.postMessage("opened");
  }

  stop() {
    clearInterval(this.#timer);
    this.channel?.close(); // the outbox goes on until it is empty
  }
}

function safeStorage() {
  try {
    return globalThis.localStorage;
  } catch {
    return { length: 0, key: () => null, getItem: () => null, setItem: refuse, removeItem: () => undefined };
  }
}

function refuse() {
  throw new Error("there is no storage");
}

function read(name) {
  return safeStorage().getItem(name);
}

function write(name, value) {
  try {
    safeStorage().setItem(name, value);
  } catch {
    // Only that a trial was interrupted would go unnoticed.
  }
}

function forget(name) {
  safeStorage().removeItem(name);
}
