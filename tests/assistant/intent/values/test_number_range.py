"""Ranges of numbers and shares in sentences."""

from __future__ import annotations

import pytest

from assistant.intent.values.number_range import NumberRange, find_number_ranges
from assistant.intent.values.percent import find_percents

RANGES = {
    "lamps brighter than 40": None,
    "songs longer than 3 minutes": NumberRange(low=3),
    "at least four eggs": NumberRange(low=4, with_low=True),
    "no more than twenty guests": NumberRange(high=20, with_high=True),
    "not less than 5": NumberRange(low=5, with_low=True),
    "between three and seven apples": NumberRange(3, 7, True, True, True),
    "from 10 to 12.5": NumberRange(10, 12.5, True, True, True),
    "twelve or fewer": NumberRange(high=12, with_high=True),
    "a hundred and up": NumberRange(low=100, with_low=True),
    "over 18 and under 30": NumberRange(18, 30),
    "at least 2 but less than 9": NumberRange(2, 9, with_low=True),
    "x >= -4": NumberRange(low=-4, with_low=True),
    "y <-4": NumberRange(high=-4),
    "less than or equal to minus two": NumberRange(high=-2, with_high=True),
    "equal to eleven": NumberRange(11, 11, True, True),
    "between you and me": None,
    "over there": None,
    "from 9 to 5": None,
}


@pytest.mark.parametrize("text", RANGES)
def test_ranges_of_numbers(text: str) -> None:
    wanted = RANGES[text]
    assert [span.value for span in find_number_ranges(text)] == ([wanted] if wanted else [])


def test_ranges_that_cannot_be_one_are_two() -> None:
    found = [span.value for span in find_number_ranges("more than 9 and less than 4")]
    assert found == [NumberRange(low=9), NumberRange(high=4)]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("raise it by 12 percent", [12]),
        ("3.5% of 200", [3.5]),
        ("from ten per cent to 150 %", [10, 150]),
        ("half of the lights", [50]),
        ("three quarters of them", [75]),
        ("half an hour", []),
        ("20 lights", []),
        ("https://example.org/?q=7%20", []),
    ],
)
def test_shares(text: str, shares: list[float]) -> None:
    assert [span.value for span in find_percents(text)] == shares
