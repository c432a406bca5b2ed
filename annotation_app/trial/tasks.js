// The order of tasks in one tab: what is on the screen, what comes next, what an undo goes back to. Pure.

export class TaskQueue {
  #queue = [];
  #done = new Set();
  #history = []; // oldest first: {task, act}
  #postponed = new Set();
  #restored = new Set(); // brought back by an undo: a list that the server made before it leaves them out // put off in this tab (later, timed out, not to be loaded): at the end

  get current() {
    return this.#queue[0] ?? null;
  }

  get length() {
    return this.#queue.length;
  }

  get nUndoable() {
    return this.#history.length;
  }

  upcoming(count) {
    return this.#queue.slice(0, count);
  }

  recent(count) {
    return this.#history.slice(-count).map((entry) => entry.task);
  }

  // Take the server's list. `inFlight` are assignments about which the server may not know everything yet; what this
  // tab answered stays answered, and the picture on the screen stays there.
  merge(tasks, inFlight = new Set()) {
    const known = new Map(this.#queue.map((task) => [task.id, task]));
    const kept = this.#queue.filter((task, index) => index === 0 || inFlight.has(task.id) || this.#restored.has(task.id));
    const names = new Set(kept.map((task) => task.id));
    const fresh = tasks
      .filter((task) => !names.has(task.id) && !this.#done.has(task.id) && !inFlight.has(task.id))
      .map((task) => known.get(task.id) ?? task);
    const [first, ...others] = [...kept, ...fresh];
    this.#queue = first ? [first, ...this.#ordered(others)] : [];
  }

  // Block by block; what was put off comes at the end of its block.
  #ordered(tasks) {
    const rank = (task) => 2 * (task.block ?? 0) + (this.#postponed.has(task.id) ? 1 : 0);
    return tasks
      .map((task, index) => [rank(task), index, task])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
      .map((entry) => entry[2]);
  }

  // What the rater answered in earlier tabs, newest first.
  setHistory(tasks) {
    const mine = new Set(this.#history.map((entry) => entry.task.id));
    const older = tasks.filter((task) => !mine.has(task.id) && task.id !== this.current?.id);
    this.#history = [...older.reverse().map((task) => ({ task, act: "answer", page: null })), ...this.#history];
  }

  // Answered, by this tab or by what its outbox holds.
  answer(id, said = {}, page = null) {
    const index = this.#queue.findIndex((task) => task.id === id);
    this.#done.add(id);
    this.#postponed.delete(id);
    this.#restored.delete(id);
    if (index < 0) return;
    const [task] = this.#queue.splice(index, 1);
    this.#history.push({ task: { ...task, ...said }, act: "answer", page });
  }

  // Answered no more: an earlier tab undid it, and the server may not know yet.
  reopen(id) {
    this.#done.delete(id);
  }

  // Put off: to the end, without an answer.
  postpone(id, { undoable = true } = {}) {
    const index = this.#queue.findIndex((task) => task.id === id);
    if (index < 0) return;
    const [task] = this.#queue.splice(index, 1);
    this.#postponed.add(id);
    this.#queue = this.#ordered([...this.#queue, task]);
    if (undoable) this.#history.push({ task, act: "later", page: null });
  }

  // Bring back the last one; returns {task, act, page}, or null where there is nothing to undo.
  undo() {
    const entry = this.#history.pop();
    if (!entry) return null;
    this.#done.delete(entry.task.id);
    this.#postponed.delete(entry.task.id);
    this.#restored.add(entry.task.id);
    this.#queue = [entry.task, ...this.#queue.filter((task) => task.id !== entry.task.id)];
    return entry;
  }

  // The page of the last answer, where it was one of many given at once.
  get lastPage() {
    return this.#history.at(-1)?.page ?? null;
  }
}
