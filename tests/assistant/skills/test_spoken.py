"""How lengths, times and lists are worded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.skills import spoken


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (0.5, "0.5 seconds"),
        (59.96, "1 minute"),
        (60, "1 minute"),
        (90, "1 minute 30 seconds"),
        (3600, "1 hour"),
        (5400, "1 hour 30 minutes"),
        (3661, "1 hour 1 minute 1 second"),
        (90_061, "1 day 1 hour 1 minute 1 second"),
        (2 * 86_400, "2 days"),
    ],
)
def test_length(seconds: float, text: str) -> None:
    assert spoken.length(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 second"),
        (59.7, "1 minute"),
        (272, "4 minutes 32 seconds"),
        (601, "10 minutes"),
        (5429, "1 hour 30 minutes"),
        (3599, "1 hour"),
        (172_740, "1 day 23 hours 59 minutes"),
        (191_520, "2 days 5 hours"),
    ],
)
def test_about(seconds: float, text: str) -> None:
    assert spoken.about(seconds) == text


def test_away_counts_days_of_the_calendar() -> None:
    now = datetime(2026, 3, 10, 22, 15, tzinfo=UTC)
    assert spoken.away(datetime(2026, 3, 10, 23, 20, tzinfo=UTC), now) == "1 hour 5 minutes"
    assert spoken.away(datetime(2026, 3, 12, 9, 0, tzinfo=UTC), now) == "1 day 10 hours 45 minutes"
    assert spoken.away(datetime(2026, 3, 13, 2, 0, tzinfo=UTC), now) == "3 days"
    assert spoken.away(datetime(2026, 3, 20, 23, 0, tzinfo=UTC), now) == "10 days"


def test_ordinals() -> None:
    regular = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 21: "21st", 22: "22nd", 23: "23rd"}
    special = {11: "11th", 12: "12th", 13: "13th", 111: "111th", 30: "30th", 31: "31st"}
    for number, text in (regular | special).items():
        assert spoken.ordinal(number) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 12, 30, 8, tzinfo=UTC), "today"),
        (datetime(2026, 12, 31, 1, tzinfo=UTC), "tomorrow"),
        (datetime(2026, 12, 29, 23, tzinfo=UTC), "yesterday"),
        (datetime(2027, 1, 4, 8, tzinfo=UTC), "on Monday"),
        (datetime(2027, 1, 8, 8, tzinfo=UTC), "on Friday, January 8th, 2027"),
        (datetime(2026, 12, 2, 8, tzinfo=UTC), "on Wednesday, December 2nd"),
    ],
)
def test_day(moment: datetime, text: str) -> None:
    assert spoken.day(moment, datetime(2026, 12, 30, 22, tzinfo=UTC)) == text


def test_listing() -> None:
    assert spoken.listing(["a"]) == "a"
    assert spoken.listing(["a", "b"], "or") == "a or b"
    assert spoken.listing(iter("abc")) == "a, b and c"
