from __future__ import annotations

import pytest

from annotation_app.device import Device, parse_device
from annotation_app.own_numbers import PAUSE_SECONDS, answers_per_hour
from annotation_app.study_settings import trial_settings
from annotation_app.trial import check_settings
from curation.protocol import parse_protocol, protocol_names, read_protocol


def _at(*seconds: float) -> list[str]:
    return [f"2026-11-30T12:{int(second) // 60:02}:{second % 60:06.3f}Z" for second in seconds]


def test_the_pace_leaves_pauses_out() -> None:
    assert answers_per_hour(_at(0, 2, 4, 4 + PAUSE_SECONDS + 1, 6 + PAUSE_SECONDS + 1)) == pytest.approx(1800)


def test_the_pace_does_not_depend_on_the_order() -> None:
    assert answers_per_hour(reversed(_at(0, 3, 6))) == answers_per_hour(_at(0, 3, 6)) == pytest.approx(1200)


@pytest.mark.parametrize("times", [[], _at(5), _at(5, 5), _at(0, PAUSE_SECONDS + 1)])
def test_there_is_no_pace_without_two_answers_in_a_row(times: list[str]) -> None:
    assert answers_per_hour(times) is None


def test_a_device_is_read_as_the_browser_tells_it() -> None:
    reported = {"width": 1366, "height": 768, "pixel_ratio": 1.25, "frame_ms": 16.66}
    device = parse_device(reported)
    assert device == Device(1366, 768, 1.25, 17)
    assert device.is_large_enough
    assert device.columns() == {"viewport": "1366x768", "device_pixel_ratio": "1.25", "frame_ms": 17}


@pytest.mark.parametrize("name", ["width", "height", "pixel_ratio", "frame_ms"])
@pytest.mark.parametrize("value", [None, "1366", -1, 0, 1e9, float("nan")])
def test_a_device_that_is_not_to_be_believed_is_none(name: str, value: object) -> None:
    reported: dict[str, object] = {"width": 1366, "height": 768, "pixel_ratio": 1, "frame_ms": 16.6}
    assert parse_device({**reported, name: value}) is None


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1366, "height": 300}])
def test_a_phone_and_a_low_window_are_too_small(size: dict[str, int]) -> None:
    device = parse_device({**size, "pixel_ratio": 1, "frame_ms": 16.6})
    assert device is not None
    assert not device.is_large_enough


@pytest.mark.parametrize("name", protocol_names())
def test_the_trial_loop_takes_the_settings_of_every_shipped_protocol(name: str) -> None:
    settings = check_settings("study", trial_settings(read_protocol(name)))
    assert settings["too_fast_ms"] == read_protocol(name).min_rt_ms


def test_a_brief_protocol_keeps_its_times_and_options_are_named_for_people() -> None:
    protocol = parse_protocol(
        {
            "name": "brief",
            "exposure": {"mode": "brief", "stimulus_ms": 120},
            "options": {"shape": ["hot_air_balloon", "clock"]},
        },
        "brief",
    )
    settings = check_settings("study", trial_settings(protocol))
    assert settings["exposure"]["mode"] == "brief"
    assert settings["exposure"]["stimulus_ms"] == 120
    assert settings["option_labels"]["hot_air_balloon"] == "hot air balloon"
    assert settings["option_labels"]["none"] == protocol.none_label
