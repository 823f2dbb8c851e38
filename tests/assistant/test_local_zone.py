"""The device's zone, on both sides of the changes of the clocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assistant.local_zone import LocalZone
from assistant.state import Clock


@pytest.fixture(params=["Europe/London", "America/New_York", "Australia/Lord_Howe", "UTC"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_a_year_of_half_hours_as_in_the_tables(zone: str) -> None:
    ours, theirs = LocalZone(), ZoneInfo(zone)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    while moment.year == 2026:
        here, there = moment.astimezone(ours), moment.astimezone(theirs)
        assert here.replace(tzinfo=None) == there.replace(tzinfo=None)
        assert (here.fold, here.utcoffset()) == (there.fold, there.utcoffset())
        assert here.astimezone(UTC) == moment
        moment += timedelta(minutes=30)


def test_the_clock_of_the_device_knows_the_other_side_of_the_change(zone: str) -> None:
    now = Clock.system().now()
    summer, winter = now.replace(month=7, day=1, hour=12), now.replace(month=1, day=1, hour=12)
    for wall in (summer, winter):
        assert wall.utcoffset() == wall.replace(tzinfo=ZoneInfo(zone)).utcoffset()
