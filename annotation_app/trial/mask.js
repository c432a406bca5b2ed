// Which mask fits: candidates side by side by digits, a box drawn on the photograph, or none.

import { BoxEditor } from "./box.js";
import { actionButton, element } from "./view.js";

const DIGITS = "123456789";
const NONE = "none";
const MOST_SIDE_PX = 480;
const DIM = 0.22; // how much is left of what a mask leaves out

export class MaskDesk {
  constructor(loop) {
    this.loop = loop;
    this.view = loop.view;
    this.keys = loop.settings.keymap;
    this.box = null;
  }

  get nShown() {
    return 1;
  }

  urls(task) {
    return [task.item, ...task.candidates].map((name) => this.loop.api.media(name));
  }

  extraUrls() {
    return [];
  }

  helpRows() {
    return [
      [["1", "2", "…"], "this mask"],
      [["0"], "none of them"],
      [this.keys.box, "draw a box: with the mouse, or arrows move and Shift with arrows sizes it; Enter takes it"],
      [this.keys.later, "later: put it at the end, without an answer"],
      [this.keys.undo, "undo, as often as you like"],
      [this.keys.note, "write a note"],
      [this.keys.help, "this list"],
    ];
  }

  begin(task) {
    this.box = null;
    this.view.question.hidden = false;
    this.view.question.replaceChildren(
      "Which mask holds the whole ", element("b", { textContent: task.label.replaceAll("_", " ") }), " and nothing else?",
    );
    this.view.setText(this.view.said, task.answer ? `You said: ${this.#describe(task)}` : "");
  }

  #describe(task) {
    if (task.answer === NONE) return "none";
    const index = task.candidates.indexOf(task.answer);
    return index >= 0 ? `mask ${index + 1}` : "a box";
  }

  present(trial) {
    const [photograph, ...masks] = this.urls(trial.task).map((url) => this.loop.pictures.get(url).image);
    const tiles = masks.map((mask, index) => this.#tile(composite(photograph, mask), String(index + 1), index));
    this.loop.paint(trial, [element("div", { className: "candidates" }, this.#tile(photograph, "", -1), ...tiles)]);
  }

  #tile(picture, key, index) {
    const act = index < 0 ? "box" : "choose";
    const tile = element("button", { type: "button", className: "candidate", data: { act, index: String(index) } }, picture);
    tile.setAttribute("aria-label", index < 0 ? "Draw a box on the photograph" : `Mask ${key}`);
    const caption = element("span", { textContent: index < 0 ? "photograph: draw a box " : `mask ${key} ` });
    caption.append(element("kbd", { textContent: (index < 0 ? this.keys.box[0] : key).toUpperCase() }));
    tile.append(caption);
    return tile;
  }

  opened(trial) {
    this.view.say(`${trial.task.candidates.length} masks of ${trial.task.label.replaceAll("_", " ")}. Which one fits?`);
  }

  drawActions() {
    if (this.box) {
      this.view.setActions(actionButton("box-take", "Take this box", "Enter", "accept"), actionButton("box-cancel", "Back", "Escape", "minor"));
      return;
    }
    this.view.setActions(
      actionButton("none", "None fits", "0", "reject"), actionButton("box", "Draw a box", this.keys.box[0], "unsure"),
      actionButton("later", "Later", this.keys.later[0], "minor"), actionButton("undo", "Undo", this.keys.undo[0], "minor"),
      actionButton("note", "Note", this.keys.note[0], "minor"),
    );
  }

  onKey(key, action, event) {
    if (this.box) return this.#onBoxKey(key, action, event);
    if (key === "0") return this.act("none", event.timeStamp, null);
    const index = DIGITS.indexOf(key);
    if (index < 0) return false;
    this.#choose(index, event.timeStamp);
    return true;
  }

  #onBoxKey(key, action, event) {
    if (key === "Escape") this.#closeBox();
    else if (key === "Enter") this.#takeBox(event.timeStamp);
    else if (!this.box.onKey(event)) return action !== "help" && action !== "note";
    return true;
  }

  act(action, stamp, button) {
    if (action === "undo") return this.loop.undo();
    if (action === "note") return this.loop.openNote();
    if (action === "later") return this.loop.putOff();
    if (action === "box-take") this.#takeBox(stamp);
    else if (action === "box-cancel") this.#closeBox();
    else if (action === "box") this.#openBox();
    else if (action === "choose") this.#choose(Number(button.dataset.index), stamp);
    else if (action === "none") this.#answer(NONE, this.loop.reactionMs(stamp));
    else return false;
    return true;
  }

  #choose(index, stamp) {
    const name = this.loop.trial?.task.candidates[index];
    if (name !== undefined) this.#answer(name, this.loop.reactionMs(stamp));
  }

  #answer(answer, rtMs) {
    if (rtMs === null) return;
    this.box = null;
    this.loop.answer({ answer }, rtMs);
    this.loop.show();
  }

  #openBox() {
    if (!this.loop.isOpen || this.box) return;
    const { task } = this.loop.trial;
    const picture = this.loop.pictures.get(this.urls(task)[0]).image;
    this.box = new BoxEditor(picture, task.width ?? picture.naturalWidth, task.height ?? picture.naturalHeight);
    this.view.showOnStage(this.box.stage);
    this.drawActions();
    this.box.stage.focus();
    this.view.say("Draw a box around the object. Arrows move it, Shift with arrows sizes it, Enter takes it.");
  }

  #takeBox(stamp) {
    const answer = this.box?.answer();
    if (answer) this.#answer(answer, this.loop.reactionMs(stamp));
  }

  #closeBox() {
    if (this.loop.trial) this.loop.show();
  }
}

// The photograph where the mask is, dimmed where it is not.
function composite(photograph, mask) {
  const scale = Math.min(1, MOST_SIDE_PX / Math.max(photograph.naturalWidth, photograph.naturalHeight));
  const size = { width: Math.round(photograph.naturalWidth * scale), height: Math.round(photograph.naturalHeight * scale) };
  const canvas = element("canvas", size);
  const context = canvas.getContext("2d");
  context.drawImage(maskToAlpha(mask, size), 0, 0);
  context.globalCompositeOperation = "source-in";
  context.drawImage(photograph, 0, 0, size.width, size.height);
  context.globalCompositeOperation = "destination-over";
  context.globalAlpha = DIM;
  context.drawImage(photograph, 0, 0, size.width, size.height);
  return canvas;
}

function maskToAlpha(mask, { width, height }) {
  const canvas = element("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.drawImage(mask, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height);
  for (let index = 0; index < pixels.data.length; index += 4) {
    pixels.data[index + 3] = Math.min(pixels.data[index], pixels.data[index + 3]);
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}
