// Many pictures at once: mark those to reject, accept the others; one event each, all flagged `mode=grid`.

import { actionButton, element } from "./view.js";

const ARROWS = { ArrowLeft: -1, ArrowRight: 1 };
const FLAG = "mode=grid";

export class GridPage {
  #marks = new Map(); // assignment -> reasons
  #tasks = [];
  #focus = 0;
  #nPages = 0;

  constructor(desk) {
    this.desk = desk;
    this.loop = desk.loop;
    this.view = desk.view;
  }

  begin() {
    this.#tasks = this.loop.tasks.upcoming(this.loop.settings.grid_size);
    this.#focus = 0;
    const present = new Set(this.#tasks.map((task) => task.id));
    for (const id of this.#marks.keys()) if (!present.has(id)) this.#marks.delete(id);
  }

  // After an undo: the marks come back as they were.
  restore(tasks) {
    for (const task of tasks) if (task.answer === "reject") this.#marks.set(task.id, task.reasons);
  }

  #state(task) {
    return this.loop.pictures.get(this.desk.urls(task)[0]).state;
  }

  // Ready once nothing is on its way any more; what failed is left out of the verdict, and said so.
  ready() {
    if (!this.loop.trial.counted) {
      this.begin(); // tasks may have come since
      this.loop.want();
    }
    const states = this.#tasks.map((task) => this.#state(task));
    const over = states.every((state) => state === "ready" || state === "failed");
    this.loop.trial.counted = over && states.includes("ready");
    return this.loop.trial.counted;
  }

  present(trial) {
    const thumbs = this.#tasks.map((task, index) => this.#thumb(task, index));
    const grid = element("div", { className: "grid" }, ...thumbs);
    grid.setAttribute("role", "group");
    grid.setAttribute("aria-label", "Pictures");
    this.loop.paint(trial, [grid]).then(() => this.#focusOn(this.#focus));
  }

  #thumb(task, index) {
    const { state, image } = this.loop.pictures.get(this.desk.urls(task)[0]);
    const button = element("button", { type: "button", className: "thumb", data: { act: "mark", index: String(index) } });
    button.append(state === "ready" ? image : "can't be loaded");
    button.disabled = state !== "ready";
    button.append(element("span", { className: "name", textContent: task.label.replaceAll("_", " ") }));
    this.#drawMark(button, task);
    return button;
  }

  #drawMark(button, task) {
    const reasons = this.#marks.get(task.id);
    button.setAttribute("aria-pressed", String(Boolean(reasons)));
    button.setAttribute("aria-label", `${task.label}${reasons ? ", marked to be rejected" : ""}`);
    button.querySelector(".mark")?.remove();
    if (!reasons) return;
    const text = reasons.length > 1 ? `✕ ${reasons.length} reasons` : `✕ ${this.desk.reasonLabel(task, reasons[0])}`;
    button.append(element("span", { className: "mark", textContent: text }));
  }

  #thumbs() {
    return [...this.view.stage.querySelectorAll(".thumb")];
  }

  #focusOn(index) {
    const thumbs = this.#thumbs();
    if (thumbs.length === 0) return;
    this.#focus = Math.max(0, Math.min(thumbs.length - 1, index));
    thumbs[this.#focus].focus();
  }

  #seen() {
    return this.#tasks.filter((task) => this.#state(task) === "ready");
  }

  drawActions() {
    const { keys } = this.desk;
    const nOthers = this.#seen().filter((task) => !this.#marks.has(task.id)).length;
    const text = this.#marks.size ? `Reject ${this.#marks.size}, accept the other ${nOthers}` : `Accept all ${nOthers}`;
    this.view.setActions(
      actionButton("commit", text, "Enter", "accept"), actionButton("reject", "Mark to reject", keys.reject[0], "reject"),
      actionButton("undo", "Undo page", keys.undo[0], "minor"), actionButton("grid", "One by one", keys.grid[0], "minor"),
    );
  }

  onKey(key, action, event) {
    const columns = this.#columns();
    const step = ARROWS[key] ?? { ArrowUp: -columns, ArrowDown: columns }[key];
    if (step !== undefined) {
      const target = this.#focus + step;
      if (target >= 0 && target < this.#tasks.length) this.#focusOn(target);
      return true;
    }
    if (key === "Enter") {
      this.act("commit", event.timeStamp, null);
      return true;
    }
    return action === "note" || action === "later"; // they belong to a single picture
  }

  #columns() {
    const grid = this.view.stage.querySelector(".grid");
    return grid ? getComputedStyle(grid).gridTemplateColumns.split(" ").length : 1;
  }

  act(action, stamp, button) {
    if (action === "mark") this.#mark(Number(button.dataset.index));
    else if (action === "reject") this.#mark(this.#focus);
    else if (action === "commit") this.#commit(stamp);
    else return false;
    return true;
  }

  #mark(index) {
    const task = this.#tasks[index];
    if (!this.loop.isOpen || !task || this.#state(task) !== "ready") return;
    this.#focus = index;
    const redraw = () => {
      this.#drawMark(this.#thumbs()[index], task);
      this.drawActions();
      this.#focusOn(index);
    };
    if (this.#marks.delete(task.id)) {
      redraw();
      return;
    }
    const { trial } = this.loop;
    this.desk.strip.open(this.loop.sync.reasons[task.cue_kind], task.reasons ?? [], (reasons) => {
      if (this.loop.trial !== trial) return;
      this.#marks.set(task.id, reasons);
      redraw();
    });
  }

  #commit(stamp) {
    const rtMs = this.loop.reactionMs(stamp);
    if (rtMs === null) return;
    this.#nPages += 1;
    const page = `page ${this.#nPages}`;
    const flags = [...new Set([...this.loop.trial.flags, FLAG, ...(rtMs < this.loop.settings.too_fast_ms ? ["too_fast"] : [])])];
    const seen = this.#seen();
    const events = seen.map((task) => {
      const reasons = this.#marks.get(task.id);
      const said = reasons ? { answer: "reject", reasons } : { answer: "accept" };
      this.loop.tasks.answer(task.id, { answer: said.answer, reasons: reasons ?? [] }, page);
      return this.loop.makeEvent("answer", task, { ...said, rt_ms: rtMs, flags: flags.sort() });
    });
    for (const task of this.#tasks) if (!seen.includes(task)) this.loop.tasks.postpone(task.id, { undoable: false });
    this.#marks.clear();
    this.loop.trial = null;
    this.loop.sync.record(events);
    this.loop.show();
  }
}
