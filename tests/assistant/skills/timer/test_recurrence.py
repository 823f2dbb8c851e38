"""What comes again: on which days, and at which wall time on both sides of a change."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assistant.skills.timer.recurrence import Recurrence

LONDON = ZoneInfo("Europe/London")


def days(said: dict[str, Any], first: datetime, count: int) -> list[str]:
    rule = Recurrence.starting(said, first)
    assert Recurrence.from_json(json.loads(json.dumps(rule.to_json()))) == rule
    found, moment = [], first - timedelta(seconds=1)
    for _ in range(count):
        coming = rule.next_after(moment)
        assert coming is not None
        found.append(f"{coming:%a %d %b %H:%M}")
        moment = coming
    return found


START = datetime(2026, 3, 10, 6, 30, tzinfo=LONDON)  # a Tuesday


@pytest.mark.parametrize(
    ("said", "words", "expected"),
    [
        ({"unit": "day"}, "every day", ["Tue 10 Mar 06:30", "Wed 11 Mar 06:30"]),
        ({"unit": "day", "every": 2}, "every 2 days", ["Tue 10 Mar 06:30", "Thu 12 Mar 06:30"]),
        (
            {"unit": "week", "days": [1, 2, 4]},
            "every Tuesday, Wednesday and Friday",
            ["Tue 10 Mar 06:30", "Wed 11 Mar 06:30", "Fri 13 Mar 06:30", "Tue 17 Mar 06:30"],
        ),
        (
            {"unit": "week", "days": [0, 1, 2, 3, 4]},
            "on weekdays",
            [f"{d} Mar 06:30" for d in ("Tue 10", "Wed 11", "Thu 12", "Fri 13", "Mon 16")],
        ),
        (
            {"unit": "week", "every": 2, "days": [1]},
            "every 2 weeks on Tuesday",
            ["Tue 10 Mar 06:30", "Tue 24 Mar 06:30", "Tue 07 Apr 06:30"],
        ),
        (
            {"unit": "month", "day": 31},
            "every month on the 31st",
            ["Tue 31 Mar 06:30", "Thu 30 Apr 06:30", "Sun 31 May 06:30"],
        ),
        (
            {"unit": "month", "days": [1], "place": 2},
            "every month on the 2nd Tuesday",
            ["Tue 10 Mar 06:30", "Tue 14 Apr 06:30"],
        ),
        (
            {"unit": "year", "day": 29, "month": 2},
            "every year on February 29th",
            ["Sun 28 Feb 06:30", "Tue 29 Feb 06:30"],
        ),
        ({"unit": "hour", "every": 5}, "every 5 hours", ["Tue 10 Mar 06:30", "Tue 10 Mar 11:30"]),
    ],
)
def test_rules(said: dict[str, Any], words: str, expected: list[str]) -> None:
    assert days(said, START, len(expected)) == expected
    assert Recurrence.starting(said, START).words() == words


@pytest.mark.parametrize("zone", ["Europe/London", "America/New_York"])
def test_wall_time_is_kept_all_year(zone: str) -> None:
    rule = Recurrence.starting({"unit": "day"}, datetime(2026, 1, 1, 7, 0, tzinfo=ZoneInfo(zone)))
    moment = datetime(2026, 1, 1, 12, 0, tzinfo=ZoneInfo(zone))
    for passed in range(1, 365):
        coming = rule.next_after(moment)
        assert coming is not None
        assert (coming.date() - date(2026, 1, 1)).days == passed
        assert (coming.hour, coming.minute) == (7, 0)
        moment = coming


@pytest.mark.parametrize(
    ("zone", "night", "wall", "rings"),
    [
        # the skipped hour moves on by the gap
        ("Europe/London", (2026, 3, 29), "01:30", "2026-03-29T01:30:00+00:00"),
        ("America/New_York", (2026, 3, 8), "02:15", "2026-03-08T07:15:00+00:00"),
        # the doubled hour counts once, the first time
        ("Europe/London", (2026, 10, 25), "01:30", "2026-10-25T00:30:00+00:00"),
        ("America/New_York", (2026, 11, 1), "01:15", "2026-11-01T05:15:00+00:00"),
    ],
)
def test_hours_that_are_skipped_or_doubled(
    zone: str, night: tuple[int, int, int], wall: str, rings: str
) -> None:
    hour, minute = map(int, wall.split(":"))
    here = ZoneInfo(zone)
    first = datetime(*night, hour, minute, tzinfo=here) - timedelta(days=3)
    rule = Recurrence.starting({"unit": "day"}, first)
    coming = rule.next_after(datetime(*night, 0, 0, tzinfo=here))
    assert coming is not None
    assert coming.astimezone(UTC).isoformat() == rings
    after = rule.next_after(coming)
    assert after is not None
    assert after.date() == date(*night) + timedelta(1), "once a day"
    assert f"{after:%H:%M}" == wall


def test_a_day_that_is_skipped_and_only_that() -> None:
    rule = Recurrence.starting({"unit": "day"}, START).without(date(2026, 3, 11))
    coming = rule.next_after(START)
    assert coming is not None
    assert coming.date() == date(2026, 3, 12)


def test_friday_night_at_one_is_a_saturday() -> None:
    first = datetime(2026, 3, 14, 1, 0, tzinfo=LONDON)
    assert days({"unit": "week", "days": [4]}, first, 2) == ["Sat 14 Mar 01:00", "Sat 21 Mar 01:00"]
