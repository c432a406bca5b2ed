// What was said and is not acknowledged yet: kept in the browser's storage, sent again until the server has it.

const PREFIX = "cuebench";
const MAX_BATCH = 50;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15000;

export function retryDelay(nFailures) {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (nFailures - 1));
}

// A time-ordered name: two tabs that share a storage never write to the same place.
export function newEventId(random = crypto) {
  return random.randomUUID ? random.randomUUID() : fallbackId(random);
}

// Outside https and localhost a browser has no randomUUID.
function fallbackId(random) {
  const bytes = random.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const text = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}

export class Outbox {
  #events = new Map(); // event_id -> {order, event}
  #inMemoryOnly = new Set();
  #order = 0;
  #sending = false;
  #nFailures = 0;
  #timer = null;
  #due = Infinity;
  #stopped = false;

  // send(events) resolves to the server's answer, which holds `acks`; onAnswer(answer, events), onChange() follow.
  constructor({ key, storage, send, onAnswer, onChange, now = Date.now, timers = globalThis }) {
    Object.assign(this, { storage, send, onAnswer, onChange, now, timers });
    this.prefix = `${PREFIX}:${key}:`;
    this.#load();
  }

  get events() {
    return [...this.#events.values()].sort((a, b) => a.order - b.order).map((entry) => entry.event);
  }

  get size() {
    return this.#events.size;
  }

  // Shown events alone are no loss: what counts as unsaved is what the rater did.
  get nUnsaved() {
    return this.events.filter((event) => event.kind !== "shown").length;
  }

  get failing() {
    return this.#nFailures > 0;
  }

  get storageFull() {
    return this.#inMemoryOnly.size > 0;
  }

  // About what was said of these the server may not know yet; that one was shown says nothing.
  assignments() {
    return new Set(this.events.filter((event) => event.kind !== "shown").map((event) => event.assignment));
  }

  // delayMs: an event that nobody waits for goes with the next one, or by itself after a while.
  add(events, delayMs = 0) {
    for (const event of events) {
      const order = Math.max(this.#order + 1, this.now() * 1000);
      this.#order = order;
      const entry = { order, event };
      this.#events.set(event.event_id, entry);
      this.#keep(event.event_id, entry);
    }
    this.onChange();
    this.#schedule(delayMs);
  }

  // Try at once: the connection came back, or the page is about to go.
  flushNow() {
    if (this.#events.size > 0) this.#schedule(0);
  }

  stop() {
    this.#stopped = true;
    this.timers.clearTimeout(this.#timer);
  }

  #keep(id, entry) {
    try {
      this.storage.setItem(this.prefix + id, JSON.stringify(entry));
      this.#inMemoryOnly.delete(id);
    } catch {
      this.#inMemoryOnly.add(id); // full or forbidden: the event is still sent, and the page says so
    }
  }

  #load() {
    try {
      for (let index = 0; index < this.storage.length; index += 1) {
        const name = this.storage.key(index);
        if (name?.startsWith(this.prefix)) this.#read(name);
      }
    } catch {
      return; // the storage is forbidden
    }
    this.#order = Math.max(0, ...[...this.#events.values()].map((entry) => entry.order));
  }

  #read(name) {
    try {
      const entry = JSON.parse(this.storage.getItem(name));
      if (typeof entry.order === "number" && typeof entry.event.assignment === "string") {
        this.#events.set(entry.event.event_id, entry);
      }
    } catch {
      // Not ours, or cut short by a crash: it can't be sent, and must not hold up the rest.
    }
  }

  // An attempt that is due earlier stays due.
  #schedule(delayMs) {
    if (this.#stopped || this.#sending || this.#events.size === 0) return;
    const due = this.now() + delayMs;
    if (due >= this.#due) return;
    this.timers.clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = this.timers.setTimeout(() => this.#flush(), delayMs);
  }

  async #flush() {
    this.#due = Infinity;
    if (this.#sending || this.#stopped || this.#events.size === 0) return;
    this.#sending = true;
    const batch = this.events.slice(0, MAX_BATCH);
    try {
      const answer = await this.send(batch);
      const nBefore = this.#events.size;
      for (const ack of answer.acks) this.#forget(ack.event_id);
      if (this.#events.size >= nBefore) throw new Error("the server acknowledged nothing");
      this.#nFailures = 0;
      this.#sending = false;
      this.onAnswer(answer, batch);
      this.#schedule(0);
    } catch (error) {
      this.#sending = false;
      this.#nFailures += 1;
      this.lastError = error;
      this.#schedule(retryDelay(this.#nFailures));
    }
    this.onChange();
  }

  #forget(id) {
    if (!this.#events.delete(id)) return;
    if (this.#inMemoryOnly.delete(id)) return;
    try {
      this.storage.removeItem(this.prefix + id);
    } catch {
      // It would be sent again, which is harmless.
    }
  }
}
