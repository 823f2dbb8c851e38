"""One day in every wording: the right answer of each variant follows from how it is built."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from assistant.intent.values.when import find_times

NOW = datetime(2026, 11, 2, tzinfo=UTC)  # a Monday
TODAY = NOW.date()
MONTHS, SHORT = list(calendar.month_name), list(calendar.month_abbr)
WEEKDAYS = list(calendar.day_name)
WORDS = {1: "first", 3: "third", 12: "twelfth", 21: "twenty-first", 30: "thirtieth"}
DAYS = [
    date(1987, 12, 3),
    date(2004, 7, 12),
    date(2019, 3, 21),
    date(2028, 4, 30),
    date(2016, 8, 1),
]


def _st(day: int) -> str:
    return f"{day}{'th' if 4 <= day <= 20 or day == 30 else 'st' if day % 10 == 1 else 'rd'}"


def _with_year(on: date) -> Iterator[str]:
    day, year, month, short = on.day, on.year, MONTHS[on.month], SHORT[on.month]
    name, two = WEEKDAYS[on.weekday()], f"{on.year % 100:02d}"
    for ordinal in (_st(day), WORDS[day]):
        yield from (f"{month} {ordinal}, {year}", f"the {ordinal} of {month} {year}")
        yield from (f"the {ordinal} day of {month}, {year}", f"{ordinal} {month} of {year}")
    yield from (f"{day} {short} {year}", f"{short}. {day}, {year}", f"{short} {day}, '{two}")
    yield from (f"{short}.{day}.{year}", f"{day}.{short}.{year}", f"{day}-{short}-{two}")
    yield from (f"{year} {short} {day}", f"{year} {month} {_st(day)}", f"{year}-{short}-{day:02d}")
    yield from (
        f"{on.month}/{day}/{year}",
        f"{on.month} / {day} / {year}",
        f"{year}.{on.month}.{day}",
    )
    yield from (f"{on.month} - {day} - {year}", f"{on.month}/{day},{year}", on.isoformat())
    yield from (f"{name}, {month} {day}, {year}", f"{name} the {_st(day)} of {month} {year}")


@pytest.mark.parametrize(("text", "on"), [(text, on) for on in DAYS for text in _with_year(on)])
def test_a_day_with_its_year(text: str, on: date) -> None:
    spans = find_times(f"we met {text}.", NOW)
    assert [(span.value.at.date(), span.start) for span in spans] == [(on, 7)]


def _place(first: date, weekday: int, place: int) -> date:
    return first + timedelta((weekday - first.weekday()) % 7 + 7 * (place - 1))


@pytest.mark.parametrize("weekday", range(7))
@pytest.mark.parametrize(("place", "ordinal"), [(1, "first"), (3, "third"), (4, "4th")])
def test_a_weekday_of_a_month(weekday: int, place: int, ordinal: str) -> None:
    name = WEEKDAYS[weekday]
    for text, first in (
        (f"the {ordinal} {name} of June 2028", date(2028, 6, 1)),
        (f"the {ordinal} {name} in May, 2030", date(2030, 5, 1)),
        (f"the {ordinal} {name} of march next year", date(2027, 3, 1)),
        (f"the {ordinal} {name} of the current month", date(2026, 11, 1)),
    ):
        spans = find_times(f"we meet {text}", NOW)
        assert [span.value.at.date() for span in spans] == [_place(first, weekday, place)], text


@pytest.mark.parametrize("weekday", range(7))
def test_a_weekday_of_a_week(weekday: int) -> None:
    name, monday = WEEKDAYS[weekday], TODAY
    for text, weeks in (
        (f"{name}, next week", 1),
        (f"next week - {name}", 1),
        (f"{name} the week after next", 2),
        (f"{name} of the current week", 0),
    ):
        spans = find_times(f"let's meet {text}", NOW)
        found = [span.value.at.date() for span in spans]
        assert found == [monday + timedelta(7 * weeks + weekday)], text


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow, the 3rd", "tomorrow (Nov 3)", "tomorrow, november third",
        "this tuesday the 3rd", "this tuesday, november 3",
    ],
)  # fmt: skip
def test_a_day_with_its_number_after_it_is_one(text: str) -> None:
    assert [s.value.at.date() for s in find_times(f"meet {text}.", NOW)] == [date(2026, 11, 3)]


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("the last day of february", date(2027, 2, 28)),
        ("the last day of February 2028", date(2028, 2, 29)),
        ("the first day of 2028", date(2028, 1, 1)),
        ("the end of 2027", date(2027, 12, 31)),
        ("3 working days ago", date(2026, 10, 28)),
        ("the friday after thanksgiving", date(2026, 11, 27)),
        ("the monday before christmas", date(2026, 12, 21)),
        ("5 business days later", date(2026, 11, 9)),
    ],
)
def test_edges_and_working_days(text: str, on: date) -> None:
    assert [span.value.at.date() for span in find_times(f"pay {text}", NOW)] == [on]


def test_a_short_weekday_before_a_time() -> None:
    found = [span.value.at for span in find_times("tue 8:30am", NOW)]
    assert found == [datetime(2026, 11, 3, 8, 30, tzinfo=UTC)]
    assert find_times("sat next to me", NOW) == []


def test_an_hour_after_a_day_is_no_year() -> None:
    for text, hour in (("1 aug, 16:00", 16), ("june 5, 8 pm", 20), ("2027-05-05 07:30", 7)):
        assert [span.value.at.hour for span in find_times(text, NOW)] == [hour], text


@pytest.mark.parametrize("text", ["hold on one second", "I second that", "give me a second please"])
def test_a_second_is_no_day(text: str) -> None:
    assert find_times(text, NOW) == []


@pytest.mark.parametrize("text", ["from march 16-21", "off april 1-10"])
def test_the_end_of_a_range_of_days_is_no_year_and_no_hour(text: str) -> None:
    assert find_times(text, NOW) == []
