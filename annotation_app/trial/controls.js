// Keys, mouse and what happens to the window: which of it means something, and what it says about the trial.

import { compileKeymap, HeldKeys, isTyping, keyName } from "./keys.js";

export class Controls {
  #listeners = new AbortController();
  #held = new HeldKeys();

  constructor(loop) {
    this.loop = loop;
    this.view = loop.view;
    this.keymap = compileKeymap(loop.settings.keymap);
  }

  listen() {
    const options = { signal: this.#listeners.signal };
    const { root, noteText } = this.view;
    document.addEventListener("keydown", (event) => this.#onKeyDown(event), options);
    document.addEventListener("keyup", (event) => this.#held.release(event), options);
    root.addEventListener("click", (event) => this.#onClick(event), options);
    noteText.addEventListener("keydown", (event) => this.#onNoteKey(event), options);
    noteText.addEventListener("input", () => this.#keepNote(), options);
    window.addEventListener("blur", () => this.#onAway("lost_focus"), options);
    window.addEventListener("resize", () => this.#onResize(), options);
    document.addEventListener("visibilitychange", () => document.hidden && this.#onAway("hidden_tab"), options);
    this.loop.sync.listen(options);
  }

  stop() {
    this.#listeners.abort();
  }

  #flag(name) {
    if (this.loop.trial?.shown) this.loop.trial.flags.add(name);
  }

  #onResize() {
    this.view.fit();
    this.#flag("resized");
  }

  // The window that is away doesn't hear a key go up.
  #onAway(flag) {
    this.#held.clear();
    this.#flag(flag);
  }

  #onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const counts = this.#held.press(event);
    if (!counts && (event.key === "Enter" || event.key === " ")) event.preventDefault(); // no held button either
    if (!counts || this.view.help.open) return;
    const key = keyName(event);
    const action = this.keymap.get(key) ?? null;
    if (this.loop.desk.onKey(key, action, event) || this.#onCommonKey(key, action, event)) event.preventDefault();
  }

  #onCommonKey(key, action, event) {
    const state = this.view.root.dataset.state;
    if (key === "Enter" && state === "missing") return this.loop.act("retry");
    if (key === "Enter" && state === "left") return this.loop.act("report");
    return action === null ? false : this.loop.act(action, event.timeStamp);
  }

  #onClick(event) {
    const button = event.target.closest?.("button");
    if (!button || button.disabled) return;
    if (button.dataset.close === "help") this.view.toggleHelp();
    else if (button.dataset.act) this.loop.act(button.dataset.act, event.timeStamp, button);
  }

  #keepNote() {
    if (!this.loop.trial) return;
    this.loop.trial.note = this.view.noteText.value;
    this.view.markNote(this.loop.trial.note);
  }

  #onNoteKey(event) {
    const closes = event.key === "Escape" || (event.key === "Enter" && !event.shiftKey);
    if (!closes || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    this.view.note.hidden = true;
    if (this.view.noteText.value.trim()) this.view.announceBriefly("Note kept.");
    this.view.root.focus();
  }
}
