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


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.db")


def ask(state: State, now: datetime, name: str, *, twenty_four: bool = False, **slots: str) -> str:
    cfg = Config.model_validate({"skills": {"clock": {"twenty_four_hour": twenty_four}}})
    skill = ClockSkill(cfg, state)
    return skill.handle(Intent(name, dict(slots)), TurnContext(lambda: now, state)).reply


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
