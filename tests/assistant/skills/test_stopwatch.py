"""The stopwatch: exact within a boot, through restarts and corrections of the clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("talk"))


@pytest.fixture
def talk(shared: Talk, tmp_path: Path) -> Talk:
    """A fresh device; only the compiled sentences are shared."""
    fresh = Talk.__new__(Talk)
    fresh.__dict__.update(shared.__dict__)
    fresh.time = type(shared.time)()
    fresh.path = tmp_path / "state.db"
    fresh.restart()
    return fresh


def test_start_lap_stop_go_on_reset(talk: Talk) -> None:
    assert not talk.say("stop the stopwatch").ok
    assert talk.reply("start the stopwatch") == "Stopwatch started."
    talk.time.wait(12.34)
    assert talk.reply("what's on the stopwatch") == "The stopwatch is at 12.3 seconds."
    assert talk.reply("lap") == "Lap 1: 12.3 seconds."
    talk.time.wait(60)
    assert talk.reply("lap") == "Lap 2: 1 minute, 1 minute 12 seconds in all."
    assert talk.reply("start the stopwatch") == (
        "The stopwatch is already running: 1 minute 12 seconds."
    )
    outcome = talk.say("stop the stopwatch")
    assert outcome.reply == "Stopped at 1 minute 12 seconds."
    assert outcome.action == {"skill": "stopwatch", "do": "stop", "seconds": 72.3}
    talk.time.wait(1000)
    assert talk.reply("check the stopwatch") == "The stopwatch is stopped at 1 minute 12 seconds."
    assert not talk.say("lap").ok
    assert talk.reply("resume the stopwatch") == "Stopwatch started again at 1 minute 12 seconds."
    talk.time.wait(8)
    assert talk.reply("reset the stopwatch") == "Stopwatch reset, it was at 1 minute 20 seconds."
    assert not talk.say("lap").ok


def test_a_restart_of_the_service_changes_nothing(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(30)
    talk.restart()
    talk.time.wait(30)
    assert talk.reply("check the stopwatch") == "The stopwatch is at 1 minute."


@pytest.mark.parametrize("step", [3600, -3600])
def test_correction_of_the_wall_clock_changes_nothing(talk: Talk, step: int) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(30)
    talk.time.step(step)
    talk.time.wait(30)
    assert talk.reply("check the stopwatch") == "The stopwatch is at 1 minute."


def test_it_counts_on_through_a_power_cut(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(30)
    talk.time.reboot(90)
    talk.restart()
    assert talk.reply("check the stopwatch") == "The stopwatch is at 2 minutes."


def test_a_clock_that_lost_its_time_never_counts_backwards(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(30)
    talk.say("stop the stopwatch")
    talk.say("start the stopwatch")
    talk.time.reboot(90, wall_lost=True)
    talk.time.step(-86_400)
    talk.restart()
    assert talk.reply("check the stopwatch") == "The stopwatch is at 30 seconds."


def test_stopped_stands_still_through_a_reboot(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(5)
    talk.say("stop the stopwatch")
    talk.time.reboot(900)
    talk.restart()
    assert talk.reply("check the stopwatch") == "The stopwatch is stopped at 5 seconds."


def test_undo(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(10)
    talk.say("reset the stopwatch")
    talk.time.wait(5)
    assert talk.reply("undo that") == "The stopwatch is as it was."
    assert talk.reply("check the stopwatch") == "The stopwatch is at 15 seconds."


def test_restart_from_zero(talk: Talk) -> None:
    talk.say("start the stopwatch")
    talk.time.wait(10)
    assert talk.reply("restart the stopwatch") == "Stopwatch started from zero."
    talk.time.wait(3)
    assert talk.reply("check the stopwatch") == "The stopwatch is at 3 seconds."
