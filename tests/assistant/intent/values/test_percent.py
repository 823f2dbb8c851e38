"""Levels from 0 to 100."""

from __future__ import annotations

import pytest
from unicode_rbnf import RbnfEngine

from assistant.intent.values.percent import Level, find_percent, parse_percent

RBNF = RbnfEngine.for_language("en")


@pytest.mark.parametrize("number", range(101))
def test_words_digits_and_signs_are_equal(number: int) -> None:
    words = RBNF.format_number(number).text
    for count in (str(number), words, words.replace("-", " ")):
        for sign in ("", "%", " %", " percent", " per cent"):
            assert parse_percent(count + sign) == Level(number, number, clamped=False)


@pytest.mark.parametrize(
    ("text", "value", "clamped"),
    [
        ("one hundred percent", 100, False),
        ("a hundred per cent", 100, False),
        ("half", 50, False),
        ("three quarters", 75, False),
        ("a third", 33, False),
        ("1/4", 25, False),
        ("max", 100, False),
        ("to the maximum", 100, False),
        ("full", 100, False),
        ("all the way up", 100, False),
        ("min", 0, False),
        ("minimum", 0, False),
        ("zero", 0, False),
        ("eleven", 11, False),
        ("12.5", 12.5, False),
        ("twelve point five percent", 12.5, False),
        ("twelve and a half percent", 12.5, False),
        ("half a percent", 0.5, False),
        ("-5", 0, True),
        ("minus five percent", 0, True),
        ("101", 100, True),
        ("one hundred and twenty", 100, True),
        ("loud", None, False),
        ("", None, False),
        ("50 60", None, False),
    ],
)
def test_levels(text: str, value: float | None, clamped: bool) -> None:
    level = parse_percent(text)
    if value is None:
        assert level is None
    else:
        assert level is not None
        assert (level.value, level.clamped) == (value, clamped)


def test_what_was_said_is_kept() -> None:
    level = parse_percent("130 percent")
    assert level is not None
    assert (level.value, level.said) == (100, 130)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("turn the volume to forty percent please", 40),
        ("set the volume to 7", 7),
        ("lamp 2 to 30 %", 30),
        ("make it half as loud", 50),
        ("lamp 2 to 30", None),
        ("louder", None),
    ],
)
def test_a_level_in_a_sentence(text: str, value: float | None) -> None:
    span = find_percent(text)
    assert (span and span.value.value) == value
