"""Alarms that come again: ring, missed, skipped, snoozed, paused, put back; old databases."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.errors import SkillError
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import Timer
from assistant.state import APPLICATION_ID, MIGRATIONS, State
from tests.assistant.skills.clocks import FakeClock

LONDON = ZoneInfo("Europe/London")


class Device:
    """A state file, a clock, and a service that dies and comes back."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self.time = FakeClock(datetime(2026, 3, 10, 14, 0, tzinfo=LONDON))
        self.service = Scheduler(State(self.path, self.time.clock))

    def daily(self, hour: int = 7) -> Timer:
        first = datetime(2026, 3, 11, hour, 0, tzinfo=LONDON)
        repeat = Recurrence.starting({"unit": "day"}, first)
        seconds = (first - self.time.wall).total_seconds()
        return self.service.add("7 AM", seconds, first, kind="alarm", repeat=repeat)

    def restart(self) -> None:
        self.service.close()
        self.service = Scheduler(State(self.path, self.time.clock))

    def go_to(self, moment: datetime) -> None:
        here = moment.replace(tzinfo=LONDON).astimezone(UTC)
        self.time.uptime += (here - self.time.wall.astimezone(UTC)).total_seconds()
        self.time.wall = here.astimezone(LONDON)

    def ends(self) -> list[str]:
        return [f"{t.ends.astimezone(LONDON):%d %b %H:%M}" for t in self.service.timers()]


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def test_rings_day_after_day_at_the_same_wall_time(device: Device) -> None:
    series = device.daily()
    for day in range(11, 11 + 25):  # over the change of the clocks on the 29th
        on = date(2026, 3, 1) + timedelta(day - 1)
        device.go_to(datetime(on.year, on.month, on.day, 6, 59, 59))
        assert device.service.due() == ([], [])
        device.time.wait(1)
        (rings,), missed = device.service.due()
        assert (rings.name, rings.kind, rings.series, missed) == ("7 AM", "alarm", series.id, [])
        assert device.service.due() == ([], []), "once"
        assert [t.id for t in device.service.timers()] == [series.id]
        assert device.service.stop_ringing() == [device_ring(rings)]


def device_ring(timer: Timer) -> Timer:
    from dataclasses import replace

    return replace(timer, status="ringing")


def test_off_for_a_week_is_told_once_and_the_series_goes_on(device: Device) -> None:
    device.daily()
    device.time.reboot(7 * 86_400)
    device.restart()
    rings, (missed,) = device.service.due()
    assert (rings, missed.name) == ([], "7 AM")
    assert [t.name for t in device.service.take_missed()] == ["7 AM"]
    assert device.service.take_missed() == []
    assert device.ends() == ["18 Mar 07:00"]


def test_nobody_at_home_for_three_days_is_told_once(device: Device) -> None:
    device.daily()
    for day in (11, 12, 13):
        device.go_to(datetime(2026, 3, day, 7, 0))
        assert len(device.service.due().rings) == 1
        device.time.wait(301)
        assert len(device.service.due().missed) == 1
    (missed,) = device.service.take_missed()
    assert missed.ends.astimezone(LONDON).day == 13
    assert device.ends() == ["14 Mar 07:00"]


def test_killed_while_it_rings_it_rings_on_and_comes_again(device: Device) -> None:
    device.daily()
    device.go_to(datetime(2026, 3, 11, 7, 0))
    assert len(device.service.due().rings) == 1
    device.restart()
    assert len(device.service.due().rings) == 1
    device.service.stop_ringing()
    device.restart()
    assert device.service.due() == ([], [])
    assert device.ends() == ["12 Mar 07:00"]


def test_a_clock_that_was_a_year_ahead_does_not_silence_it_for_a_year(device: Device) -> None:
    device.daily()
    device.time.step(400 * 86_400)
    assert [t.name for t in device.service.due().missed] == ["7 AM"]
    device.time.step(-400 * 86_400)
    assert device.service.due() == ([], [])
    assert device.ends() == ["11 Mar 07:00"]
    device.go_to(datetime(2026, 3, 11, 7, 0))
    assert len(device.service.due().rings) == 1
    assert device.ends() == ["12 Mar 07:00"]


def test_a_clock_that_was_behind_makes_none_missed(device: Device) -> None:
    device.daily()
    device.go_to(datetime(2026, 3, 20, 12, 0))
    device.service.due()
    device.service.take_missed()
    device.time.reboot(600)
    device.time.step(-5 * 86_400)
    device.restart()
    assert device.service.due() == ([], [])
    device.time.step(5 * 86_400)
    assert device.service.due() == ([], [])
    assert device.service.timers("missed") == []
    assert device.ends() == ["21 Mar 07:00"]


def test_another_time_zone_keeps_the_time_of_day(device: Device) -> None:
    device.daily()
    for zone in ("Asia/Tokyo", "America/Los_Angeles", "Europe/London"):
        device.time.wall = device.time.wall.astimezone(ZoneInfo(zone))
        assert device.service.due() == ([], [])
        (timer,) = device.service.timers()
        assert f"{timer.ends.astimezone(ZoneInfo(zone)):%H:%M}" == "07:00"
        assert timer.left <= 86_400


def test_skip_one_day(device: Device) -> None:
    series = device.daily()
    before = device.service.snapshot([series])
    skipped = device.service.skip(series, date(2026, 3, 11))
    assert skipped is not None
    assert device.ends() == ["12 Mar 07:00"]
    skipped = device.service.skip(skipped, date(2026, 3, 14))
    assert device.ends() == ["12 Mar 07:00"], "the next one stays"
    device.go_to(datetime(2026, 3, 13, 7, 0))
    device.service.due()
    assert device.ends() == ["15 Mar 07:00"]
    device.service.restore(before)
    assert device.ends() == ["11 Mar 07:00"]


def test_snooze_while_it_rings_and_shortly_after(device: Device) -> None:
    device.daily()
    device.go_to(datetime(2026, 3, 11, 7, 0))
    assert not device.service.may_snooze()
    device.service.due()
    (snoozed,) = device.service.snooze(540)
    assert snoozed.left == 540
    assert device.service.timers("ringing") == []
    device.time.wait(540)
    assert [t.name for t in device.service.due().rings] == ["7 AM"]
    device.service.stop_ringing()  # as the wake word does
    device.time.wait(10)
    assert device.service.may_snooze()
    assert [t.left for t in device.service.snooze(60)] == [60]
    assert not device.service.may_snooze()
    device.time.wait(60)
    assert len(device.service.due().rings) == 1
    device.service.stop_ringing()
    device.time.wait(300)
    assert not device.service.may_snooze(), "that was long ago"
    assert device.ends() == ["12 Mar 07:00"]


def test_snoozed_survives_a_power_cut(device: Device) -> None:
    device.daily()
    device.go_to(datetime(2026, 3, 11, 7, 0))
    device.service.due()
    device.service.snooze(540)
    device.time.reboot(30)
    device.restart()
    assert device.service.timers()[0].left == pytest.approx(510)


def test_paused_stands_still_through_everything(device: Device) -> None:
    timer = device.service.add("pasta", 600)
    device.time.wait(100)
    (timer,) = device.service.timers()
    paused = device.service.pause(timer)
    assert (paused.left, paused.paused) == (500, True)
    assert device.service.seconds_to_next() is None
    device.time.wait(4000)
    assert device.service.due() == ([], [])
    device.time.reboot(9000)
    device.restart()
    device.service.mark_missed()
    assert device.service.due() == ([], [])
    (paused,) = device.service.timers()
    assert device.service.change(paused, 60).left == 560
    resumed = device.service.resume(device.service.timers()[0])
    assert (resumed.left, resumed.paused) == (560, False)
    device.time.wait(560)
    assert [t.name for t in device.service.due().rings] == ["pasta"]
    with pytest.raises(SkillError, match="ended"):
        device.service.pause(resumed)


def test_put_back_is_as_it_was(device: Device) -> None:
    timer = device.service.add("rice", 600)
    before = device.service.snapshot([timer])
    device.service.remove([timer])
    device.time.wait(60)
    device.service.restore(before)
    assert [(t.id, t.name, t.left) for t in device.service.timers()] == [(timer.id, "rice", 540)]
    nothing = device.service.snapshot([])
    device.service.restore(nothing)
    device.service.restore(type(nothing)((timer.id,), ()))
    assert device.service.timers() == []


def test_timers_are_as_long_as_said_over_the_change_of_the_clocks(device: Device) -> None:
    device.go_to(datetime(2026, 3, 28, 23, 0))
    timer = device.service.add("dough", 4 * 3600)
    device.time.reboot(1)
    device.restart()
    assert device.service.timers()[0].left == 4 * 3600 - 1
    assert timer.ends == datetime(2026, 3, 29, 3, 0, tzinfo=UTC)


def test_database_of_the_first_version_opens(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    db = sqlite3.connect(path)
    db.executescript(MIGRATIONS[0])
    db.execute("PRAGMA user_version = 1")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    due = round(datetime(2026, 3, 10, 15, 0, tzinfo=UTC).timestamp() * 1000)
    for name in ("pasta", "7 AM alarm"):
        db.execute(
            "INSERT INTO timers (name, seconds, due_ms, boot_id, boot_due_ms, status)"
            " VALUES (?, 3600, ?, '', 0, 'pending')",
            (name, due),
        )
    db.commit()
    db.close()
    state = State(path, FakeClock().clock)
    assert state.warnings == []
    kept = Scheduler(state).timers()
    assert [(t.name, t.kind, t.left, t.repeat) for t in kept] == [
        ("pasta", "timer", 3600, None),
        ("7 AM", "alarm", 3600, None),
    ]


def test_migration_that_dies_halfway_is_done_again(tmp_path: Path) -> None:
    """A power cut in the migration leaves the old version, whole."""
    path = tmp_path / "state.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(MIGRATIONS[0])
    db.execute("PRAGMA user_version = 1")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("BEGIN IMMEDIATE")
    db.execute("ALTER TABLE timers ADD COLUMN kind TEXT NOT NULL DEFAULT 'timer'")
    db.close()  # nothing was committed
    state = State(path, FakeClock().clock)
    assert state.warnings == []
    assert Scheduler(state).timers() == []
