// Pictures ahead of their turn: fetched with the session's header, decoded, and never more than a few at once.

export const N_AHEAD = 8;
const PARALLEL = 3;
const MAX_ATTEMPTS = 3;
const TIMEOUT_MS = 20000;

export class PictureStore {
  #entries = new Map(); // url -> {state, image, loadMs, nAttempts}
  #wanted = [];
  #nLoading = 0;

  // load(url, signal) resolves to a Blob or throws an error, `permanent` where trying again is of no use.
  constructor({ load, decode = decodeBlob, onChange, timers = globalThis, clock = () => performance.now() }) {
    Object.assign(this, { load, decode, onChange, timers, clock });
  }

  // Say which pictures are needed, the most urgent first; others are let go.
  want(urls) {
    this.#wanted = [...new Set(urls)];
    const kept = new Set(this.#wanted);
    for (const [url, entry] of this.#entries) {
      if (!kept.has(url)) this.#drop(url, entry);
    }
    this.#fill();
  }

  // {state: "waiting" | "loading" | "ready" | "retrying" | "failed", image, loadMs}
  get(url) {
    return this.#entries.get(url) ?? { state: "waiting", image: null, loadMs: null };
  }

  retry(url) {
    const entry = this.#entries.get(url);
    if (entry?.state !== "failed" && entry?.state !== "retrying") return;
    this.timers.clearTimeout(entry.timer);
    this.#entries.delete(url);
    this.#fill();
  }

  clear() {
    this.want([]);
  }

  #drop(url, entry) {
    entry.controller?.abort();
    this.timers.clearTimeout(entry.timer);
    if (entry.image) URL.revokeObjectURL(entry.image.src);
    this.#entries.delete(url);
  }

  #fill() {
    for (const url of this.#wanted) {
      if (this.#nLoading >= PARALLEL) return;
      if (!this.#entries.has(url)) this.#start(url, 1);
    }
  }

  async #start(url, nAttempts) {
    const controller = new AbortController();
    const entry = { state: "loading", image: null, loadMs: null, nAttempts, controller };
    this.#entries.set(url, entry);
    this.#nLoading += 1;
    const began = this.clock();
    const timeout = this.timers.setTimeout(() => controller.abort(), TIMEOUT_MS);
    try {
      entry.image = await this.decode(await this.load(url, controller.signal));
      entry.loadMs = Math.round(this.clock() - began);
      entry.state = "ready";
    } catch (error) {
      this.#fail(url, entry, error);
    }
    this.timers.clearTimeout(timeout);
    this.#nLoading -= 1;
    if (this.#entries.get(url) !== entry) {
      if (entry.image) URL.revokeObjectURL(entry.image.src); // nobody wants it any more
    } else {
      this.onChange(url);
    }
    this.#fill();
  }

  #fail(url, entry, error) {
    entry.error = error;
    entry.state = error?.permanent || entry.nAttempts >= MAX_ATTEMPTS ? "failed" : "retrying";
    if (entry.state !== "retrying" || this.#entries.get(url) !== entry) return;
    entry.timer = this.timers.setTimeout(() => {
      if (this.#entries.get(url) === entry) this.#start(url, entry.nAttempts + 1);
    }, 1000 * entry.nAttempts);
  }
}

async function decodeBlob(blob) {
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  image.draggable = false;
  image.alt = "";
  try {
    await image.decode();
  } catch (error) {
    URL.revokeObjectURL(image.src);
    error.permanent = true; // these bytes are no picture, and will not become one
    throw error;
  }
  return image;
}
