// A box on a photograph, by mouse, finger or keys; in px of the photograph, right and lower edge exclusive.

import { element } from "./view.js";

const STEP_SHARE = 0.01;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Whole px inside the photograph, at least one px wide and high. Pure.
export function roundBox({ x0, y0, x1, y1 }, width, height) {
  const [left, right] = roundSide(x0, x1, width);
  const [top, bottom] = roundSide(y0, y1, height);
  return [left, top, right, bottom];
}

function roundSide(from, to, length) {
  const low = Math.min(length - 1, Math.max(0, Math.floor(Math.min(from, to) + 1e-6)));
  return [low, Math.max(low + 1, Math.min(length, Math.ceil(Math.max(from, to) - 1e-6)))];
}

export class BoxEditor {
  #start = null;

  constructor(picture, width, height) {
    Object.assign(this, { width, height });
    this.box = { x0: width / 4, y0: height / 4, x1: (3 * width) / 4, y1: (3 * height) / 4 };
    this.outline = element("div", { className: "box" });
    const clip = element("div", { className: "box-clip" }, this.outline);
    this.stage = element("div", { className: "box-stage", tabIndex: 0 }, picture, clip);
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute("aria-label", "Photograph with a box");
    this.stage.addEventListener("pointerdown", (event) => this.#onDown(event));
    this.stage.addEventListener("pointermove", (event) => this.#onMove(event));
    this.stage.addEventListener("pointerup", (event) => this.#onUp(event));
    this.#draw();
  }

  answer() {
    return `box:${roundBox(this.box, this.width, this.height).join(",")}`;
  }

  onKey(event) {
    const arrow = ARROWS[event.key];
    if (!arrow) return false;
    const [dx, dy] = [arrow[0] * STEP_SHARE * this.width, arrow[1] * STEP_SHARE * this.height];
    const { x0, y0, x1, y1 } = this.box;
    const moved = event.shiftKey ? { x0, y0, x1: x1 + dx, y1: y1 + dy } : { x0: x0 + dx, y0: y0 + dy, x1: x1 + dx, y1: y1 + dy };
    if (moved.x0 >= 0 && moved.y0 >= 0 && moved.x1 <= this.width && moved.y1 <= this.height && moved.x1 > moved.x0 && moved.y1 > moved.y0) {
      this.box = moved;
      this.#draw();
    }
    return true;
  }

  #place(event) {
    const area = this.stage.getBoundingClientRect();
    const x = ((event.clientX - area.left) / area.width) * this.width;
    const y = ((event.clientY - area.top) / area.height) * this.height;
    return [Math.min(this.width, Math.max(0, x)), Math.min(this.height, Math.max(0, y))];
  }

  #onDown(event) {
    this.stage.setPointerCapture(event.pointerId);
    this.#start = this.#place(event);
  }

  #onMove(event) {
    if (!this.#start) return;
    const [x, y] = this.#place(event);
    this.box = { x0: this.#start[0], y0: this.#start[1], x1: x, y1: y };
    this.#draw();
  }

  #onUp(event) {
    this.#onMove(event);
    this.#start = null;
  }

  #draw() {
    const [x0, y0, x1, y1] = roundBox(this.box, this.width, this.height);
    const share = (value, length) => `${(100 * value) / length}%`;
    Object.assign(this.outline.style, {
      left: share(x0, this.width), top: share(y0, this.height),
      width: share(x1 - x0, this.width), height: share(y1 - y0, this.height),
    });
  }
}
