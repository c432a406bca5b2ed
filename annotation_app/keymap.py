"""Which key does what in the trial loop. A clash is an error when the page is made, not a surprise while judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest

RESERVED = ("c", "r")  # Streamlit clears its cache and runs the page again
FIXED = ("Enter", "Escape", "Tab", " ", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown")
NAMED = ("Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown", "F2", "F4", "F8", "F9")
OPTION_KEYS = "1234567890qwetyuiop"  # digits, then the row below, for long lists of options

KEYMAPS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "review": {
        "accept": ("a",),
        "reject": ("x",),
        "unsure": ("s",),
        "later": ("l",),
        "undo": ("u", "Backspace"),
        "note": ("n",),
        "zoom": ("z",),
        "source": ("v",),
        "grid": ("g",),
        "help": ("?",),
    },
    "mask": {
        "box": ("b",),
        "later": ("l",),
        "undo": ("u", "Backspace"),
        "note": ("n",),
        "help": ("?",),
    },
    "study": {"help": ("?",)},
    "practice": {"help": ("?",)},
}


def check_keymap(mode: str, changes: Mapping[str, Sequence[str] | str]) -> dict[str, list[str]]:
    """Return the keys of every action of a mode: the defaults, with the changes put in.

    Parameters
    ----------
    mode : `review`, `mask`, `study` or `practice`
    changes : action -> a key or several, as `KeyboardEvent.key` names them (`a`, `?`, `Backspace`)

    Raises
    ------
    CuebenchError
        If there is no such action or key, a key is reserved, or two actions have the same one.

    >>> check_keymap("study", {"help": "h"})
    {'help': ['h']}
    """
    defaults = KEYMAPS[mode]
    if unknown := sorted(set(changes) - set(defaults)):
        raise CuebenchError(
            f"keymap of {mode}: no such action: {unknown[0]}{nearest(unknown[0], list(defaults))}; "
            f"there are: {', '.join(defaults)}"
        )
    keymap = {action: _keys(mode, action, changes.get(action, keys)) for action, keys in defaults.items()}
    taken: dict[str, str] = {}
    for action, keys in keymap.items():
        for key in keys:
            if key in taken:
                raise CuebenchError(
                    f"keymap of {mode}: {key} is the key of {taken[key]} and of {action}; give one of them another"
                )
            taken[key] = action
    return keymap


def _keys(mode: str, action: str, keys: Sequence[str] | str) -> list[str]:
    listed = [keys] if isinstance(keys, str) else list(keys)
    if not listed:
        raise CuebenchError(f"keymap of {mode}: {action} has no key; give it one")
    return [_check_key(mode, action, key.lower() if len(key) == 1 else key) for key in listed]


def _check_key(mode: str, action: str, key: str) -> str:
    if key in RESERVED:
        raise CuebenchError(f"keymap of {mode}: {key} ({action}) is a key of Streamlit's own; choose another")
    if key in FIXED or key.isdigit() or (mode in {"study", "practice"} and key in OPTION_KEYS):
        raise CuebenchError(f"keymap of {mode}: {key!r} ({action}) is needed to choose; choose another")
    if len(key) != 1 and key not in NAMED:
        raise CuebenchError(
            f"keymap of {mode}: {key!r} ({action}) is no key; "
            f"expected one character or one of {', '.join(NAMED)}"
        )
    return key
