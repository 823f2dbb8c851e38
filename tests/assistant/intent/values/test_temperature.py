"""Temperatures."""

from __future__ import annotations

import pytest

from assistant.intent.values.temperature import (
    Temperature,
    find_temperatures,
    parse_temperature,
)


@pytest.mark.parametrize(
    ("text", "degrees", "scale"),
    [
        ("22 degrees", 22, ""),
        ("22°", 22, ""),
        ("22 °C", 22, "C"),
        ("22 ℃", 22, "C"),
        ("71℉", 71, "F"),
        ("22 C", 22, "C"),
        ("twenty two degrees celsius", 22, "C"),
        ("twenty point five degrees", 20.5, ""),
        ("20 and a half degrees", 20.5, ""),
        ("minus four degrees fahrenheit", -4, "F"),
        ("-4 deg f", -4, "F"),
        ("three hundred kelvin", 300, "K"),
    ],
)
def test_whole_text(text: str, degrees: float, scale: str) -> None:
    assert parse_temperature(text) == Temperature(degrees, scale)


@pytest.mark.parametrize("text", ["", "22", "warm", "degrees", "celsius", "a 45 degree angle"])
def test_refused(text: str) -> None:
    assert parse_temperature(text) is None


def test_in_a_sentence() -> None:
    text = "set the bedroom to 19.5 degrees and the bath to 24 celsius, lamp 3 off"
    assert [span.value for span in find_temperatures(text)] == [
        Temperature(19.5, ""),
        Temperature(24, "C"),
    ]


def test_below_zero_and_what_only_looks_like_it() -> None:
    assert [s.value for s in find_temperatures("from - 15 degrees celsius to 3°")] == [
        Temperature(-15, "C"),
        Temperature(3, ""),
    ]
    for text in ("form 11f", "9c a share", "wait 5 - 10 minutes", "lamp - 20"):
        assert find_temperatures(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("set the thermostat to 22c", [(22, "C")]),
        ("the oven is at 350F", [(350, "F")]),
        ("-40f", [(-40, "F")]),
        ("the dividend rose from 11c to 17c a share", []),
        ("gate 13F", []),
    ],
)
def test_a_letter_is_a_scale_beside_words_of_heat(text: str, found: list[tuple[int, str]]) -> None:
    spans = find_temperatures(text)
    assert [(span.value.degrees, span.value.scale) for span in spans] == found
