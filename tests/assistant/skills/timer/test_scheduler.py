"""Timers ring once, at their time, whatever happens to process, power and clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assistant.errors import SkillError
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import ALARM
from assistant.state import Clock, State
from tests.assistant.skills.clocks import FakeClock

ROOT = Path(__file__).resolve().parents[4]


class Device:
    """One state file, a clock, and a service that can die and come back."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self.time = FakeClock()
        self.service = self.open()

    def open(self) -> Scheduler:
        """Another process: the service, or a command."""
        return Scheduler(State(self.path, self.time.clock), ring_max_s=300)

    def restart(self) -> None:
        self.service.close()
        self.service = self.open()

    def due(self) -> tuple[list[str], list[str]]:
        rings, missed = self.service.due()
        return [t.name for t in rings], [t.name for t in missed]


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def names(timers: list[Any]) -> list[str]:
    return [timer.name for timer in timers]


def test_rings_at_its_time_and_only_once(device: Device) -> None:
    device.service.add("tea", 180)
    assert device.service.seconds_to_next() == 180
    device.time.wait(179)
    assert device.due() == ([], [])
    device.time.wait(1)
    assert device.due() == (["tea"], [])
    assert device.due() == ([], [])
    assert names(device.service.timers("ringing")) == ["tea"]
    assert names(device.service.stop_ringing()) == ["tea"]
    assert device.service.timers("ringing") == device.service.timers() == []
    assert device.service.seconds_to_next() is None


def test_several_ring_together_and_one_stop_ends_all(device: Device) -> None:
    for name, seconds in (("rice", 61), ("tea", 60), ("bread", 900)):
        device.service.add(name, seconds)
    assert names(device.service.timers()) == ["tea", "rice", "bread"]
    device.time.wait(62)
    assert device.due() == (["tea", "rice"], [])
    assert names(device.service.stop_ringing()) == ["tea", "rice"]
    assert names(device.service.timers()) == ["bread"]


def test_nobody_at_home(device: Device) -> None:
    """It stops after the limit, is kept as missed, and is handed out once."""
    device.service.add("oven", 10)
    device.time.wait(10)
    assert device.due() == (["oven"], [])
    ended = device.time.wall
    device.time.wait(299)
    assert device.due() == ([], [])
    assert device.service.seconds_to_next() == pytest.approx(1)
    device.time.wait(1)
    assert device.due() == ([], ["oven"])
    assert device.service.timers("ringing") == []
    device.time.wait(3600)
    (missed,) = device.service.take_missed()
    assert (missed.name, missed.ends) == ("oven", ended)
    assert device.service.take_missed() == []


def test_three_that_ended_while_it_was_down(device: Device) -> None:
    for name, seconds in (("one", 100), ("two", 200), ("three", 300)):
        device.service.add(name, seconds)
    device.service.add("still on", 7200)
    device.time.reboot(3600)
    device.restart()
    assert device.due() == ([], ["one", "two", "three"])
    assert names(device.service.take_missed()) == ["one", "two", "three"]
    assert device.due() == ([], [])
    assert device.service.take_missed() == []
    assert names(device.service.timers()) == ["still on"]
    assert device.service.timers()[0].left == pytest.approx(3600)


def test_just_over_when_it_comes_back_still_rings(device: Device) -> None:
    device.service.add("eggs", 100)
    device.time.wait(90)
    device.time.reboot(40)
    device.restart()
    assert device.due() == (["eggs"], [])


def test_busy_service_rings_late_rather_than_never(device: Device) -> None:
    device.service.add("eggs", 100)
    assert device.due() == ([], [])
    device.time.wait(100 + 200)
    assert device.due() == (["eggs"], [])
    device.service.stop_ringing()
    device.service.add("toast", 100)
    device.time.wait(8 * 3600)
    assert device.due() == ([], ["toast"]), "it was asleep, not busy"


def test_service_dies_while_it_rings(device: Device) -> None:
    device.service.add("soup", 10)
    device.time.wait(10)
    assert device.due() == (["soup"], [])
    device.time.wait(30)
    device.restart()
    assert device.due() == (["soup"], []), "the new process rings on"
    device.time.wait(310)
    device.restart()
    assert device.due() == ([], ["soup"]), "but not for ever"


def test_two_processes_ring_once(device: Device) -> None:
    other = device.open()
    device.service.add("cake", 5)
    device.time.wait(5)
    assert device.due() == (["cake"], [])
    assert other.due() == ([], [])
    assert names(other.timers("ringing")) == ["cake"], "yet it can be stopped from there"
    assert names(other.stop_ringing()) == ["cake"]
    assert device.service.timers("ringing") == []
    assert device.due() == ([], [])


def test_another_process_takes_over_the_bell(device: Device) -> None:
    other = device.open()
    assert device.due() == ([], [])
    device.service.add("cake", 5)
    device.time.wait(6)
    device.service.close()
    assert names(other.due().rings) == ["cake"]
    assert device.due() == ([], [])


def test_set_by_another_process(device: Device) -> None:
    other = device.open()
    assert device.due() == ([], [])
    other.add("beans", 30)
    device.time.wait(30)
    assert device.due() == (["beans"], [])


@pytest.mark.parametrize("step", [8 * 3600, -8 * 3600, 70 * 86_400])
def test_step_of_the_wall_clock_neither_fires_nor_delays(device: Device, step: int) -> None:
    """A Pi boots with an old time; the network sets it right while timers run."""
    device.service.add("noodles", 600)
    device.time.wait(100)
    device.time.step(step)
    assert device.due() == ([], [])
    assert device.service.timers()[0].left == pytest.approx(500)
    device.restart()
    device.time.wait(499)
    assert device.due() == ([], [])
    device.time.wait(1)
    assert device.due() == (["noodles"], [])


def test_power_cut_after_a_step_keeps_the_corrected_time(device: Device) -> None:
    device.service.add("stew", 3600)
    device.time.step(8 * 3600)
    assert device.due() == ([], [])
    device.time.reboot(600)
    device.restart()
    assert device.service.timers()[0].left == pytest.approx(3000)


def test_boot_with_an_old_clock_then_the_right_one(device: Device) -> None:
    """Nothing ends early while the time is wrong; what was over is missed, the rest runs."""
    device.service.add("short", 600)
    device.service.add("long", 7200)
    device.time.reboot(3600, wall_lost=True)
    device.restart()
    assert device.due() == ([], [])
    device.time.step(3600)
    assert device.due() == ([], ["short"])
    assert device.service.timers()[0].left == pytest.approx(3600)


def test_timer_until_a_time_follows_the_wall_clock(device: Device) -> None:
    until = device.time.wall + timedelta(hours=2)
    device.service.add("news", 7200, until)
    device.time.step(3600)
    assert device.service.timers()[0].left == pytest.approx(3600)
    device.time.wait(3600)
    assert device.due() == (["news"], [])


def test_without_a_clock_since_boot_wall_time_has_to_do(tmp_path: Path) -> None:
    moments = [datetime(2026, 7, 1, 12, 0, tzinfo=UTC)]
    scheduler = Scheduler(State(tmp_path / "s.db", Clock(now=lambda: moments[-1])))
    scheduler.add("tea", 60)
    moments.append(moments[-1] + timedelta(seconds=61))
    assert names(scheduler.due().rings) == ["tea"]


def test_longer_and_shorter(device: Device) -> None:
    timer = device.service.add("ham", 600)
    device.time.wait(60)
    assert device.service.change(timer, 300).left == pytest.approx(840)
    changed = device.service.change(timer, -90)
    assert (changed.seconds, changed.left) == (810, pytest.approx(750))
    device.time.wait(750)
    assert device.due() == (["ham"], [])
    with pytest.raises(SkillError, match="ended"):
        device.service.change(timer, 60)


def test_unheard_while_no_service_runs(device: Device) -> None:
    device.service.close()
    command = device.open()
    command.add("tea", 60)
    device.time.wait(3600)
    command.mark_missed()
    assert names(command.take_missed()) == ["tea"]


WRITER = """
import sys
from assistant.skills.timer.scheduler import Scheduler
from assistant.state import State
scheduler = Scheduler(State(sys.argv[1]))
for i in range(100_000):
    scheduler.add(f"timer {i}", 3600 + i)
    print(i, flush=True)
    if i % 3 == 2:
        scheduler.remove(scheduler.timers()[:1])
"""


def test_kill_nine_loses_no_confirmed_timer(tmp_path: Path) -> None:
    path, begun = tmp_path / "state.db", time.monotonic()
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) == 40:
            break
    writer.send_signal(signal.SIGKILL)
    confirmed = [40, *(int(word) for word in writer.stdout.read().split())]
    writer.stdout.close()
    writer.wait()
    state = State(path)
    assert state.warnings == []
    kept = {timer.name for timer in Scheduler(state).timers()}
    removed = (confirmed[-1] + 1) // 3
    for i in range(removed, confirmed[-1] + 1):
        assert f"timer {i}" in kept
    assert len(kept) - (confirmed[-1] + 1 - removed) in (0, 1), "at most the one being written"
    lefts = [timer.left for timer in Scheduler(state).timers()]
    took = time.monotonic() - begun
    assert all(3590 - took < left < 3600 + confirmed[-1] + 2 for left in lefts)


def test_seven_stays_seven_where_the_device_is_taken(device: Device) -> None:
    device.time.wall = datetime(2026, 5, 4, 22, 0, tzinfo=ZoneInfo("Europe/Lisbon"))
    seven = datetime(2026, 5, 5, 7, 0, tzinfo=ZoneInfo("Europe/Lisbon"))
    device.service.add("7 AM", 32_400, seven, kind=ALARM)
    device.service.add("soup", 3600)
    device.time.wall = device.time.wall.astimezone(ZoneInfo("America/New_York"))
    there = datetime(2026, 5, 5, 7, 0, tzinfo=ZoneInfo("America/New_York"))
    soup, alarm = device.service.timers()
    assert soup.left == 3600
    assert alarm.ends == there
    device.due()
    device.restart()
    assert device.service.timers()[1].ends == there
    device.time.wait((there - device.time.wall).total_seconds())
    assert device.due()[0] == ["7 AM"]
    device.service.snooze(540)
    assert device.due() == ([], [])
    device.time.wait(540)
    assert device.due()[0] == ["7 AM"]


def test_what_was_moved_or_undone_stays_on_the_wall_too(device: Device) -> None:
    device.time.wall = datetime(2026, 5, 4, 22, 0, tzinfo=ZoneInfo("Europe/Lisbon"))
    until = datetime(2026, 5, 5, 7, 0, tzinfo=ZoneInfo("Europe/Lisbon"))
    alarm = device.service.add("7 AM", 32_400, until, kind=ALARM)
    before = device.service.snapshot([alarm])
    device.service.change(alarm, 1800)
    device.time.wall = device.time.wall.astimezone(ZoneInfo("Asia/Tokyo"))
    (moved,) = device.service.timers()
    assert moved.ends.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:%M") == "07:30"
    device.service.restore(before)
    (back,) = device.service.timers()
    assert back.ends.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%H:%M") == "07:00"


def test_of_an_hour_that_comes_twice_the_one_that_was_meant_is_kept(device: Device) -> None:
    zone = ZoneInfo("Europe/Lisbon")
    device.time.wall = datetime(2026, 10, 24, 22, 0, tzinfo=zone)
    for fold in (0, 1):
        until = datetime(2026, 10, 25, 1, 30, fold=fold, tzinfo=zone)
        device.service.add(f"fold {fold}", 3600, until, kind=ALARM)
    first, second = device.service.timers()
    assert (second.ends - first.ends) == timedelta(hours=1)
