"""Which timer is meant, and how it is called in a reply."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

from assistant.errors import SkillError
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import timed, until
from assistant.intent.values.ordinal import parse_ordinal
from assistant.skills import spoken
from assistant.skills.timer.table import ALARM, REMINDER, Timer

_ALL = frozenset(("all", "both", "all of them", "both of them", "every one", "everything"))
_OFTEN = {
    **dict.fromkeys(("weekday", "weekdays"), ("on weekdays",)),
    "weekend": ("at weekends",),
    **dict.fromkeys(("daily", "everyday", "every day"), ("every day",)),
    "weekly": tuple(f"every {day}" for day in calendar.day_name),
    "monthly": tuple(f"every month on the {spoken.ordinal(day)}" for day in range(1, 32)),
}
"""What comes again by the word that stands before its noun: how ``Recurrence.words`` tells it."""
_NOUN = re.compile(r"\s+(?:timer|alarm|one)$")
_ARTICLE = re.compile(r"^(?:the|my|our)\s+")


def pick(timers: Sequence[Timer], slots: dict[str, Any]) -> list[Timer]:
    """The timers that the slots id, which, name, duration and until leave.

    timers: in the order that a place such as the second counts in.
    Raises SkillError that says which name, length, time or place is not known.
    """
    if not timers:
        raise SkillError("timer.none", f"No {slots.get('kind', 'timer')}s are set.")
    if "id" in slots:
        gone = f"That {slots.get('kind', 'timer')} is over."
        return [t for t in timers if t.id == slots["id"]] or _unknown(timers, gone)
    if name := slots.get("name"):
        kind = slots.get("kind", "timer")
        timers = named(timers, name) or _unknown(timers, f"There is no {kind} called {name}.")
    if seconds := slots.get("duration"):
        wanted = spoken.length(seconds)
        timers = [t for t in timers if abs(t.seconds - seconds) < 0.5] or _unknown(
            timers, f"There is no timer of {wanted}."
        )
    if until := slots.get("until"):
        timers = _ending(timers, datetime.fromisoformat(until)) or _unknown(
            timers, "None ends at that time."
        )
    if isinstance(place := slots.get("which"), int):
        if place > len(timers):
            _unknown(timers, f"There is no {spoken.ordinal(place)} timer.")
        return [timers[place - 1]]
    if slots.get("which") == "both":
        return sorted(timers, key=lambda t: t.id)[-2:]
    if slots.get("which") == "last":
        return [max(timers, key=lambda t: t.id)]
    if slots.get("which") in ("next", "longest"):
        last = slots["which"] == "longest"
        return [sorted(timers, key=lambda t: t.left, reverse=last)[0]]
    if slots.get("which") == "first":
        return [min(timers, key=lambda t: t.id)]
    return list(timers)


def named(timers: Sequence[Timer], name: str) -> list[Timer]:
    """Timers with exactly this name, else those that come so often ("weekday"), else those
    whose name has all these words."""
    wanted = _words(name)
    exact = [t for t in timers if t.name and _words(t.name) == wanted]
    often = _OFTEN.get(name)
    exact = exact or [t for t in timers if often and t.repeat and t.repeat.words() in often]
    return exact or [t for t in timers if t.name and set(wanted) <= set(_words(t.name))]


def _ending(timers: Sequence[Timer], until: datetime) -> list[Timer]:
    """Those that end at this moment, else at this time of day, be it am or pm."""
    half_day = 43_200
    away = {t.id: abs((t.ends - until).total_seconds()) for t in timers}
    exact = [t for t in timers if away[t.id] < 1]
    return exact or [t for t in timers if min(away[t.id] % half_day, -away[t.id] % half_day) < 1]


def answer(text: str, timers: Sequence[Timer], now: datetime) -> dict[str, Any] | None:
    """The slots that a bare answer to "which one?" fills, or None when it is none.

    timers: in the order in which they were read out.
    """
    words = _ARTICLE.sub("", strip_courtesy(normalize(text)))
    if words in _ALL:
        return {"which": "all"}
    core = _NOUN.sub("", words)
    place = parse_ordinal(core)
    if place is not None and 1 <= place <= len(timers):
        return {"id": timers[place - 1].id}
    if core == "last" and timers:
        return {"id": timers[-1].id}
    if named(timers, core):
        return {"name": core}
    slots = timed(core, now)
    if slots is not None and any(abs(t.seconds - slots["duration"]) < 0.5 for t in timers):
        return slots
    at = until(core, now) if any(t.kind == ALARM for t in timers) else None
    if at is not None and "until" in at:
        return at if _ending(timers, datetime.fromisoformat(at["until"])) else None
    # "the rice one" answers the question, though with a name that is not there
    return {"name": core} if core != words and len(core.split()) <= 3 else None


def describe(timer: Timer, among: Sequence[Timer] = ()) -> str:
    """ "the pasta timer", "the 10 minute timer"; with what is left where others are alike."""
    text = f"the {title(timer)}"
    if sum(title(other) == title(timer) for other in among) > 1:
        if timer.repeat is not None:
            return f"{text} {timer.repeat.words()}"
        if timer.kind == ALARM:
            return f"{text} in {spoken.about(timer.left)}"
        return f"{text} with {spoken.about(timer.left)} left"
    return text


def title(timer: Timer) -> str:
    """ "pasta timer", "10 minute timer", "7 AM alarm" or "reminder to call mum"."""
    if timer.kind == REMINDER:
        return f"reminder: {timer.name}"
    if timer.kind == ALARM:
        return f"{timer.name} alarm"
    if timer.name:
        return f"{timer.name} timer"
    return re.sub(r"(day|hour|minute|second)s\b", r"\1", spoken.length(timer.seconds)) + " timer"


def _words(name: str) -> list[str]:
    """Words to compare names by: without accents and the plural's s."""
    words = _NOUN.sub("", _ARTICLE.sub("", normalize(name))).split()
    return [word.removesuffix("s") if len(word) > 3 else word for word in words]


def _unknown(timers: Sequence[Timer], message: str) -> NoReturn:
    have = spoken.listing(describe(t, timers) for t in timers)
    raise SkillError("timer.unknown", f"{message} I have {have}.")
