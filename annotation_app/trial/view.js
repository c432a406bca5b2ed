// The parts of the screen that all modes share. Text goes in as text, never as HTML.

import { keyLabel } from "./keys.js";

const TOAST_MS = 3000;

export function element(tag, properties = {}, ...children) {
  const { data = {}, ...others } = properties;
  const node = Object.assign(document.createElement(tag), others);
  for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function actionButton(act, text, key, grade = "") {
  const button = element("button", { type: "button", className: "act", data: { act } });
  if (grade) button.dataset.grade = grade;
  button.append(element("span", { textContent: text }));
  if (key) {
    button.append(element("kbd", { textContent: keyLabel(key) }));
    button.setAttribute("aria-keyshortcuts", key);
  }
  return button;
}

export class View {
  #toastTimer = null;

  constructor(root) {
    this.root = root;
    const names = ["notice", "question", "stage", "said", "strip", "note", "actions", "announce", "count", "pace", "light", "toast"];
    for (const name of names) this[name] = root.querySelector(`.${name}`);
    this.noteText = root.querySelector(".note textarea");
    this.help = root.querySelector(".help-box");
    this.progressBar = root.querySelector(".progress");
  }

  setState(state, assignment = "") {
    this.root.dataset.state = state;
    this.root.dataset.assignment = assignment;
  }

  // Says that this picture has been on the screen: what tests and people's tools wait for.
  setPainted(assignment) {
    this.root.dataset.painted = assignment;
  }

  setText(node, text) {
    node.textContent = text;
    node.hidden = !text;
  }

  say(text) {
    this.announce.textContent = text;
  }

  // For a moment, and in a place that is there anyway: nothing on the page moves.
  announceBriefly(text) {
    clearTimeout(this.#toastTimer);
    this.toast.textContent = text;
    this.#toastTimer = setTimeout(() => { this.toast.textContent = ""; }, TOAST_MS);
  }

  tell(text, grade = "") {
    this.notice.dataset.grade = grade;
    this.setText(this.notice, text);
  }

  // asShare: to a reviewer the number of tasks would tell how many of the pictures come twice.
  setProgress(nDone, nTotal, { nToday = 0, asShare = false } = {}) {
    const percent = nTotal ? Math.min(100, Math.floor((100 * nDone) / nTotal)) : 0;
    const count = asShare ? `${percent} %` : `${nDone} / ${nTotal}`;
    this.count.textContent = nTotal ? count : "";
    this.pace.textContent = nToday ? `${nToday} today` : "";
    this.progressBar.setAttribute("aria-valuenow", String(percent));
    this.progressBar.firstElementChild.style.width = `${percent}%`;
  }

  // How much of the window lies above the loop, however far the page is scrolled: the stage gets what the controls
  // leave of the rest, so that all of them can be seen at once.
  fit() {
    let above = this.root.getBoundingClientRect().top;
    for (let node = this.root.getRootNode().host; node; node = node.parentElement) above += node.scrollTop;
    this.root.style.setProperty("--above", `${Math.round(above)}px`);
  }

  markNote(note) {
    this.root.dataset.noted = String(note.trim() !== "");
  }

  setLight(light, text) {
    this.light.dataset.light = light;
    this.light.querySelector(".light-text").textContent = text;
  }

  showOnStage(...nodes) {
    this.stage.replaceChildren(...nodes);
  }

  showMessage(text, ...buttons) {
    const row = buttons.length ? element("div", { className: "row" }, ...buttons) : null;
    this.showOnStage(element("div", { className: "message" }, element("p", { textContent: text }), row));
  }

  setActions(...buttons) {
    this.actions.replaceChildren(...buttons);
  }

  enableActions(enabled) {
    for (const button of this.actions.querySelectorAll("button")) button.setAttribute("aria-disabled", String(!enabled));
  }

  fillHelp(rows) {
    const list = this.help.querySelector("dl");
    list.replaceChildren();
    for (const [keys, text] of rows) {
      const caps = keys.map((key) => element("kbd", { textContent: keyLabel(key) }));
      list.append(element("dt", {}, ...caps), element("dd", { textContent: text }));
    }
  }

  toggleHelp() {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }
}

export function pictureFrame(image, tag = "") {
  const frame = element("div", { className: "frame" }, image);
  if (tag) frame.append(element("span", { className: "tag", textContent: tag }));
  return frame;
}

// A field of random grey blocks, the same for the same seed: what follows a brief stimulus.
export function noiseFrame(seed, side = 64) {
  const canvas = element("canvas", { width: side, height: side });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(side, side);
  let state = [...seed].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0, 7);
  for (let index = 0; index < pixels.data.length; index += 4) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    pixels.data.fill(state >>> 24, index, index + 3);
    pixels.data[index + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  canvas.style.imageRendering = "pixelated";
  return pictureFrame(canvas);
}
