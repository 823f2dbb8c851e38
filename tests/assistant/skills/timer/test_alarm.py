"""Alarms: timers that go by a time of day and are called by another name."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

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
    fresh.time = shared.time
    fresh.time.wall = datetime(2026, 3, 10, 14, 0, tzinfo=ZoneInfo("Europe/London"))
    fresh.path = tmp_path / "state.db"
    fresh.restart()
    return fresh


def test_the_next_occurrence_is_read_back(talk: Talk) -> None:
    talk.time.wall = talk.time.wall.replace(hour=11, minute=59)
    assert talk.reply("set an alarm for 1 PM") == "Alarm set for 1 PM, in 1 hour 1 minute."
    assert talk.reply("alarm for 9 AM") == "Alarm set for 9 AM tomorrow, in 21 hours 1 minute."


def test_the_answer_to_for_what_time(talk: Talk) -> None:
    outcome = talk.say("set an alarm")
    assert (outcome.reply, outcome.question) == ("For what time?", True)
    assert talk.reply("seven") == "Alarm set for 7 PM, in 5 hours."


def test_wall_time_is_kept_across_the_change_of_the_clocks(talk: Talk) -> None:
    talk.time.wall = talk.time.wall.replace(day=28, hour=22)  # the clocks go forward that night
    action = talk.say("wake me up at 7 am").action
    assert action is not None
    assert action["due"] == "2026-03-29T06:00:00+00:00"


def test_alarms_and_timers_are_told_apart(talk: Talk) -> None:
    for said in ("set an alarm for 6 am", "set a gym alarm for 5 pm", "set a timer for 8 minutes"):
        talk.say(said)
    assert talk.reply("what timers are set") == "The 8 minute timer has 8 minutes left."
    assert talk.reply("what alarms do I have") == (
        "You have 2 alarms. The gym alarm rings today at 5 PM, in 3 hours. "
        "The 6 AM alarm rings tomorrow, in 16 hours."
    )
    assert talk.reply("cancel all timers") == "8 minute timer cancelled."
    assert talk.reply("cancel the gym alarm") == "Gym alarm cancelled."
    assert talk.reply("turn off the alarm") == "6 AM alarm cancelled."
    assert talk.reply("turn off the alarm") == "No alarms are set."


def test_an_alarm_is_cancelled_by_its_time(talk: Talk) -> None:
    talk.say("set an alarm for 6 am")
    talk.say("set an alarm for 7:30 am")
    assert talk.reply("cancel the 7:30 alarm") == "7:30 AM alarm cancelled."
    assert talk.reply("cancel the 8 am alarm") == "None ends at that time. I have the 6 AM alarm."


def test_a_ringing_timer_may_be_called_an_alarm(talk: Talk) -> None:
    talk.say("set an alarm for tomorrow at noon")
    talk.say("set a timer for 1 minute")
    talk.time.wait(61)
    assert talk.registry.scheduler is not None
    assert len(talk.registry.scheduler.due().rings) == 1
    outcome = talk.say("turn off the alarm")
    assert (outcome.reply, outcome.control) == ("", "stop")
    assert talk.reply("what alarms are set").startswith("The noon alarm rings tomorrow")


@pytest.mark.parametrize(
    ("listed", "cancelled"), [(False, "Soup timer cancelled."), (True, "Rice timer cancelled.")]
)
def test_places_count_as_set_or_as_just_read_out(talk: Talk, listed: bool, cancelled: str) -> None:
    for said in ("rice timer for 9 minutes", "soup timer for 5 minutes"):
        talk.say(f"set a {said}")
    if listed:
        talk.say("what timers are set")
    assert talk.reply("cancel the second timer") == cancelled
    assert talk.reply("cancel the third timer").startswith("There is no 3rd timer.")
