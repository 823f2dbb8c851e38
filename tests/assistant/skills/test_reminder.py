"""Reminders by voice: set, asked back, listed, cancelled, moved, rung, missed, put back."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills.timer.scheduler import Scheduler
from assistant.state import State
from tests.assistant.skills.talk import Talk

ROOT = Path(__file__).resolve().parents[3]


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


def scheduler(talk: Talk) -> Scheduler:
    assert talk.registry.scheduler is not None
    return talk.registry.scheduler


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("remind me to ring the vet at six", "I'll remind you at 6 PM, in 4 hours: ring the vet."),
        (
            "remind me in an hour to turn the soup off",
            "I'll remind you in 1 hour: turn the soup off.",
        ),
        (
            "remind me tomorrow at noon to post the letter",
            "I'll remind you at noon tomorrow, in 22 hours: post the letter.",
        ),
        (
            "remind me every thursday at seven in the evening to put the bins out",
            "I'll remind you every Thursday at 7 PM, next on Thursday: put the bins out.",
        ),
        (
            "remind me to drink water every two hours",
            "I'll remind you every 2 hours, next at 4 PM: drink water.",
        ),
    ],
)
def test_confirmation_reads_back(talk: Talk, said: str, reply: str) -> None:
    outcome = talk.say(said)
    assert outcome.reply == reply
    assert outcome.action is not None
    assert outcome.action["skill"] == "reminder"


def test_asks_what_and_when_and_takes_the_bare_answer(talk: Talk) -> None:
    assert talk.say("remind me").question
    assert talk.reply("to water the plants") == "When should I remind you?"
    assert talk.reply("tomorrow morning") == (
        "I'll remind you at 9 AM tomorrow, in 19 hours: water the plants."
    )
    assert talk.reply("remind me at five") == "What should I remind you of?"
    assert talk.reply("feed the cat").endswith("at 5 PM, in 3 hours: feed the cat.")
    assert talk.reply("remind me on friday to pay the plumber") == "At what time?"
    assert talk.reply("at half past nine") == (
        "I'll remind you at 9:30 AM on Friday, in 3 days: pay the plumber."
    )
    assert talk.reply("remind me every monday to back up the photos") == "At what time?"
    assert talk.reply("eight") == (
        "I'll remind you every Monday at 8 AM, next on Monday: back up the photos."
    )


def test_courtesy_that_belongs_to_the_task_stays(talk: Talk) -> None:
    for said in ("remind me at five to say thank you", "please remind me at five to say thank you"):
        assert talk.reply(said).endswith(": say thank you.")


@pytest.mark.parametrize(
    "said",
    ["what time is it", "never mind", "how are you", "set a timer for five minutes", "who are you"],
)
def test_another_topic_is_no_answer_to_what(talk: Talk, said: str) -> None:
    talk.say("remind me at five")
    assert talk.registry.complete(talk.expects, said) is None


def test_talk_is_no_answer_to_when(talk: Talk) -> None:
    talk.say("remind me to dance")
    for said in ("why is the sky blue", "I like it", "the red one"):
        assert talk.registry.complete(talk.expects, said) is None


def house(talk: Talk) -> None:
    talk.say("remind me at five to call mum")
    talk.say("remind me to take out the bins every friday at eight")
    talk.say("remind me tomorrow at ten to call the bank")


def test_list(talk: Talk) -> None:
    assert talk.reply("what are my reminders") == "You have no reminders."
    house(talk)
    assert talk.reply("what are my reminders") == (
        "You have 3 reminders. At 5 PM today: call mum. At 10 AM tomorrow: call the bank."
        " Every Friday at 8 AM, next on Friday: take out the bins."
    )
    assert talk.reply("what reminders do I have for tomorrow") == (
        "You have 1 reminder tomorrow. At 10 AM tomorrow: call the bank."
    )
    assert talk.reply("do I have a reminder about the bins").startswith("You have 1 reminder")
    assert talk.reply("do I have a reminder about the goat") == (
        "You have no reminders about the goat."
    )


def test_cancel_by_what_it_is_about(talk: Talk) -> None:
    house(talk)
    assert talk.reply("cancel the reminder about the bins") == (
        "Reminder cancelled: take out the bins."
    )
    outcome = talk.say("cancel the reminder about the goat")
    assert (outcome.ok, outcome.action) == (False, None)
    assert "the goat" in outcome.reply
    assert talk.reply("cancel my reminder") == "Which one: call mum or call the bank?"
    assert talk.reply("the bank one") == "Reminder cancelled: call the bank."
    assert talk.reply("delete all my reminders") == "Reminder cancelled: call mum."
    assert talk.reply("cancel my reminder") == "You have no reminders."


def test_a_timer_is_not_a_reminder(talk: Talk) -> None:
    talk.say("set a timer for 5 minutes")
    talk.say("remind me in 10 minutes to stretch")
    assert talk.reply("what timers are set") == "The 5 minute timer has 5 minutes left."
    assert talk.reply("cancel all timers") == "5 minute timer cancelled."
    assert "stretch" in talk.reply("what are my reminders")
    assert talk.reply("cancel all alarms") == "No alarms are set."


def test_moved_keeps_its_day(talk: Talk) -> None:
    talk.say("remind me to see the dentist on monday at 3 pm")
    assert talk.reply("move the reminder about the dentist to 4 pm").startswith(
        "I'll remind you at 4 PM on Monday"
    )
    assert talk.reply("move the dentist reminder to tuesday").startswith(
        "I'll remind you at 4 PM on Tuesday"
    )


def revise(talk: Talk, last: str, said: str) -> Intent | None:
    intent = talk.grammar.understand(last)
    assert intent is not None
    talk.say(last)
    return talk.registry.revise(intent, said, talk.turn(said))


@pytest.mark.parametrize(
    ("last", "said", "slots"),
    [
        (
            "remind me to call mum at five",
            "make it six",
            {"text": "call mum", "until": "2026-03-10T18:00:00+00:00"},
        ),
        (
            "remind me to call mum at five",
            "no, tomorrow",
            {"text": "call mum", "until": "2026-03-11T17:00:00+00:00", "repeat": {}},
        ),
        (
            "remind me in ten minutes to stir",
            "make it twenty",
            {"text": "stir", "duration": 1200},
        ),
        (
            "remind me at five to call mum",
            "and to buy flowers",
            {"text": "buy flowers", "until": "2026-03-10T17:00:00+00:00"},
        ),
    ],
)
def test_revise(talk: Talk, last: str, said: str, slots: dict[str, object]) -> None:
    intent = revise(talk, last, said)
    assert intent is not None
    assert (intent.name, intent.slots) == ("reminder.set", slots)


@pytest.mark.parametrize("said", ["why", "that is nice", "five minutes", "no, thank you", "great"])
def test_talk_revises_nothing(talk: Talk, said: str) -> None:
    assert revise(talk, "remind me to call mum at five", said) is None


def test_undo(talk: Talk) -> None:
    talk.say("remind me to call mum at five")
    talk.say("undo that")
    assert talk.reply("what are my reminders") == "You have no reminders."
    house(talk)
    talk.say("cancel the reminder about the bins")
    talk.say("undo that")
    assert talk.reply("what are my reminders").startswith("You have 3 reminders")


def test_rings_and_comes_again(talk: Talk) -> None:
    talk.say("remind me to stand up every hour")
    for _ in range(3):
        talk.time.wait(3600)
        (ring,) = scheduler(talk).due().rings
        assert (ring.name, ring.kind) == ("stand up", "reminder")
        assert talk.say("stop").control == "stop"
        assert scheduler(talk).due() == ([], [])


def test_missed_ones_are_told_once(talk: Talk) -> None:
    talk.say("remind me to call mum at five")
    talk.say("set a timer for 10 minutes")
    talk.time.reboot(86_400)
    talk.restart()
    assert sorted(talk.registry.notices(talk.turn())) == [
        "You missed a reminder at 5 PM yesterday: call mum.",
        "You missed the 10 minute timer: it ended at 2:10 PM yesterday.",
    ]
    assert talk.registry.notices(talk.turn()) == []


def test_past_and_far_future_are_refused(talk: Talk) -> None:
    assert not talk.say("remind me today at 9 am to get up").ok
    assert not talk.say("remind me in 20 years to smile").ok
    assert talk.reply("what are my reminders") == "You have no reminders."


WRITER = """
import sys
from assistant.skills.timer.scheduler import Scheduler
from assistant.state import State
scheduler = Scheduler(State(sys.argv[1]))
for i in range(100_000):
    scheduler.add(f"thing {i}", 3600 + i, kind="reminder")
    print(i, flush=True)
"""


def test_kill_nine_loses_no_confirmed_reminder(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) == 20:
            break
    writer.send_signal(signal.SIGKILL)
    last = max([20, *(int(word) for word in writer.stdout.read().split())])
    writer.stdout.close()
    writer.wait()
    state = State(path)
    kept = {timer.name for timer in Scheduler(state).timers(kind="reminder")}
    assert kept >= {f"thing {i}" for i in range(last + 1)}


def test_without_the_timers_reminders_still_ring_and_stop(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Config.model_validate({"skills": {"timer": {"enabled": False}}}))
    talk.say("remind me in ten minutes to stretch")
    talk.time.wait(600)
    assert [t.name for t in scheduler(talk).due().rings] == ["stretch"]
    assert talk.say("stop").control == "stop"
    assert scheduler(talk).timers("ringing") == []
