// A forced choice among fixed options, after an exposure without end or of a counted number of frames.

import { expose, measureFrameMs, nextFrame } from "./clock.js";
import { actionButton, element, noiseFrame, pictureFrame } from "./view.js";

const NONE = "none";
const MOST_COLUMNS = 5;
const SLOW_MS = 250;

export class StudyDesk {
  #timeout = null;
  #feedbackFor = null;

  constructor(loop) {
    this.loop = loop;
    this.view = loop.view;
    this.frameMs = 1000 / 60;
    this.optionKeys = [...loop.settings.option_keys];
  }

  get nShown() {
    return 1;
  }

  urls(task) {
    return [this.loop.api.media(task.item)];
  }

  extraUrls() {
    return [];
  }

  helpRows() {
    return [
      [["1", "2", "…"], "choose the option with this digit (or click it)"],
      [["Enter"], "go on, after feedback"],
      [this.loop.settings.keymap.help, "this list"],
      [[], "An answer can't be taken back."],
    ];
  }

  async prepare() {
    const { mode, fixation_ms: fixationMs } = this.loop.settings.exposure;
    if (mode === "brief" || fixationMs > 0) this.frameMs = await measureFrameMs();
  }

  begin() {
    clearTimeout(this.#timeout);
    this.view.setText(this.view.question, this.loop.settings.prompt);
    this.view.setText(this.view.said, "");
  }

  // A cross, then the picture: until the answer, or briefly and followed by a mask.
  async present(trial) {
    const image = pictureFrame(this.loop.pictures.get(this.urls(trial.task)[0]).image);
    const { exposure } = this.loop.settings;
    const isBrief = exposure.mode === "brief";
    if (performance.now() - trial.since > SLOW_MS) trial.flags.add("slow_load");
    const stages = {
      fixation: () => pictureFrame(element("div", { className: "cross" })),
      stimulus: () => image,
      mask: () => noiseFrame(trial.task.id),
      response: () => (isBrief ? pictureFrame(element("span")) : image),
    };
    this.view.setState("exposing", trial.task.id);
    this.drawActions(trial.task);
    const show = (stage) => {
      this.view.root.dataset.stage = stage;
      this.view.showOnStage(stages[stage]());
    };
    const alive = () => this.loop.trial === trial && !this.loop.stopped;
    const shown = isBrief ? exposure : { fixation_ms: exposure.fixation_ms, stimulus_ms: 0, mask_ms: 0 };
    const seen = await expose(shown, this.frameMs, show, alive);
    if (seen === null) return;
    if (seen.dropped) trial.flags.add("frame_drop");
    const now = await nextFrame();
    if (alive()) this.loop.openFor(trial, seen.onset ?? now);
  }

  opened(trial) {
    const side = this.view.stage.querySelector(".frame").clientWidth;
    if (side < this.loop.settings.picture_px) trial.flags.add("small_window");
    this.loop.sync.recordShown(trial.task, this.loop.pictures.get(this.urls(trial.task)[0]).loadMs);
    this.view.say(`Picture shown. ${this.loop.settings.prompt}`);
    const { response_ms: limitMs, mode } = this.loop.settings.exposure;
    if (mode === "brief" && limitMs > 0) this.#timeout = setTimeout(() => this.#onTimeout(trial), limitMs);
  }

  #onTimeout(trial) {
    if (this.loop.trial !== trial) return;
    const flags = [...trial.flags].sort();
    this.loop.trial = null;
    this.loop.tasks.answer(trial.task.id); // as over as an answered one
    this.loop.sync.record([this.loop.makeEvent("timeout", trial.task, { flags })]);
    this.loop.show();
  }

  // The grid of options stays where it is from trial to trial: it is made again only where the options differ.
  drawActions(task) {
    const key = JSON.stringify(task.choices);
    if (this.drawn === key && this.view.actions.childElementCount === task.choices.length) return;
    this.drawn = key;
    this.view.actions.style.minHeight = "";
    const nOptions = task.choices.filter((choice) => choice !== NONE).length;
    const columns = Math.ceil(nOptions / Math.ceil(nOptions / MOST_COLUMNS));
    this.view.actions.style.setProperty("--columns", String(Math.max(2, columns)));
    this.view.setActions(...task.choices.map((choice, index) => {
      const button = actionButton("choose", this.#label(choice), this.optionKeys[index] ?? "");
      button.prepend(button.lastElementChild); // the key stands before the word, where the eye looks for it
      button.dataset.index = String(index);
      if (choice === NONE) button.dataset.grade = "none"; // apart from the classes, in a row of its own
      return button;
    }));
  }

  #label(choice) {
    return this.loop.settings.option_labels[choice] ?? choice.replaceAll("_", " ");
  }

  onKey(key, _action, event) {
    if (this.#feedbackFor && (key === "Enter" || key === " ")) {
      if (this.view.root.dataset.state === "feedback") this.#goOn();
      return true;
    }
    const index = this.optionKeys.indexOf(key);
    if (index < 0) return false;
    this.#choose(index, event.timeStamp);
    return true;
  }

  act(action, stamp, button) {
    if (action === "choose") this.#choose(Number(button.dataset.index), stamp);
    else if (action === "go-on") this.#goOn();
    else return false;
    return true;
  }

  #choose(index, stamp) {
    const rtMs = this.loop.reactionMs(stamp);
    const choice = this.loop.trial?.task.choices[index];
    if (rtMs === null || choice === undefined) return;
    clearTimeout(this.#timeout);
    const { task } = this.loop.trial;
    this.loop.answer({ answer: choice }, rtMs);
    if (this.loop.mode !== "practice") {
      this.loop.show();
      return;
    }
    this.#feedbackFor = task.id;
    this.view.setState("saving", task.id);
    this.#tellBelow("Saving…");
  }

  // What was right is said where the options were: the picture stays, and stays where it is.
  #tellBelow(text, ...buttons) {
    this.view.actions.style.minHeight = `${this.view.actions.offsetHeight}px`;
    this.drawn = null;
    this.view.setActions(element("div", { className: "message" }, element("p", { textContent: text }), ...buttons));
  }

  // After a practice trial the server says what was right.
  onStored(answer, events) {
    if (!this.#feedbackFor || !events.some((event) => event.assignment === this.#feedbackFor && event.kind === "answer")) return;
    const text = answer.feedback?.[this.#feedbackFor] ?? "";
    if (!text) {
      this.#goOn();
      return;
    }
    this.view.setState("feedback", this.#feedbackFor);
    this.#tellBelow(text, actionButton("go-on", "Go on", "Enter"));
    this.view.say(text);
  }

  #goOn() {
    this.#feedbackFor = null;
    if (!this.loop.leaving && !this.loop.halted) this.loop.show();
    else if (this.loop.leaving) this.loop.leave(this.loop.leaving);
  }

  // While feedback is being read, the end of the practice waits.
  get holds() {
    return this.#feedbackFor !== null;
  }
}
