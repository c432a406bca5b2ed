// The reasons of a rejection, in place: digits toggle, Enter confirms, Esc goes back.

import { actionButton, element } from "./view.js";

const DIGITS = "1234567890";
const QUESTION = "Why is it rejected?";

export class ReasonStrip {
  #onDone = null;
  #reasons = [];
  #chosen = new Set();

  constructor(view, openNote) {
    this.view = view;
    this.openNote = openNote;
  }

  get isOpen() {
    return this.#onDone !== null;
  }

  // reasons are [code, label]; onDone(codes) is called once with those chosen.
  open(reasons, chosen, onDone) {
    this.#reasons = reasons;
    this.#chosen = new Set(chosen.filter((code) => reasons.some(([name]) => name === code)));
    this.#onDone = onDone;
    this.#draw();
    this.view.strip.hidden = false;
    this.view.actions.hidden = true;
    this.view.say("Why? Choose reasons by digits, Enter confirms, Escape goes back.");
  }

  close() {
    this.#onDone = null;
    this.view.strip.hidden = true;
    this.view.strip.replaceChildren();
    this.view.actions.hidden = false;
  }

  onKey(key, action, event) {
    if (action === "help") return false;
    if (action === "note") return this.openNote();
    const index = DIGITS.indexOf(key);
    if (index >= 0 && index < this.#reasons.length) this.#toggle(index);
    else if (key === "Escape") this.close();
    else if (key === "Enter" && event.composedPath()[0]?.dataset?.act === "strip-cancel") this.close();
    else if (key === "Enter") this.#confirm();
    else return key.length === 1 && key !== " "; // no other key decides anything meanwhile
    return true;
  }

  act(action, button) {
    if (!this.isOpen) return false;
    if (action === "strip-reason") this.#toggle(Number(button.dataset.index));
    else if (action === "strip-confirm") this.#confirm();
    else if (action === "strip-cancel") this.close();
    else return false;
    return true;
  }

  #toggle(index) {
    const [code, label] = this.#reasons[index];
    if (!this.#chosen.delete(code)) this.#chosen.add(code);
    const button = this.view.strip.querySelector(`[data-index="${index}"]`);
    button.setAttribute("aria-pressed", String(this.#chosen.has(code)));
    this.#ask(QUESTION);
    this.view.say(`${label} ${this.#chosen.has(code) ? "chosen" : "not chosen"}`);
  }

  #confirm() {
    if (this.#chosen.size === 0) {
      this.#ask("Choose at least one reason.");
      this.view.say("Choose at least one reason.");
      return;
    }
    const done = this.#onDone;
    const codes = this.#reasons.map(([code]) => code).filter((code) => this.#chosen.has(code));
    this.close();
    done(codes);
  }

  #ask(text) {
    this.view.strip.querySelector("p").textContent = text;
  }

  #draw() {
    const buttons = this.#reasons.map(([code, label], index) => {
      const button = actionButton("strip-reason", label, DIGITS[index]);
      button.dataset.index = String(index);
      button.setAttribute("aria-pressed", String(this.#chosen.has(code)));
      return button;
    });
    this.view.strip.replaceChildren(
      element("p", { textContent: QUESTION }), ...buttons,
      actionButton("strip-confirm", "Reject", "Enter", "reject"), actionButton("strip-cancel", "Back", "Escape", "minor"),
    );
  }
}
