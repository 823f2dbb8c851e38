"""What comes back, on which days and when."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.intent.values.recurrence import find_recurrences, parse_recurrence

NOW = datetime(2026, 3, 25, 9, 45, tzinfo=ZoneInfo("Europe/London"))  # a Wednesday
WORKDAYS, WEEKEND = [0, 1, 2, 3, 4], [5, 6]


def parsed(text: str) -> dict[str, Any] | None:
    return parse_recurrence(text, NOW)


@pytest.mark.parametrize(
    ("text", "days", "at"),
    [
        ("every weekday at 7", WORKDAYS, "07:00"),
        ("weekdays at 6 45 a m", WORKDAYS, "06:45"),
        ("seven on weekdays", WORKDAYS, "07:00"),
        ("Monday to Friday at half past six", WORKDAYS, "06:30"),
        ("every day from monday to thursday at 5 pm", [0, 1, 2, 3], "17:00"),
        ("every working day", WORKDAYS, None),
        ("mondays and wednesdays at eight", [0, 2], "08:00"),
        ("on tuesdays", [1], None),
        ("every monday, wednesday and saturday at quarter to ten", [0, 2, 5], "09:45"),
        ("each sunday evening at 6", [6], "18:00"),
        ("at the weekends at nine thirty", WEEKEND, "09:30"),
        ("weekends", WEEKEND, None),
        ("every day except sunday at 8", [0, 1, 2, 3, 4, 5], "08:00"),
        ("every day but weekends at 8", WORKDAYS, "08:00"),
        ("every weekday in the morning at 7", WORKDAYS, "07:00"),
        ("six in the evening on fridays", [4], "18:00"),
        ("friday through monday at 10", [0, 4, 5, 6], "10:00"),
    ],
)
def test_days_of_the_week(text: str, days: list[int], at: str | None) -> None:
    found = parsed(text)
    assert found is not None
    assert (found["unit"], found["every"], found["days"], found["at"]) == ("week", 1, days, at)


@pytest.mark.parametrize(
    ("text", "unit", "every", "at"),
    [
        ("every day at 7:30 am", "day", 1, "07:30"),
        ("daily at noon", "day", 1, "12:00"),
        ("everyday at three", "day", 1, "15:00"),
        ("every morning at six", "day", 1, "06:00"),
        ("every night at ten", "day", 1, "22:00"),
        ("every evening", "day", 1, None),
        ("every other day at 10", "day", 2, "10:00"),
        ("every third day", "day", 3, None),
        ("every two hours", "hour", 2, None),
        ("every half hour", "minute", 30, None),
        ("every 90 minutes", "minute", 90, None),
        ("hourly", "hour", 1, None),
        ("weekly", "week", 1, None),
        ("once a month", "month", 1, None),
        ("every other week", "week", 2, None),
        ("each year", "year", 1, None),
        ("quarterly", "month", 3, None),
    ],
)
def test_distances(text: str, unit: str, every: int, at: str | None) -> None:
    found = parsed(text)
    assert found is not None
    assert (found["unit"], found["every"], found["days"]) == (unit, every, [])
    assert found["at"] == at


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("every other friday at 5 pm", {"unit": "week", "every": 2, "days": [4], "at": "17:00"}),
        ("every two weeks on monday", {"unit": "week", "every": 2, "days": [0]}),
        ("every month on the 15th at noon", {"unit": "month", "day": 15, "at": "12:00"}),
        ("the first of every month", {"unit": "month", "day": 1}),
        ("the last friday of every month", {"unit": "month", "days": [4], "place": -1}),
        ("every second monday of the month", {"unit": "month", "days": [0], "place": 2}),
        ("every may 5th at 8 am", {"unit": "year", "month": 5, "day": 5, "at": "08:00"}),
        ("june fifth every year", {"unit": "year", "month": 6, "day": 5}),
        ("tuesday afternoons", {"unit": "week", "days": [1]}),
        ("weeknights at 8", {"unit": "week", "days": WORKDAYS, "at": "20:00"}),
        ("semi-annually", {"unit": "month", "every": 6}),
        ("yearly on the 24th of december", {"unit": "year", "month": 12, "day": 24}),
    ],
)
def test_days_of_longer_spans(text: str, wanted: dict[str, Any]) -> None:
    found = parsed(text)
    assert found is not None
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    "text",
    [
        "monday",
        "monday at 7",
        "tomorrow at seven",
        "twice a week",
        "every light",
        "every one",
        "every time",
        "every day at 7 and 9",
        "every evening at 7 am",
        "every two hours at noon",
        "the first of may",
        "weekend",
        "this weekend",
        "two nights",
        "",
    ],
)
def test_what_comes_once_or_is_not_sure_is_none(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("every weekday at 9 am", "2026-03-26T09:00:00+00:00"),
        ("every weekday at 10 am", "2026-03-25T10:00:00+00:00"),
        ("saturdays at 8", "2026-03-28T08:00:00+00:00"),
        ("sundays at 8", "2026-03-29T08:00:00+01:00"),  # the clocks have gone forward
        ("every sunday at 1:30 am", "2026-03-29T02:30:00+01:00"),  # no such time that day
        ("the 31st of every month at noon", "2026-03-31T12:00:00+01:00"),
        ("every night at one", "2026-03-26T01:00:00+00:00"),
        ("every 40 minutes", "2026-03-25T10:25:00+00:00"),
        ("the last friday of each month at 3 pm", "2026-03-27T15:00:00+00:00"),
        ("every february 29th at 9 am", "2028-02-29T09:00:00+00:00"),
        ("every day", None),
    ],
)
def test_the_first_moment(text: str, first: str | None) -> None:
    found = parsed(text)
    assert found is not None
    assert found["first"] == first


def test_a_bare_hour_is_open_and_one_of_the_day() -> None:
    for text, at, is_open in (
        ("every day at 5", "05:00", True),
        ("every day at 4", "16:00", True),
        ("every day at 4 am", "04:00", False),
        ("every evening at 7", "19:00", False),
        ("every day at 19:00", "19:00", False),
    ):
        found = parsed(text)
        assert found is not None
        assert (found["at"], found["open"]) == (at, is_open)


def test_they_are_found_in_sentences() -> None:
    text = "wake me every weekday at seven and on weekends at nine please"
    spans = find_recurrences(text, NOW)
    assert [text[span.start : span.end] for span in spans] == [
        "every weekday at seven",
        "on weekends at nine",
    ]
    for once in ("i worked from monday to friday last week", "a hotel for three nights"):
        assert find_recurrences(once, NOW) == []


WORDS = (
    "every each other second day days week weekday weekdays weekends monday fridays and to at on "
    "the first last of month 7 seven am evening mornings except hours two year daily once a"
)


@given(st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join))
def test_any_mix_of_its_words_is_read_or_refused(text: str) -> None:
    found = parsed(text)
    assert found is None or found["every"] >= 1
    for span in find_recurrences(text, NOW):
        assert 0 <= span.start < span.end <= len(text)


DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@given(
    st.sets(st.integers(0, 6), min_size=1),
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from(("every {}", "{plural}", "on {plural}")),
    st.booleans(),
)
def test_what_is_rendered_is_read_back(
    days: set[int], hour: int, minute: int, form: str, time_first: bool
) -> None:
    names = [DAY_NAMES[day] for day in sorted(days)]
    plural = [f"{name}s" for name in names]

    def listed(words: list[str]) -> str:
        return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])

    on = form.format(listed(names), plural=listed(plural))
    at = f"at {hour:02d}:{minute:02d}"
    found = parsed(f"{at} {on}" if time_first else f"{on} {at}")
    assert found is not None
    assert (found["days"], found["at"]) == (sorted(days), f"{hour:02d}:{minute:02d}")
    first = datetime.fromisoformat(found["first"])
    assert first > NOW
    assert first.weekday() in days
    assert (first - NOW).days <= 7


@pytest.mark.parametrize(
    ("text", "unit", "day", "month"),
    [
        ("every 4th of july", "year", 4, 7),
        ("every july 4th", "year", 4, 7),
        ("each second", "second", None, None),
    ],
)
def test_a_day_of_every_year(text: str, unit: str, day: int | None, month: int | None) -> None:
    found = [span.value for span in find_recurrences(f"blink {text}.", NOW)]
    assert [(one.unit, one.day, one.month) for one in found] == [(unit, day, month)]


def test_groups_of_days_with_a_part_of_the_day() -> None:
    for text, days in (("weekday mornings", [0, 1, 2, 3, 4]), ("weekend mornings", [5, 6])):
        spans = find_recurrences(f"I run {text}", NOW)
        assert [(list(s.value.days), s.value.part) for s in spans] == [(days, "morning")]
    for text in ("semi annually", "biannual", "semi-annual"):
        assert [span.value.every for span in find_recurrences(f"a {text} fee", NOW)] == [6]
