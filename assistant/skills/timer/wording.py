"""How timers and alarms are told of in a reply."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assistant.skills import spoken
from assistant.skills.timer import which
from assistant.skills.timer.table import ALARM, Timer


def capital(text: str) -> str:
    """With its first letter large."""
    return f"{text[:1].upper()}{text[1:]}"


def status(timer: Timer, now: datetime, twenty_four_hour: bool = False) -> str:
    """ "The pasta timer has 5 minutes left.", "The 7 AM alarm rings tomorrow, in 9 hours."."""
    title = which.title(timer)
    if timer.status == "ringing" or timer.left <= 0:
        return f"The {title} is up."
    if timer.paused:
        return f"The {title} is paused with {spoken.about(timer.left)} left."
    if timer.kind == ALARM:
        ends = timer.ends.astimezone(now.tzinfo)
        clock = spoken.time_of_day(ends, twenty_four_hour)
        at = "" if timer.name == clock else f" at {clock}"
        day = spoken.day(ends, now)
        often = f"{timer.repeat.words()}{at}, next {day}" if timer.repeat else f"{day}{at}"
        return f"The {title} rings {often}, in {spoken.away(ends, now)}."
    return f"The {title} has {spoken.about(timer.left)} left."


def missed(timer: Timer, now: datetime, twenty_four_hour: bool = False) -> str:
    """ "You missed the rice timer: it ended at 2:10 PM."."""
    ended = at(timer.ends.astimezone(now.tzinfo), now, twenty_four_hour)
    return f"You missed the {which.title(timer)}: it ended at {ended}."


def undone(do: str, timers: list[Timer]) -> str:
    """What is said when "do" was taken back: "3 timers set again."."""
    one, many = {
        "set": ("cancelled", "cancelled"),
        "cancel": ("set again", "set again"),
        "pause": ("runs again", "run again"),
        "resume": ("is paused again", "are paused again"),
    }.get(do, ("is as it was", "are as they were"))
    if len(timers) == 1:
        return f"{capital(which.title(timers[0]))} {one}."
    return f"{len(timers)} {timers[0].kind}s {many}."


def at(moment: datetime, now: datetime, twenty_four_hour: bool = False) -> str:
    """ "7 PM", with the day where it is not today."""
    clock = spoken.time_of_day(moment, twenty_four_hour)
    return clock if moment.date() == now.date() else f"{clock} {spoken.day(moment, now)}"


def action(do: str, timers: list[Timer], skill: str = "timer") -> dict[str, Any]:
    """One timer's fields stand in the action itself, several in a list."""
    fields = [_fields(timer) for timer in timers]
    head: dict[str, Any] = {"skill": skill, "do": do}
    return {**head, **fields[0]} if len(fields) == 1 else {**head, "timers": fields}


def _fields(timer: Timer) -> dict[str, Any]:
    seconds = int(timer.seconds) if timer.seconds == int(timer.seconds) else timer.seconds
    fields: dict[str, Any] = {
        "id": timer.id,
        "name": timer.name,
        "kind": timer.kind,
        "seconds": seconds,
        "due": timer.ends.isoformat(timespec="seconds"),
    }
    if timer.repeat is not None:
        fields["repeat"] = timer.repeat.words()
    return fields
