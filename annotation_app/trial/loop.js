// The trial loop: what is on the screen, when it was painted, what is said about it, and where that goes.

import { Api } from "./api.js";
import { painted } from "./clock.js";
import { Controls } from "./controls.js";
import { MaskDesk } from "./mask.js";
import { newEventId } from "./outbox.js";
import { N_AHEAD, PictureStore } from "./pictures.js";
import { ReviewDesk } from "./review.js";
import { StudyDesk } from "./study.js";
import { Sync } from "./sync.js";
import { TaskQueue } from "./tasks.js";
import { actionButton, View } from "./view.js";

const DESKS = { review: ReviewDesk, mask: MaskDesk, study: StudyDesk, practice: StudyDesk };
const SLOW_MS = 250; // a picture that keeps a person waiting for longer is flagged
const STAFF_SCALE = 1.5; // who looks for faults may see more of a picture than who names it
const REASONS_TO_STOP = {
  superseded: "This work goes on in another tab or on another device. Nothing is lost; this tab has stopped.",
  closed: "This campaign takes no more answers. What you said is kept.",
  unknown: "This page is no longer known to the server. Load it again to go on; what isn't sent yet is kept here.",
};
const REASONS_TO_LEAVE = {
  finished: "All done: everything is answered and saved. Thank you.",
  block: "This part is done and saved.",
  phase: "This part is done and saved.",
};

export class TrialLoop {
  constructor(root, data, report) {
    this.mode = data.mode;
    this.settings = data.settings;
    this.report = report;
    this.view = new View(root);
    root.dataset.mode = data.mode;
    root.style.setProperty("--picture", `${data.settings.picture_px * (this.isStudy ? 1 : STAFF_SCALE)}px`);
    this.api = new Api(data.settings.api_root, data.session_id, data.mode === "practice");
    this.tasks = new TaskQueue();
    this.pictures = new PictureStore({
      load: (url, signal) => this.api.picture(url, signal),
      onChange: (url) => this.#onPicture(url),
    });
    this.sync = new Sync(this);
    this.controls = new Controls(this);
    this.desk = new DESKS[data.mode](this);
    this.trial = null;
    this.block = null;
    this.leaving = null;
    this.halted = null;
    this.stopped = false;
  }

  get isStudy() {
    return this.mode === "study" || this.mode === "practice";
  }

  async start() {
    this.controls.listen();
    this.view.fit();
    this.view.showMessage("Getting the pictures…");
    this.view.fillHelp(this.desk.helpRows());
    if (await this.sync.start()) {
      await this.desk.prepare?.();
      this.show();
    }
  }

  stop() {
    this.stopped = true;
    this.trial = null;
    this.controls.stop();
    this.sync.stop();
    this.pictures.clear();
  }

  // --- one trial ----------------------------------------------------------------------------------------------

  show() {
    if (this.stopped) return;
    const task = this.tasks.current;
    if (!task) {
      this.#showEnd();
      return;
    }
    if (this.isStudy && this.block !== null && task.block !== this.block) {
      this.leave("block");
      return;
    }
    this.block = task.block;
    this.trial = { task, onset: null, flags: new Set(), note: task.note ?? "", since: performance.now(), shown: false };
    this.view.noteText.value = this.trial.note;
    this.view.note.hidden = true;
    this.view.markNote(this.trial.note);
    this.view.fit();
    this.desk.begin?.(task);
    this.want();
    this.#present();
  }

  // Ask for the pictures of what is on the screen and of what comes, and keep those just seen for an undo.
  want() {
    const ahead = this.tasks.upcoming(this.desk.nShown + N_AHEAD);
    const tasks = [...ahead, ...this.tasks.recent(2)];
    this.pictures.want([...this.desk.extraUrls(), ...tasks.flatMap((task) => this.desk.urls(task))]);
  }

  #onPicture(url) {
    if (this.trial && !this.trial.shown) this.#present();
    this.desk.onPicture?.(url);
  }

  #present() {
    const trial = this.trial;
    const urls = this.desk.urls(trial.task);
    const states = urls.map((url) => this.pictures.get(url).state);
    if (this.desk.ready ? this.desk.ready() : states.every((state) => state === "ready")) {
      trial.shown = true;
      this.desk.present(trial);
    } else if (states.includes("failed")) {
      this.#showMissing(urls);
    } else {
      this.#showLoading(states.includes("retrying"));
    }
  }

  #showLoading(retrying) {
    const trial = this.trial;
    this.view.setState("loading", trial.task.id);
    this.view.setPainted("");
    this.desk.drawActions(trial.task);
    const waited = performance.now() - trial.since;
    if (retrying) this.view.showMessage("The picture is slow to come. Trying again…");
    else if (waited > SLOW_MS) this.view.showMessage("Loading the picture…");
    else {
      this.view.showOnStage();
      setTimeout(() => this.trial === trial && !trial.shown && this.#present(), SLOW_MS + 10);
    }
  }

  #showMissing(urls) {
    this.view.setState("missing", this.trial.task.id);
    this.view.setPainted("");
    this.desk.drawActions(this.trial.task);
    const retry = actionButton("retry", "Try again", "Enter");
    const others = this.tasks.length > 1 ? actionButton("skip", "Go on with the others", "") : null;
    this.view.showMessage("This picture can't be loaded. Nothing is recorded for it.", ...[retry, others].filter(Boolean));
    this.view.say("This picture can't be loaded.");
    this.missing = urls;
  }

  // Put the nodes up, and take answers from the second frame after that: by then they were on the screen.
  async paint(trial, nodes) {
    if (performance.now() - trial.since > SLOW_MS) trial.flags.add("slow_load");
    this.view.setState("painting", trial.task.id);
    this.view.showOnStage(...nodes);
    this.desk.drawActions(trial.task);
    const time = await painted();
    if (this.trial === trial && !this.stopped) this.openFor(trial, time);
  }

  openFor(trial, onset) {
    trial.onset = onset;
    this.view.setPainted(trial.task.id);
    this.desk.opened?.(trial);
    const waitMs = onset + this.floorMs - performance.now();
    if (waitMs > 0) setTimeout(() => this.#open(trial), waitMs);
    else this.#open(trial);
  }

  #open(trial) {
    if (this.trial === trial && !this.stopped) this.view.setState("ready", trial.task.id);
  }

  // Nobody names a picture in so short a time: a key that bounces, or a second tap that was meant for the picture
  // before, must not answer this one. Such an answer could not be taken back in a study; in a review it can.
  get floorMs() {
    return this.isStudy ? this.settings.too_fast_ms : 0;
  }

  get isOpen() {
    return !this.stopped && this.trial !== null && this.trial.onset !== null && this.view.root.dataset.state === "ready";
  }

  // The reaction time of something done now; null where it began before the picture can have been seen.
  reactionMs(stamp) {
    if (!this.isOpen || stamp < this.trial.onset + this.floorMs) return null;
    return Math.round(stamp - this.trial.onset);
  }

  makeEvent(kind, task, more = {}) {
    return { event_id: newEventId(), assignment: task.id, kind, client_utc: new Date().toISOString(), ...more };
  }

  // Record an answer to the picture on the screen and go on. `said` holds answer, reasons.
  answer(said, rtMs, flags = []) {
    const { task, note } = this.trial;
    const all = new Set([...this.trial.flags, ...flags]);
    if (rtMs < this.settings.too_fast_ms) all.add("too_fast");
    const loadMs = Math.max(...this.desk.urls(task).map((url) => this.pictures.get(url).loadMs ?? 0));
    const event = this.makeEvent("answer", task, {
      ...said, note, rt_ms: rtMs, load_ms: loadMs, flags: [...all].sort(),
    });
    this.tasks.answer(task.id, { answer: said.answer, reasons: said.reasons ?? [], note });
    this.trial = null;
    this.view.tell("");
    this.sync.record([event]);
    return event;
  }

  // --- the end, and other ends --------------------------------------------------------------------------------

  #showEnd() {
    this.trial = null;
    this.view.setActions();
    this.view.setText(this.view.question, "");
    this.view.setText(this.view.said, "");
    if (this.sync.isSettled) {
      this.leave(this.mode === "practice" ? "phase" : "finished");
      return;
    }
    this.view.setState("saving");
    this.view.showMessage("Saving your last answers…");
    this.sync.settle();
  }

  // Nothing is left to do here: once all is saved, the page is told.
  leave(reason) {
    this.trial = null;
    this.leaving = reason;
    this.view.setActions();
    this.view.setPainted("");
    if (this.sync.outbox.size > 0) {
      this.view.setState("saving");
      this.view.showMessage("Saving your last answers…");
      this.sync.outbox.flushNow();
      return;
    }
    this.view.setState("left");
    const goOn = actionButton("report", "Go on", "Enter");
    const undo = this.isStudy ? [] : [actionButton("undo", "Undo", this.settings.keymap.undo[0])];
    this.view.showMessage(REASONS_TO_LEAVE[reason], ...undo, goOn);
    this.view.say(REASONS_TO_LEAVE[reason]);
    if (this.isStudy) this.report(reason); // staff may still take the last answer back
  }

  halt(reason) {
    if (this.halted) return;
    this.halted = reason;
    this.trial = null;
    this.view.setActions();
    this.view.setText(this.view.said, "");
    this.view.strip.hidden = true;
    this.view.setPainted("");
    this.view.setState("stopped");
    this.view.showMessage(REASONS_TO_STOP[reason]);
    this.view.say(REASONS_TO_STOP[reason]);
    if (reason !== "unknown") this.report(reason);
  }

  // --- what a person does ---------------------------------------------------------------------------------------------

  // Do what a key or a button stands for; returns whether it meant anything.
  act(action, stamp = performance.now(), button = null) {
    if (action === "help") this.view.toggleHelp();
    else if (action === "retry") this.#retry();
    else if (action === "skip") this.#skip();
    else if (action === "report") this.report(this.leaving);
    else return this.stopped || this.halted ? false : this.desk.act(action, stamp, button);
    return true;
  }

  #retry() {
    for (const url of this.missing ?? []) this.pictures.retry(url);
    if (this.trial) {
      this.trial.since = performance.now();
      this.#present();
    }
  }

  // A picture that can't be had must not hold up the rest; that it was skipped is recorded, as no answer.
  #skip() {
    if (this.view.root.dataset.state !== "missing") return;
    const { task } = this.trial;
    this.trial = null;
    this.tasks.postpone(task.id, { undoable: false });
    this.sync.record([this.makeEvent("interrupted", task, { flags: ["no_picture"] })]);
    this.show();
  }

  // Put the picture off: to the end, without an answer.
  putOff() {
    if (!this.trial) return true;
    const { task, note } = this.trial;
    this.tasks.postpone(task.id);
    this.sync.record([this.makeEvent("later", task, { note })]);
    this.trial = null;
    this.show();
    return true;
  }

  // Take back the last answer, or all of those that were given at once on `page`.
  undo(page = null) {
    const undone = [];
    do {
      const entry = this.tasks.undo();
      if (entry) undone.push(entry);
    } while (page && this.tasks.lastPage === page);
    if (undone.length === 0) {
      this.view.announceBriefly("There is nothing to undo.");
      if (this.sync.outbox.size === 0) this.sync.check(); // there may be more from earlier tabs
      return true;
    }
    this.view.tell("");
    const events = undone.filter((entry) => entry.act === "answer").map((entry) => this.makeEvent("undo", entry.task));
    if (events.length > 0) this.sync.record(events);
    this.leaving = null;
    this.desk.restore?.(undone.map((entry) => entry.task));
    this.show();
    return true;
  }

  openNote() {
    if (!this.trial) return true;
    this.view.note.hidden = false;
    this.view.noteText.focus();
    return true;
  }
}
