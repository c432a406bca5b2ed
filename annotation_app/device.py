"""What a participant looks at the pictures with: window, pixel ratio, frame interval; measured by the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

MIN_WIDTH_PX, MIN_HEIGHT_PX = 700, 560  # CSS px: the picture, the options and what stands around them
MAX_SIDE_PX, MAX_FRAME_MS = 100_000, 1_000
_STATE = "device"

_MEASURE = """
export default function ({ setStateValue }) {
  const N_FRAMES = 24
  let frameMs = null
  let stopped = false
  const report = () => {
    if (stopped || frameMs === null) return
    setStateValue("device", {
      width: window.innerWidth, height: window.innerHeight,
      pixel_ratio: window.devicePixelRatio, frame_ms: frameMs,
    })
  }
  const times = []
  const onFrame = (now) => {
    times.push(now)
    if (times.length <= N_FRAMES && !stopped) { requestAnimationFrame(onFrame); return }
    const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b)
    frameMs = gaps[Math.floor(gaps.length / 2)]
    report()
  }
  requestAnimationFrame(onFrame)
  window.addEventListener("resize", report)
  const again = setInterval(report, 2000)
  return () => { stopped = true; clearInterval(again); window.removeEventListener("resize", report) }
}
"""

_component = st.components.v2.component("cuebench_device", html="<span></span>", js=_MEASURE)


@dataclass(frozen=True)
class Device:
    """A browser window: its size in CSS px, device px per CSS px, and the time between two frames."""

    width_px: int
    height_px: int
    pixel_ratio: float
    frame_ms: int

    @property
    def is_large_enough(self) -> bool:
        """Whether a trial fits."""
        return self.width_px >= MIN_WIDTH_PX and self.height_px >= MIN_HEIGHT_PX

    def columns(self) -> dict[str, str | int]:
        """Return the device as columns of a client session."""
        return {
            "viewport": f"{self.width_px}x{self.height_px}",
            "device_pixel_ratio": f"{self.pixel_ratio:g}",
            "frame_ms": self.frame_ms,
        }


def parse_device(reported: object) -> Device | None:
    """Return the device that a browser reported, or None where it is not to be believed.

    >>> parse_device({"width": 1366, "height": 768, "pixel_ratio": 1.5, "frame_ms": 16.7})
    Device(width_px=1366, height_px=768, pixel_ratio=1.5, frame_ms=17)
    >>> parse_device({"width": "wide"})
    """
    if not isinstance(reported, Mapping):
        return None
    values = [reported.get(name) for name in ("width", "height", "pixel_ratio", "frame_ms")]
    if not all(isinstance(value, int | float) and 0 < value < MAX_SIDE_PX for value in values):
        return None
    width, height, ratio, frame_ms = (float(value) for value in values if value is not None)
    return Device(
        round(width), round(height), round(min(ratio, 100.0), 3), round(min(frame_ms, MAX_FRAME_MS))
    )


def device_of_tab() -> Device | None:
    """Return the device of this tab, as far as the browser has told; a window that is too small is asked again."""
    known = parse_device(st.session_state.get(_STATE))
    if known is not None and known.is_large_enough:
        return known
    reported = _component(key="device-check", on_device_change=_pass).get("device")
    found = parse_device(reported)
    if found is not None and reported is not None:
        st.session_state[_STATE] = dict(reported)
    return found or known


def _pass() -> None:
    """Do nothing: that there is a callback is what makes Streamlit keep the value."""
