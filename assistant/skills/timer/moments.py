"""When a timer or an alarm ends: from the slots of an intent, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from assistant.errors import SkillError
from assistant.skills import spoken
from assistant.skills.timer import answers, wording
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.table import ALARM, TIMER, Timer

MAX_SECONDS = 30 * 86_400
MAX_ALARM_SECONDS = 400 * 86_400


def length(slots: dict[str, Any], said: str, now: datetime) -> tuple[float | None, datetime | None]:
    """Length in seconds and, where a time was said, that time; None where neither was.

    said: the utterance. Raises SkillError with a sentence where it is too short or too long.
    """
    seconds, until = slots.get("duration"), None
    if "until" in slots:
        until = datetime.fromisoformat(slots["until"]).astimezone(now.tzinfo)
        if slots.get("repeat"):
            until = answers.first_of(slots["repeat"], until, said, now)
        seconds = round((until.astimezone(UTC) - now.astimezone(UTC)).total_seconds())
        if seconds <= 0:
            raise SkillError("timer.past", "That time has already passed.")
    if seconds is None:
        return None, None
    if seconds < 1:
        raise SkillError("timer.short", "A timer needs at least one second.")
    if slots.get("kind") == ALARM:
        if seconds > MAX_ALARM_SECONDS:
            raise SkillError("timer.long", "I can set alarms for up to a year.")
    elif seconds > MAX_SECONDS:
        raise SkillError("timer.long", "I can set timers for up to 30 days.")
    return float(seconds), until


def name(
    kind: str, said: str, seconds: float, until: datetime | None, twenty_four_hour: bool
) -> str:
    """Nobody said the length of what is set until a time, so it goes by its time."""
    if said or (until is None and kind == TIMER):
        return said
    if until is None:
        return spoken.length(seconds)
    return spoken.time_of_day(until, twenty_four_hour)


def words(timer: Timer, until: datetime | None, now: datetime, twenty_four_hour: bool) -> str:
    """ "10 minutes", "7 AM tomorrow, in 9 hours", "7 AM on weekdays, next tomorrow, in …"."""
    if until is None:
        return spoken.length(timer.seconds)
    away = f"in {spoken.away(until, now)}"
    if timer.repeat is None:
        return f"{wording.at(until, now, twenty_four_hour)}, {away}"
    clock = spoken.time_of_day(on_the_wall(until, timer.repeat), twenty_four_hour)
    return f"{clock} {timer.repeat.words()}, next {spoken.day(until, now)}, {away}"


def told(timer: Timer, now: datetime, twenty_four_hour: bool) -> str:
    """As ``words``; only alarms go by their times."""
    until = timer.ends.astimezone(now.tzinfo) if timer.kind == ALARM else None
    return words(timer, until, now, twenty_four_hour)


def question(slots: dict[str, Any]) -> str:
    """What to ask where no time was said: "For how long?", "5 seconds, minutes or hours?"."""
    if number := slots.get("number"):
        return f"{number} {spoken.listing(answers.UNITS, 'or')}?"
    if slots.get("kind") != ALARM:
        return "For how long?"
    return "At what time?" if "day" in slots else "For what time?"


def on_the_wall(first: datetime, repeat: Recurrence | None) -> datetime:
    """Its first day with the time at which it comes on all others."""
    return first if repeat is None else datetime.combine(first.date(), repeat.at)


def of_day(timers: Sequence[Timer], on: str, now: datetime) -> list[Timer]:
    """Those that end or come again on that day, an ISO date."""
    day = date.fromisoformat(on)
    return [timer for timer in timers if _ends_on(timer, day, now)]


def day_name(on: str, now: datetime) -> str:
    """ "tomorrow", "Friday"."""
    day = datetime.combine(date.fromisoformat(on), now.time(), now.tzinfo)
    return spoken.day(day, now).removeprefix("on ")


def _ends_on(timer: Timer, day: date, now: datetime) -> bool:
    if timer.ends.astimezone(now.tzinfo).date() == day:
        return True
    return timer.repeat is not None and timer.repeat.comes_on(day) and day > now.date()
