"""Named days of the year."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from assistant.intent.values.feast import easter, match_feast
from assistant.intent.values.tokens import tokenize
from assistant.intent.values.when import find_times


@pytest.mark.parametrize(
    ("year", "month", "day"),
    [
        (1818, 3, 22), (1943, 4, 25), (1961, 4, 2), (2000, 4, 23), (2008, 3, 23),
        (2024, 3, 31), (2025, 4, 20), (2026, 4, 5), (2027, 3, 28), (2038, 4, 25),
    ],
)  # fmt: skip
def test_easter(year: int, month: int, day: int) -> None:
    assert easter(year) == date(year, month, day)


@pytest.mark.parametrize("year", range(1900, 2100))
def test_easter_is_a_sunday_in_spring(year: int) -> None:
    day = easter(year)
    assert day.weekday() == 6
    assert date(year, 3, 22) <= day <= date(year, 4, 25)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("good friday", date(2027, 3, 26)),
        ("black friday", date(2026, 11, 27)),
        ("black friday 2028", date(2028, 11, 24)),
        ("father's day", date(2027, 6, 20)),
        ("boxing day", date(2026, 12, 26)),
        ("xmas eve", date(2026, 12, 24)),
        ("new year day", date(2027, 1, 1)),
        ("the new year", date(2027, 1, 1)),
        ("guy fawkes day of 2030", date(2030, 11, 5)),
        ("arbor day", date(2027, 4, 30)),
        ("election day", date(2026, 11, 3)),
    ],
)
def test_the_coming_one(text: str, day: date) -> None:
    hit = match_feast(tokenize(text), 0, date(2026, 11, 1))
    assert hit is not None
    assert hit.options[0] == day


def test_a_wish_is_no_day() -> None:
    assert find_times("happy new year everyone", datetime(2026, 11, 1, tzinfo=UTC)) == []
