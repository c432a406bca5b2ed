// A verdict on one picture: accept, reject for reasons, unsure, later; with note, zoom and the photograph beside it.

import { GridPage } from "./grid.js";
import { ReasonStrip } from "./strip.js";
import { actionButton, element, pictureFrame } from "./view.js";

const ZOOMS = ["1", "2", "4"];
const SCROLL_SHARE = 0.15;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const VERDICTS = { accept: "accepted", reject: "rejected", unsure: "unsure" };
const HELP = {
  accept: "accept",
  reject: "reject: choose reasons by their digits, Enter confirms, Esc goes back",
  unsure: "unsure (this is an answer)",
  later: "later: put it at the end, without an answer",
  undo: "undo, as often as you like",
  note: "write a note",
  zoom: "zoom: 200 %, 400 %, back; arrows move",
  source: "the photograph beside it",
  grid: "many at once: arrows move, reject marks, Enter accepts the others",
  help: "this list",
};

export class ReviewDesk {
  constructor(loop) {
    this.loop = loop;
    this.view = loop.view;
    this.keys = loop.settings.keymap;
    this.strip = new ReasonStrip(loop.view, () => loop.openNote());
    this.grid = null;
    this.sourceUrl = null;
    this.seenSource = false;
  }

  get nShown() {
    return this.grid ? this.loop.settings.grid_size : 1;
  }

  urls(task) {
    return [this.loop.api.media(task.item)];
  }

  extraUrls() {
    return this.sourceUrl ? [this.sourceUrl] : [];
  }

  helpRows() {
    const acts = Object.keys(HELP).filter((act) => act !== "grid" || this.loop.settings.grid);
    return acts.map((act) => [this.keys[act], HELP[act]]);
  }

  begin(task) {
    this.strip.close();
    this.#markZoom("1");
    this.sourceUrl = null;
    this.seenSource = false;
    this.drawQuestion(task);
    const said = task.answer ? `You said: ${VERDICTS[task.answer] ?? task.answer}` : "";
    const why = task.reasons?.length ? ` (${task.reasons.map((reason) => this.reasonLabel(task, reason)).join(", ")})` : "";
    this.view.setText(this.view.said, said + why + (task.note && said ? `; note: ${task.note}` : ""));
    if (this.grid) this.grid.begin();
  }

  drawQuestion(task) {
    this.view.question.hidden = Boolean(this.grid);
    if (this.grid) return;
    this.view.question.replaceChildren(
      `Is this a clean ${task.cue_kind} cue of `, element("b", { textContent: task.label.replaceAll("_", " ") }), "?",
    );
  }

  reasonLabel(task, code) {
    return this.loop.sync.reasons[task.cue_kind]?.find(([name]) => name === code)?.[1] ?? code;
  }

  ready() {
    return this.grid ? this.grid.ready() : this.loop.pictures.get(this.urls(this.loop.trial.task)[0]).state === "ready";
  }

  present(trial) {
    if (this.grid) {
      this.grid.present(trial);
      return;
    }
    this.frame = pictureFrame(this.loop.pictures.get(this.urls(trial.task)[0]).image);
    this.loop.paint(trial, [this.frame]);
  }

  opened(trial) {
    if (this.grid) return;
    this.view.say(`${trial.task.cue_kind} cue, ${trial.task.label.replaceAll("_", " ")}. Accept or reject?`);
  }

  drawActions() {
    if (this.grid) {
      this.grid.drawActions();
      return;
    }
    const button = (act, text, grade) => actionButton(act, text, this.keys[act][0], grade);
    const hasSource = this.loop.trial?.task.has_source;
    this.view.setActions(...[
      button("accept", "Accept", "accept"), button("reject", "Reject", "reject"), button("unsure", "Unsure", "unsure"),
      button("later", "Later", "minor"), button("undo", "Undo", "minor"), button("note", "Note", "minor"),
      button("zoom", "Zoom", "minor"), hasSource ? button("source", "Photograph", "minor") : null,
      this.loop.settings.grid ? button("grid", "Many", "minor") : null,
    ].filter(Boolean));
  }

  onKey(key, action, event) {
    if (this.strip.isOpen) return this.strip.onKey(key, action, event);
    if (this.grid) return this.grid.onKey(key, action, event);
    if (ARROWS[key] && this.frame?.dataset.zoom > 1) {
      const [x, y] = ARROWS[key];
      this.frame.scrollBy(x * this.frame.clientWidth * SCROLL_SHARE, y * this.frame.clientHeight * SCROLL_SHARE);
      return true;
    }
    return false;
  }

  act(action, stamp, button) {
    if (this.strip.act(action, button)) return true;
    if (action === "undo") return this.loop.undo(this.grid ? this.loop.tasks.lastPage : null);
    if (action === "note") return this.loop.openNote();
    if (action === "grid") return this.toggleGrid();
    if (this.grid) return this.grid.act(action, stamp, button);
    if (action === "later") return this.loop.putOff();
    const rtMs = this.loop.reactionMs(stamp);
    if (rtMs === null) return true;
    if (action === "accept" || action === "unsure") this.judge({ answer: action }, rtMs);
    else if (action === "reject") this.askReasons(rtMs);
    else if (action === "zoom") this.zoom();
    else if (action === "source") this.toggleSource();
    else return false;
    return true;
  }

  judge(said, rtMs) {
    this.loop.answer(said, rtMs, this.seenSource ? ["source"] : []);
    this.loop.show();
  }

  askReasons(rtMs) {
    const { task } = this.loop.trial;
    this.strip.open(this.loop.sync.reasons[task.cue_kind], task.reasons ?? [], (reasons) => {
      if (this.loop.isOpen && this.loop.trial.task === task) this.judge({ answer: "reject", reasons }, rtMs);
    });
  }

  restore(tasks) {
    this.grid?.restore(tasks);
  }

  zoom() {
    const next = ZOOMS[(ZOOMS.indexOf(this.frame.dataset.zoom ?? "1") + 1) % ZOOMS.length];
    this.frame.dataset.zoom = next;
    this.frame.scrollTo((this.frame.scrollWidth - this.frame.clientWidth) / 2, (this.frame.scrollHeight - this.frame.clientHeight) / 2);
    this.#markZoom(next);
    this.view.say(next === "1" ? "Zoom off" : `Zoom ${next}00 %`);
  }

  #markZoom(zoom) {
    this.view.stage.dataset.zoom = zoom === "1" ? "" : `${zoom}00 %`;
  }

  toggleSource() {
    const { task } = this.loop.trial;
    if (this.sourceUrl || !task.has_source) {
      this.sourceUrl = null;
      this.view.stage.querySelector(".source")?.remove();
      return;
    }
    this.sourceUrl = this.loop.api.source(task.item);
    this.view.stage.append(element("div", { className: "frame source" }));
    this.loop.want();
    this.onPicture(this.sourceUrl);
  }

  onPicture(url) {
    const place = this.view.stage.querySelector(".source");
    if (url !== this.sourceUrl || !place) return;
    const { state, image } = this.loop.pictures.get(url);
    const text = { ready: "photograph", failed: "the photograph can't be loaded" }[state] ?? "loading the photograph…";
    place.replaceChildren(...(image ? [image] : []), element("span", { className: "tag", textContent: text }));
    if (image) this.seenSource = true;
  }

  // A page of many needs more tasks than one picture does: they are asked for first.
  async #openGrid(grid) {
    this.loop.trial = null;
    this.view.setState("loading");
    await this.loop.sync.check();
    if (this.grid === grid && !this.loop.halted) this.loop.show();
  }

  toggleGrid() {
    if (!this.loop.settings.grid) return false;
    this.grid = this.grid ? null : new GridPage(this);
    if (this.grid) this.#openGrid(this.grid);
    else this.loop.show();
    return true;
  }
}
