"""Where the keyboard is when a page opens, so that it can be used without a mouse."""

from __future__ import annotations

import streamlit as st

# The page may put the element up a few frames after this one, and the button that led here may have the focus until it
# is gone. What a person has focused meanwhile keeps it.
_FOCUS = """
export default function ({ data }) {
  let nLeft = 60
  const look = () => {
    const node = document.querySelector(data.selector)
    const isFree = !document.activeElement || document.activeElement === document.body
    if (node && isFree) node.focus({ preventScroll: true })
    else if (nLeft-- > 0) requestAnimationFrame(look)
  }
  look()
}
"""

_component = st.components.v2.component("cuebench_focus", html="<span></span>", js=_FOCUS)


def give_focus(selector: str) -> None:
    """Give the focus to the first element of a CSS selector; to be called once a page, after that element."""
    _component(key=f"focus-{selector}", data={"selector": selector})
