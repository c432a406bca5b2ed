// Keys: what they are called, which action they stand for, and which presses count. Pure, but for the event's fields.

const DIGIT_CODE = /^(?:Digit|Numpad)(\d)$/;
const LETTER_CODE = /^Key([A-Z])$/;

// The name of a key by what it writes, and by its place where the layout writes something that no keymap holds.
export function keyName(event) {
  const digit = DIGIT_CODE.exec(event.code ?? "");
  if (digit && (!event.shiftKey || /^\d$/.test(event.key)) && event.key !== "?") return digit[1];
  if (event.key.length === 1 && /[!-~]/.test(event.key)) return event.key.toLowerCase();
  const letter = LETTER_CODE.exec(event.code ?? "");
  return letter && event.key.length === 1 ? letter[1].toLowerCase() : event.key;
}

// A table from key to action. Two actions on one key are an error here as they are on the server.
export function compileKeymap(keymap) {
  const actions = new Map();
  for (const [action, keys] of Object.entries(keymap)) {
    for (const key of keys) {
      if (actions.has(key)) throw new Error(`key ${key}: ${actions.get(key)} and ${action}`);
      actions.set(key, action);
    }
  }
  return actions;
}

export function keyLabel(key) {
  const names = { Backspace: "⌫", Enter: "↵", Escape: "Esc" };
  return names[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

export function isTyping(event) {
  const target = event.composedPath?.()[0] ?? event.target;
  return Boolean(target?.matches?.("input, textarea, select, [contenteditable=true]"));
}

// A press counts once: not while the key is held, whether or not the system marks its repeats.
export class HeldKeys {
  #down = new Set();

  press(event) {
    const place = event.code || event.key;
    const counts = !event.repeat && !this.#down.has(place);
    this.#down.add(place);
    return counts;
  }

  release(event) {
    this.#down.delete(event.code || event.key);
  }

  clear() {
    this.#down.clear();
  }
}
