"""Alarms: timers that go by a time of day and are called by another name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.config import Config
from assistant.intent.followup import followup
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


def test_a_time_that_the_change_skips_is_that_of_the_other_days(talk: Talk) -> None:
    talk.time.wall = talk.time.wall.replace(day=28, hour=22)
    assert talk.reply("set an alarm for half past one every morning").startswith(
        "Alarm set for 1:30 AM every day, next tomorrow, in 3 hours"
    )
    (timer,) = talk.registry.scheduler.timers()  # type: ignore[union-attr]
    assert timer.ends.isoformat() == "2026-03-29T01:30:00+00:00"
    assert timer.repeat is not None
    coming = timer.repeat.next_after(talk.time.wall + timedelta(days=1))
    assert coming is not None
    assert coming.isoformat() == "2026-03-30T01:30:00+01:00"


def test_an_alarm_is_named_by_how_often_it_comes(talk: Talk) -> None:
    for said in ("wake me at seven on weekdays", "set an alarm for 9 am at weekends"):
        talk.say(said)
    assert talk.reply("skip the weekday alarm").startswith("The 7 AM alarm skips tomorrow.")
    assert talk.reply("cancel the weekend alarm") == "9 AM alarm cancelled."
    assert talk.reply("delete my daily alarm") == (
        "There is no alarm called daily. I have the 7 AM alarm."
    )


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


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (
            "set an alarm for 6:30 every monday and thursday",
            "Alarm set for 6:30 AM every Monday and Thursday, next on Thursday,"
            " in 1 day 16 hours 30 minutes.",
        ),
        (
            "wake me at seven on weekdays",
            "Alarm set for 7 AM on weekdays, next tomorrow, in 17 hours.",
        ),
        ("set a daily alarm for 7", "Alarm set for 7 AM every day, next tomorrow, in 17 hours."),
        (
            "set a daily alarm for 7 pm",
            "Alarm set for 7 PM every day, next today, in 5 hours.",
        ),
        (
            "set a gym alarm for 9 am on saturdays",
            "Gym alarm set for 9 AM every Saturday, next on Saturday, in 4 days.",
        ),
        (
            "set an alarm for 3 pm and another one for 5 pm",
            "2 alarms set: 3 PM, in 1 hour and 5 PM, in 3 hours.",
        ),
    ],
)
def test_alarms_that_come_again_are_read_back(talk: Talk, said: str, reply: str) -> None:
    assert talk.reply(said) == reply


def test_a_rule_without_a_time_is_asked_for_it(talk: Talk) -> None:
    assert talk.reply("set an alarm every weekday") == "For what time?"
    assert talk.reply("half past six") == (
        "Alarm set for 6:30 AM on weekdays, next tomorrow, in 16 hours 30 minutes."
    )


def test_list_says_the_days(talk: Talk) -> None:
    talk.say("wake me at seven on weekdays")
    talk.say("set an alarm for 9 am on sundays called church")
    assert talk.reply("what alarms do I have") == (
        "You have 2 alarms. The 7 AM alarm rings on weekdays, next tomorrow, in 17 hours."
        " The church alarm rings every Sunday at 9 AM, next on Sunday, in 5 days."
    )
    assert talk.reply("do I have an alarm set for sunday").startswith("The church alarm")
    assert talk.reply("what alarms do I have for saturday") == "No alarms are set for Saturday."


def ring(talk: Talk, hour: int, minute: int = 0, day: int = 11) -> list[str]:
    there = talk.time.wall.replace(day=day, hour=hour, minute=minute)
    talk.time.wait((there - talk.time.wall).total_seconds())
    assert talk.registry.scheduler is not None
    return [timer.name for timer in talk.registry.scheduler.due().rings]


def test_snooze(talk: Talk) -> None:
    talk.say("wake me up every morning at seven")
    assert talk.reply("snooze") == "Nothing is ringing."
    assert ring(talk, 7) == ["7 AM"]
    outcome = talk.say("snooze")
    assert (outcome.reply, outcome.control) == ("Snoozed for 9 minutes.", "stop")
    assert ring(talk, 7, 8) == []
    assert ring(talk, 7, 9) == ["7 AM"]
    assert talk.reply("five more minutes") == "Snoozed for 5 minutes."
    assert ring(talk, 7, 14) == ["7 AM"]
    talk.say("stop")
    assert talk.reply("snooze for ten minutes") == "Snoozed for 10 minutes."
    assert ring(talk, 7, 24) == ["7 AM"]
    assert talk.say("stop").control == "stop"
    assert ring(talk, 7, 0, day=12) == ["7 AM"], "the series goes on"


def test_snooze_is_as_long_as_set(shared: Talk, tmp_path: Path) -> None:
    talk = Talk(tmp_path, Config.model_validate({"skills": {"timer": {"snooze_min": 3}}}))
    talk.say("set a timer for one minute")
    talk.time.wait(60)
    assert talk.registry.scheduler is not None
    talk.registry.scheduler.due()
    assert talk.reply("snooze") == "Snoozed for 3 minutes."


@pytest.mark.parametrize("ask", ["skip tomorrow's alarm", "don't wake me tomorrow"])
def test_one_occurrence_is_skipped(talk: Talk, ask: str) -> None:
    talk.say("wake me at seven every day")
    assert talk.reply(ask) == "The 7 AM alarm skips tomorrow. It rings next on Thursday."
    assert ring(talk, 7) == []
    assert ring(talk, 7, day=12) == ["7 AM"]


def test_skip_asks_which_and_knows_the_days(talk: Talk) -> None:
    talk.say("wake me at seven on weekdays")
    talk.say("wake me at nine every day")
    assert talk.reply("skip the alarm on saturday") == (
        "The 9 AM alarm skips Saturday. It rings next tomorrow."
    )
    assert talk.reply("skip tomorrow's alarm") == "Which one: the 7 AM alarm or the 9 AM alarm?"
    assert talk.reply("the nine one").startswith("The 9 AM alarm skips tomorrow.")
    assert talk.reply("undo that") == "9 AM alarm is as it was."
    assert talk.reply("skip the alarm on sunday").startswith("The 9 AM alarm skips Sunday.")
    talk.say("cancel all alarms")
    talk.say("set an alarm for tomorrow at 8 am")
    assert talk.reply("cancel the alarm for tomorrow") == "8 AM alarm cancelled."
    assert not talk.say("skip tomorrow's alarm").ok


def test_the_whole_series_is_cancelled(talk: Talk) -> None:
    talk.say("wake me at seven every day")
    assert talk.reply("cancel the alarm") == "7 AM alarm cancelled."
    assert ring(talk, 7) == []
    assert talk.reply("what alarms are set") == "No alarms are set."


def test_missed_while_off_is_told_once_and_the_series_goes_on(talk: Talk) -> None:
    talk.say("wake me at seven every day")
    talk.time.reboot(3 * 86_400)
    talk.restart()
    assert talk.registry.notices(talk.turn()) == [
        "You missed the 7 AM alarm: it ended at 7 AM on Wednesday, March 11th."
    ]
    assert talk.registry.notices(talk.turn()) == []
    assert talk.reply("what alarms do I have").startswith("The 7 AM alarm rings every day")


def test_moved(talk: Talk) -> None:
    talk.say("set an alarm for friday at 7 am")
    assert talk.reply("move my alarm to 8") == ("Alarm changed to 8 AM on Friday, in 3 days.")
    assert talk.reply("change my 8 am alarm to saturday").startswith(
        "Alarm changed to 8 AM on Saturday"
    )
    assert talk.reply("change the alarm to half past six on weekdays").startswith(
        "Alarm changed to 6:30 AM on weekdays"
    )
    assert talk.reply("move the alarm to 6 am").startswith("Alarm changed to 6 AM on weekdays")
    assert talk.reply("change my alarm") == "For what time?"
    assert talk.reply("five a m").startswith("Alarm changed to 5 AM on weekdays")


def revised(talk: Talk, *said: str) -> str:
    """As the dialogue does it: what replaces the last command takes it back first."""
    first, *rest = said
    last = talk.grammar.understand(first)
    assert last is not None
    outcome = talk.say(first)
    for text in rest:
        intent = talk.registry.revise(last, text, talk.turn(text))
        assert intent is not None, text
        follow = followup(text)
        same = follow.kind == "correct" and (follow.denies or intent.name == last.name)
        if same and outcome.undo and not talk.registry.overrides(last, intent):
            outcome.undo()
        last, outcome = intent, talk.registry.handle(intent, talk.turn(text))
    return outcome.reply


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        (["set a timer for ten minutes", "make it twenty"], "Timer set for 20 minutes."),
        (["set a timer for ten minutes", "no, fifteen minutes"], "Timer set for 15 minutes."),
        (["set a timer for 2 hours", "make that 3"], "Timer set for 3 hours."),
        (["set a timer for ten minutes", "and another one for pasta"], None),
        (["set a timer for ten minutes", "another one for 20 minutes"], "Timer set for 20 min"),
        (["set a timer for ten minutes", "and another for six"], "Timer set for 6 minutes."),
        (["set a timer for ten minutes", "five minutes longer"], None),
        (["set a timer for ten minutes", "call it soup"], "The 10 minute timer is now the soup"),
        (["wake me at seven tomorrow morning", "make it eight"], "Alarm set for 8 AM tomorrow"),
        (["wake me at 7 am", "make it every day"], "Alarm set for 7 AM every day"),
        (["wake me at 7 am", "on weekdays"], "Alarm changed to 7 AM on weekdays"),
        (["wake me at seven every day", "no, just once"], "Alarm set for 7 AM tomorrow, in"),
        (["wake me at 7 am", "and another one at eight"], "Alarm set for 8 AM tomorrow"),
        (["set a rice timer for ten minutes", "pause it"], "Rice timer paused with 10 minutes"),
        (["set a rice timer for ten minutes", "no, ice"], "The rice timer is now the ice timer."),
    ],
)
def test_what_hangs_on_the_turn_before(talk: Talk, said: list[str], reply: str | None) -> None:
    last = revised(talk, *said)
    if reply is not None:
        assert last.startswith(reply)
    timers = talk.registry.scheduler.timers() if talk.registry.scheduler else []
    assert len(timers) == (2 if "another" in said[-1] else 1)


@pytest.mark.parametrize(
    "text",
    ["thanks", "why", "five minutes", "that is a nice name", "no, thank you", "and then what",
     "no, I don't like that", "what about you", "another beer", "make it so"],
)  # fmt: skip
def test_talk_after_a_timer_changes_nothing(talk: Talk, text: str) -> None:
    last = talk.grammar.understand("set a timer for ten minutes")
    assert last is not None
    talk.say("set a timer for ten minutes")
    assert talk.registry.revise(last, text, talk.turn(text)) is None


def test_what_was_just_asked_about_is_it(talk: Talk) -> None:
    talk.say("set a rice timer for ten minutes")
    talk.say("set an egg timer for five minutes")
    last = talk.grammar.understand("how much time is left on the rice timer")
    assert last is not None
    talk.say("how much time is left on the rice timer")
    intent = talk.registry.revise(last, "cancel that one", talk.turn())
    assert intent is not None
    assert talk.registry.handle(intent, talk.turn()).reply == "Rice timer cancelled."
    talk.say("set a timer for 9 minutes")
    last = talk.grammar.understand("what timers are set")
    assert last is not None
    talk.say("what timers are set")
    intent = talk.registry.revise(last, "cancel both", talk.turn())
    assert intent is not None
    assert talk.registry.handle(intent, talk.turn()).reply == "2 timers cancelled."


def test_pause_and_resume(talk: Talk) -> None:
    talk.say("set a pasta timer for 10 minutes")
    talk.say("set a rice timer for 20 minutes")
    talk.time.wait(60)
    assert talk.reply("pause the pasta timer") == "Pasta timer paused with 9 minutes left."
    assert talk.reply("pause the pasta timer") == "The pasta timer is already paused."
    talk.time.wait(600)
    assert talk.reply("how much time is left on the pasta timer") == (
        "The pasta timer is paused with 9 minutes left."
    )
    assert talk.reply("resume the timer") == "Pasta timer goes on with 9 minutes left."
    assert talk.reply("pause the timer").startswith("Which one")
    assert talk.reply("both") == "2 timers paused."
    assert talk.reply("undo that") == "2 timers run again."
    assert talk.reply("resume all timers").endswith("is not paused.")


def test_change_and_rename_timers(talk: Talk) -> None:
    talk.say("set a pasta timer for 10 minutes")
    assert talk.reply("change the pasta timer to 12 minutes") == (
        "Pasta timer changed to 12 minutes."
    )
    assert talk.reply("rename the pasta timer to noodles") == (
        "The pasta timer is now the noodles timer."
    )
    assert not talk.say("rename the quiche timer to pie").ok
    assert talk.reply("undo that") == "Noodles timer is as it was."
    assert talk.reply("what timers are set") == "The pasta timer has 12 minutes left."


@pytest.mark.parametrize(
    ("do", "after"),
    [
        ("set a timer for 5 minutes", "The pasta timer has 10 minutes left."),
        ("cancel the pasta timer", "The pasta timer has 10 minutes left."),
        ("add five minutes to the timer", "The pasta timer has 10 minutes left."),
        ("take five minutes off the timer", "The pasta timer has 10 minutes left."),
        ("pause the timer", "The pasta timer has 10 minutes left."),
        ("change the timer to 3 minutes", "The pasta timer has 10 minutes left."),
    ],
)
def test_undo(talk: Talk, do: str, after: str) -> None:
    talk.say("set a pasta timer for 10 minutes")
    talk.say(do)
    assert talk.say("undo that").ok
    assert talk.reply("what timers are set") == after


@pytest.mark.parametrize("zone", ["Europe/London", "America/New_York"])
def test_the_next_occurrence_at_any_instant(talk: Talk, zone: str) -> None:
    """Whatever the time is: the first moment ahead with that time on the wall."""
    here = ZoneInfo(zone)
    phrases = [("1 pm", 13, 0), ("9 am", 9, 0), ("12:05 am", 0, 5), ("23:59", 23, 59)]
    for hour in range(24):
        for minute in (0, 59):
            now = datetime(2026, 3, 28 if zone.startswith("E") else 7, hour, minute, tzinfo=here)
            talk.time.wall = now
            for phrase, wall_hour, wall_minute in phrases:
                intent = talk.grammar.understand(f"set an alarm for {phrase}")
                assert intent is not None
                due = datetime.fromisoformat(intent.slots["until"])
                expected = now.replace(hour=wall_hour, minute=wall_minute)
                if expected.astimezone(UTC) <= now.astimezone(UTC):
                    expected += timedelta(1)
                assert due.astimezone(UTC) == expected.astimezone(UTC), (phrase, now)


def test_the_length_of_the_wait_is_right_over_the_change(talk: Talk) -> None:
    talk.time.wall = datetime(2026, 3, 28, 22, 0, tzinfo=ZoneInfo("Europe/London"))
    assert talk.reply("wake me up at 7 am") == "Alarm set for 7 AM tomorrow, in 8 hours."
