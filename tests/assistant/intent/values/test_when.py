"""Moments: the table, the next occurrence at any instant, and changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from assistant.intent.values.when import find_time, find_times, parse_time

TABLE = yaml.safe_load(
    (Path(__file__).parents[3] / "data" / "times.yaml").read_text(encoding="utf-8")
)
LONDON = ZoneInfo("Europe/London")
NEW_YORK = ZoneInfo("America/New_York")
RBNF = RbnfEngine.for_language("en")


def rows() -> list[Any]:
    return [
        pytest.param(
            datetime.fromisoformat(group["now"]).replace(tzinfo=ZoneInfo(group["zone"])),
            text,
            expected,
            id=f"{group['now']} {text}",
        )
        for group in TABLE
        for text, expected in group["say"].items()
    ]


def test_the_table_is_as_large_as_promised() -> None:
    assert len(rows()) >= 150


@pytest.mark.parametrize(("now", "text", "expected"), rows())
def test_table(now: datetime, text: str, expected: str | None) -> None:
    when = parse_time(text, now)
    if expected is None:
        assert when is None
        return
    assert when is not None
    assert when.at.tzinfo is now.tzinfo
    local = when.at.replace(tzinfo=None)
    if ":" in expected:
        assert when.has_time
        assert local == datetime.fromisoformat(expected)
    else:
        assert when.has_date or "morning" in text
        assert not when.has_time
        assert local.date() == datetime.fromisoformat(expected).date()


@pytest.mark.parametrize(("now", "text", "expected"), rows())
def test_the_same_inside_a_sentence(now: datetime, text: str, expected: str | None) -> None:
    whole = parse_time(text, now)
    if whole is None or whole.at == now:
        return
    lead = "" if text.split()[0] in ("at", "in", "on", "from") else "at "
    if lead and whole.has_date and not text[0].isdigit():
        lead = "on "
    span = find_time(f"wake me {lead}{text}, please", now)
    assert span is not None
    assert span.value == whole


INSTANTS = [
    datetime(2026, 6, 10, 0, 0, tzinfo=LONDON) + timedelta(hours=hours, minutes=minutes)
    for hours, minutes in zip(range(24), [0, 59, 1, 30, 15, 45, 29, 31] * 3, strict=True)
]
CLOCKS = [
    (f"{hour % 12 or 12}{minute}{half}", hour, int(minute[1:] or 0))
    for hour, minute, half in [
        (h, m, " AM" if h < 12 else " p m")
        for h in (0, 1, 6, 9, 11, 12, 13, 15, 20, 23)
        for m in ("", ":05", ":59")
    ]
]


@pytest.mark.parametrize("now", INSTANTS, ids=str)
def test_the_next_occurrence_of_thirty_times(now: datetime) -> None:
    assert len(CLOCKS) == 30
    for text, hour, minute in CLOCKS:
        when = parse_time(text, now)
        assert when is not None, text
        expected = now.replace(hour=hour, minute=minute, second=0)
        if expected <= now:
            expected += timedelta(days=1)
        assert when.at == expected, text


@given(
    now=st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1)),
    hour=st.integers(1, 12),
    minute=st.integers(0, 59),
    wording=st.sampled_from(("digits", "words", "past")),
)
def test_an_open_hour_is_the_nearest_of_the_two(
    now: datetime, hour: int, minute: int, wording: str
) -> None:
    here = now.replace(tzinfo=UTC)
    name, minutes = RBNF.format_number(hour).text, RBNF.format_number(minute).text
    if wording == "digits":
        text = f"{hour}:{minute:02d}"
    elif wording == "words" or not 0 < minute < 31:
        text = name if not minute else f"{name} {'oh ' if minute < 10 else ''}{minutes}"
    else:
        text = f"{minutes} past {name}"
    when = parse_time(text, here)
    assert when is not None, text
    assert timedelta(0) < when.at - here <= timedelta(hours=12)
    assert (when.at.hour % 12, when.at.minute) == (hour % 12, minute)


@given(
    now=st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1), timezones=st.just(NEW_YORK)),
    seconds=st.integers(1, 400_000),
)
def test_a_distance_is_elapsed_time(now: datetime, seconds: int) -> None:
    hours, minutes = divmod(seconds // 60, 60)
    text = f"{hours} hours {minutes} minutes and {seconds % 60} seconds"
    start = now.astimezone(UTC).astimezone(NEW_YORK)
    later, earlier = parse_time(f"in {text}", start), parse_time(f"{text} ago", start)
    assert later is not None
    assert earlier is not None
    assert later.at.astimezone(UTC) - start.astimezone(UTC) == timedelta(seconds=seconds)
    assert start.astimezone(UTC) - earlier.at.astimezone(UTC) == timedelta(seconds=seconds)


def test_a_skipped_time_moves_forward() -> None:
    for zone, now, text in (
        (LONDON, datetime(2026, 3, 29, 0, 30), "1:30 am"),
        (NEW_YORK, datetime(2026, 3, 8, 1, 30), "2:30 am"),
    ):
        when = parse_time(text, now.replace(tzinfo=zone))
        assert when is not None
        assert when.at.astimezone(UTC) - now.replace(tzinfo=zone).astimezone(UTC) == timedelta(
            hours=1
        )


def test_a_doubled_time_is_its_first_occurrence_ahead() -> None:
    # clocks go back at 02:00 to 01:00 on 25 October 2026 in London
    before = datetime(2026, 10, 25, 0, 30, tzinfo=LONDON)
    first = parse_time("1:40 am", before)
    assert first is not None
    assert (first.at.hour, first.at.fold) == (1, 0)
    assert first.at.astimezone(UTC) - before.astimezone(UTC) == timedelta(minutes=70)
    between = datetime(2026, 10, 25, 1, 50, tzinfo=LONDON)
    second = parse_time("1:40 am", between)
    assert second is not None
    assert (second.at.hour, second.at.fold) == (1, 1)
    after = datetime(2026, 10, 25, 1, 50, fold=1, tzinfo=LONDON)
    third = parse_time("1:40 am", after)
    assert third is not None
    assert third.at.date() == datetime(2026, 10, 26).date()


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        (LONDON, datetime(2026, 3, 29)),
        (LONDON, datetime(2026, 10, 25)),
        (NEW_YORK, datetime(2026, 3, 8)),
        (NEW_YORK, datetime(2026, 11, 1)),
    ],
)
@pytest.mark.parametrize("text", ["tomorrow at 7 am", "in two days at 7 am", "7 am", "noon"])
def test_wall_time_is_kept_across_a_change(zone: ZoneInfo, change: datetime, text: str) -> None:
    now = (change - timedelta(days=1)).replace(hour=21, tzinfo=zone)
    when = parse_time(text, now)
    assert when is not None
    assert when.at.hour == (12 if text == "noon" else 7)
    days = 2 if text.startswith("in two") else 1
    assert when.at.date() == (now.replace(tzinfo=None) + timedelta(days)).date()


def test_in_a_day_keeps_the_wall_time_and_24_hours_do_not() -> None:
    now = datetime(2026, 10, 24, 20, 0, tzinfo=LONDON)
    day, hours = parse_time("in a day", now), parse_time("in 24 hours", now)
    assert day is not None
    assert hours is not None
    assert (day.at.hour, hours.at.hour) == (20, 19)


NOW = datetime(2026, 11, 30, 15, 20, tzinfo=LONDON)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("wake me up at 7 please", "7"),
        (
            "set an alarm for half past six tomorrow morning called gym",
            "half past six tomorrow morning",
        ),
        ("remind me at 7 to call mum", "7"),
        ("remind me in 20 minutes to check the oven", "in 20 minutes"),
        ("remind me tomorrow to buy 5 eggs", "tomorrow"),
        ("set alarm seven thirty", "seven thirty"),
        ("alarm 7 30", "7 30"),
        (
            "call the plumber on tuesday at ten to nine in the morning",
            "tuesday at ten to nine in the morning",
        ),
        ("the meeting is on may 5th at noon, remind me", "may 5th at noon"),
        ("set an alarm for the 21st", "21st"),
        ("book it for friday in two weeks and tell anna", "friday in two weeks"),
        ("Wake me at 7 p.m. tomorrow.", "7 p.m. tomorrow"),
    ],
)
def test_found_in_a_sentence(text: str, part: str) -> None:
    span = find_time(text, NOW)
    assert span is not None
    assert text[span.start : span.end].removeprefix("the ") == part


@pytest.mark.parametrize(
    "text",
    [
        "good morning", "good night", "set a timer for 5 minutes", "alarm for 7 people",
        "set it to 7 degrees", "volume to 7", "play seven nation army", "on the first floor",
        "meet between 7 and 8", "from 7 to 8", "at 7 or 8", "monday or tuesday", "one may ask",
        "there are two to four people", "the sun is out", "the second timer", "in the kitchen",
        "first sunday",
        "and three days at five pm", "a timer for ninety second", "half a minute from the two and",
        "at past eight tonight", "do it now",  "march on", "may i go", "turn on lamp 2",
        "5-10 minutes", "two point five",
    ],
)  # fmt: skip
def test_no_moment_in_a_sentence(text: str) -> None:
    assert find_time(text, NOW) is None


def test_several_moments() -> None:
    spans = find_times("alarms at 7 am or 8 am and on friday at noon", NOW)
    assert [str(span.value.at)[:16] for span in spans] == [
        "2026-12-01 07:00",
        "2026-12-01 08:00",
        "2026-12-04 12:00",
    ]


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("alarms for 2 pm and 3 pm", [14, 15]),
        ("one at 12 pm and the next at 6 pm", [12, 18]),
        ("between 2 pm and 3 pm", []),
        ("from 2 pm to 3 pm", []),
        ("monday 3-8", [0]),
    ],
)
def test_a_list_of_times_is_no_range(text: str, hours: list[int]) -> None:
    assert [span.value.at.hour for span in find_times(text, NOW)] == hours


def test_the_day_may_come_first() -> None:
    for day_first, month in ((False, 5), (True, 6)):
        when = parse_time("5/6/2027", NOW, day_first=day_first)
        assert when is not None
        assert when.at.month == month


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        parse_time("noon", datetime(2026, 1, 1))


@given(st.text(max_size=40), st.booleans())
def test_any_text_is_read_or_refused(text: str, day_first: bool) -> None:
    parse_time(text, NOW, day_first=day_first)
    for span in find_times(text, NOW):
        assert 0 <= span.start < span.end <= len(text)


WORDS = (
    "at on in the a an half past to of seven 7 12 30 : pm am - / may friday next week tomorrow or "
    "tonight morning hours minutes ago from now before after second 5th 2026 o'clock noon"
)


@given(st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join))
def test_any_mix_of_its_words_is_read_or_refused(text: str) -> None:
    parse_time(text, NOW)
    find_time(text, NOW)
