"""Bounds at a distance, dates that never are, and days that several mentions share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.intent.values.measure import find_measures
from assistant.intent.values.mention import find_mentions
from assistant.intent.values.moment import When
from assistant.intent.values.money import find_money
from assistant.intent.values.number_range import NumberRange, find_number_ranges
from assistant.intent.values.range_value import Range
from assistant.intent.values.ranges import find_ranges
from assistant.intent.values.when import find_times

NOW = datetime(2027, 6, 16, 10, 20, tzinfo=UTC)
"""A Wednesday."""

RANGES = {
    "bills more than three weeks before friday": "- 2027-05-28",
    "any visit more than 2 days after tomorrow": "2027-06-19 -",
    "photos of more than a week ago": "- 2027-06-09",
    "we have lived here since july 3rd": "2026-07-03 -",
    "the pool is closed from monday on": "2027-06-21 -",
    "films of the year of 1994": "1994-01-01 1995-01-01",
    "cars built in 2012 or later": "2012-01-01 -",
    "everything later than or on july 3rd": "2027-07-03 -",
    "we met between march 2nd and now": "2027-03-02 2027-06-16",
    "rainfall in the year to date": "2027-01-01 2027-06-16",
    "the fair is the week commencing july 20": "2027-07-19 2027-07-26",
    "i'm off w/c july 20": "2027-07-19 2027-07-26",
    "a letter from april 87": "1987-04-01 1987-05-01",
    "we moved in mid 2019": "2019-05-01 2019-09-01",
    "clothes of the noughties": "2000-01-01 2010-01-01",
    "for the remaining of the week": "2027-06-16 2027-06-20",
    "it should start in the next decade": "2030-01-01 2040-01-01",
    "early in the day tomorrow": "2027-06-17 2027-06-17",
    "friday evening next week": "2027-06-25 2027-06-25",
    "late this afternoon": "2027-06-16 2027-06-16",
    "february 30": None,
    "2027-2-31": None,
    "on friday and after my holidays": None,
    "wake me in 90 s": None,
}


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "-"


@pytest.mark.parametrize("text", RANGES)
def test_ranges(text: str) -> None:
    found = [f"{_day(r.value.start)} {_day(r.value.end)}" for r in find_ranges(text, NOW)]
    wanted = RANGES[text]
    assert found == ([wanted] if wanted else [])


MOMENTS = {
    "remind me a week from today at nine": "06-23 09:00",
    "two days before saturday at seven": "06-17 07:00",
    "three days from now at nine in the evening": "06-19 21:00",
    "dentist friday at 5 pm next week": "06-25 17:00",
    "monday morning next week": "06-21 09:00",
    "call me in room 4 tomorrow": "06-17 00:00",
    "we are only 3 next week": "06-21 00:00",
    "in eight hours": "06-16 18:20",
    "meet at mid night": "06-17 00:00",
}


@pytest.mark.parametrize("text", MOMENTS)
def test_moments(text: str) -> None:
    assert [f"{s.value.at:%m-%d %H:%M}" for s in find_times(text, NOW)] == [MOMENTS[text]]


def _mentions(text: str) -> list[str]:
    found: list[str] = []
    for span in find_mentions(text, NOW):
        if isinstance(span.value, When):
            found.append(f"{span.value.at:%m-%d %H}")
        elif isinstance(span.value, Range) and span.value.start and span.value.end:
            found.append(f"{span.value.start:%m-%d %H}-{span.value.end:%H}")
    return found


def test_neighbours_share_a_day_a_week_or_a_month() -> None:
    assert _mentions("call on friday 9 am or 1 pm") == ["06-18 09", "06-18 13"]
    assert _mentions("friday 1-3 pm or 5-6 pm") == ["06-18 13-15", "06-18 17-18"]
    assert _mentions("august 17th, 18th or 20th") == ["08-17 00", "08-18 00", "08-20 00"]
    assert _mentions("next week mon, tue, fri are fine") == ["06-21 00", "06-22 00", "06-25 00"]


NUMBERS = {
    "rooms 10 - 14": NumberRange(10, 14, True, True, True),
    "a score of at least or equal to 8": NumberRange(low=8, with_low=True),
    "equal to 12 or less": NumberRange(high=12, with_high=True),
    "equal to 12 or more than": NumberRange(low=12, with_low=True),
    "call 0-800-12": None,
    "14 - 10": None,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text: str) -> None:
    wanted = NUMBERS[text]
    assert [span.value for span in find_number_ranges(text)] == ([wanted] if wanted else [])


def test_sums_with_the_currency_before_or_between() -> None:
    found = [(s.value.amount, s.value.currency) for s in find_money("cad$ 20 and 3 eur million")]
    assert found == [(20, "CAD"), (3_000_000, "EUR")]


def test_measures_and_names_of_things() -> None:
    found = [
        (s.value.number, s.value.unit) for s in find_measures("12 (kg) and 5 feet and 6 inches")
    ]
    assert found == [(12, "kilogram"), (5.5, "foot")]
    assert not find_measures("part 731L90 of abc-12m, together for 3 in may")


@pytest.mark.parametrize("text", ["Arrête mon minuteur", "mon petit chien", "the sun is out"])
def test_short_weekdays_that_are_words(text: str) -> None:
    assert not find_times(text, NOW)
