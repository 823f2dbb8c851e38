"""Time and date, as a person says them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills.base import TurnContext
from assistant.skills.clock.skill import ClockSkill
from assistant.state import State
from tests.assistant.skills.talk import Talk


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.db")


def ask(state: State, now: datetime, name: str, *, twenty_four: bool = False, **slots: str) -> str:
    cfg = Config.model_validate({"skills": {"clock": {"twenty_four_hour": twenty_four}}})
    skill = ClockSkill(cfg, state)
    return skill.handle(Intent(name, dict(slots)), TurnContext(lambda: now, state)).reply


def test_until_a_month(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.reply("how many weeks until april") == (
        "There are 3 weeks and 1 day until Wednesday, April 1st."
    )
    assert talk.reply("how long until may") == "There are 52 days until Friday, May 1st."
    assert talk.grammar.understand("how many days until maybe") is None


ZONE = ZoneInfo("Europe/London")


@pytest.mark.parametrize(
    ("hour", "minute", "twelve", "twenty_four"),
    [
        (0, 0, "It's midnight.", "It's 0:00."),
        (0, 5, "It's 12:05 AM.", "It's 0:05."),
        (9, 30, "It's 9:30 AM.", "It's 9:30."),
        (12, 0, "It's noon.", "It's 12:00."),
        (19, 45, "It's 7:45 PM.", "It's 19:45."),
        (23, 59, "It's 11:59 PM.", "It's 23:59."),
    ],
)
def test_time(state: State, hour: int, minute: int, twelve: str, twenty_four: str) -> None:
    now = datetime(2026, 8, 31, hour, minute, 40, tzinfo=ZONE)
    assert ask(state, now, "clock.time") == twelve
    assert ask(state, now, "clock.time", twenty_four=True) == twenty_four


def test_date_and_weekday(state: State) -> None:
    now = datetime(2027, 12, 31, 23, 30, tzinfo=ZONE)
    assert ask(state, now, "clock.date", day="today") == "Today is Friday, December 31st."
    assert ask(state, now, "clock.date", day="tomorrow") == "Tomorrow is Saturday, January 1st."
    assert (
        ask(state, now, "clock.date", day="yesterday") == "Yesterday was Thursday, December 30th."
    )
    assert ask(state, now, "clock.weekday", day="today") == "Today is Friday."
    assert ask(state, now, "clock.weekday", day="tomorrow") == "Tomorrow is Saturday."
    assert ask(state, now, "clock.year") == "It's 2027."


def test_tomorrow_across_a_change_of_the_clocks(state: State) -> None:
    now = datetime(2026, 10, 24, 23, 45, tzinfo=ZONE)
    assert ask(state, now, "clock.weekday", day="tomorrow") == "Tomorrow is Sunday."


# --- other places and other days, by real sentences -----------------------------------------


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    talk = Talk(tmp_path_factory.mktemp("clock"))
    talk.time.wall = datetime(2026, 3, 10, 14, 0, tzinfo=ZoneInfo("Europe/London"))
    return talk


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        # New York's clocks have gone forward already, London's have not
        ("what time is it in new york", "It's 10 AM in New York."),
        ("what's the time in Tokyo?", "It's 11 PM in Tokyo."),
        ("what time is it in auckland", "It's 3 AM tomorrow in Auckland."),
        ("what time is it in kathmandu", "It's 7:45 PM in Kathmandu."),
        ("what time is it in the uk", "It's 2 PM in the UK."),
        ("how many hours ahead is tokyo", "Tokyo is 9 hours ahead of here."),
        ("time difference between london and new york", "New York is 4 hours behind London."),
        (
            "time difference between london and india",
            "India is 5 and a half hours ahead of London.",
        ),
        ("time difference between paris and rome", "It's the same time in Rome and in Paris."),
        (
            "if it's 10 pm in london what time is it in sydney",
            "When it's 10 PM in London, it's 9 AM the next day in Sydney.",
        ),
        (
            "switch to tokyo time",
            "I can't change the time zone of this device. It's 11 PM in Tokyo.",
        ),
        ("is today monday", "No, today is Tuesday."),
        ("what time will it be in two hours", "It will be 4 PM."),
        ("what time will it be in 12 hours", "It will be 2 AM tomorrow."),
        ("what time zone is japan in", "Japan is 9 hours ahead of UTC; it's 11 PM there now."),
        ("what day is the 24th", "March 24th is a Tuesday."),
        ("what is the date next friday", "That is Friday, March 20th, in 10 days."),
        ("what day was it three days ago", "March 7th was a Saturday."),
        ("what day will christmas be", "December 25th is a Friday."),
        ("what day is may 3rd 2027", "May 3rd, 2027, is a Monday."),
        ("when is easter", "That is Sunday, April 5th, in 26 days."),
        ("what week is it", "It's week 11."),
        ("how many days until christmas", "There are 290 days until Friday, December 25th."),
        ("how many weeks until easter", "There are 3 weeks and 5 days until Sunday, April 5th."),
        ("how many months until christmas", "There are 9 months and 15 days until Friday"),
        ("how many weekends until easter", "There are 4 weekends until Sunday, April 5th."),
        ("how long until tomorrow", "10 hours until Wednesday, March 11th."),
        ("how long until 5 pm", "3 hours until 5 PM."),
        ("how many minutes until quarter past two", "15 minutes until 2:15 PM."),
        ("how many days since new year's day", "Thursday, January 1st was 68 days ago."),
        ("when does the sun set", "Sorry, I don't know when the sun rises or sets here."),
    ],
)
def test_questions(talk: Talk, said: str, reply: str) -> None:
    outcome = talk.say(said)
    assert outcome.reply.startswith(reply)
    assert (outcome.ok, outcome.action) == (True, None)


def test_a_place_that_is_not_known_is_named(talk: Talk) -> None:
    outcome = talk.say("what time is it in mordor")
    assert (outcome.ok, outcome.reply) == (False, "I don't know what time it is in Mordor.")


@pytest.mark.parametrize(
    ("first", "then", "reply"),
    [
        ("what time is it in tokyo", "and in new york?", "It's 10 AM in New York."),
        ("what time is it", "what about paris", "It's 3 PM in Paris."),
        ("what's the date", "and tomorrow?", "That is Wednesday, March 11th, in 1 day."),
        ("what day is the 24th", "and the 25th?", "March 25th is a Wednesday."),
        ("how many days until christmas", "and until easter", "There are 26 days until Sunday"),
        (
            "time difference between london and new york",
            "and tokyo?",
            "Tokyo is 9 hours ahead of London.",
        ),
    ],
)
def test_what_about(talk: Talk, first: str, then: str, reply: str) -> None:
    last = talk.grammar.understand(first)
    assert last is not None
    talk.say(first)
    intent = talk.registry.revise(last, then, talk.turn(then))
    assert intent is not None
    assert talk.registry.handle(intent, talk.turn(then)).reply.startswith(reply)


@pytest.mark.parametrize("text", ["thanks", "why", "and then what", "no", "what about you"])
def test_talk_after_the_time_is_talk(talk: Talk, text: str) -> None:
    last = talk.grammar.understand("what time is it")
    assert last is not None
    assert talk.registry.revise(last, text, talk.turn(text)) is None


def test_the_first_question_about_a_place_is_as_fast_as_any() -> None:
    """The list of zones is read when the skill is made."""
    from assistant.intent.values import zone

    ClockSkill(Config(), None)  # type: ignore[arg-type]
    assert zone._zones.cache_info().currsize == 1
