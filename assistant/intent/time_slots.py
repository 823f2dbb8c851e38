"""Values that tell when: what comes back ("seven on weekdays"), what is to be reminded of
("in ten minutes to turn the oven off"), and days of the calendar.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from assistant.intent.values.duration import parse_duration
from assistant.intent.values.number import parse_number
from assistant.intent.values.recurrence import parse_recurrence
from assistant.intent.values.when import parse_time

MAX_REMINDER_WORDS = 40
_KEPT = ("unit", "every", "days", "day", "month", "place")

_LINKS = frozenset("to about that of for called named saying".split())
_TIMED = frozenset(
    """at in on by every each after before around about until tomorrow tonight today this next
    daily weekly monthly yearly hourly once noon midnight the monday tuesday wednesday thursday
    friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    weekdays weekends mornings evenings nights a an one half later from""".split()
)
"""Words that a time at the end of a sentence begins with, where no digit stands."""
_NO_TASK = frozenset(
    """what who whose why how where which whether again later please not never always if when
    this it one""".split()
)
_DANGLING = frozenset("to the a an my say and or about for of that with at in on".split())
_LATER = {"later": 3 * 3600, "later today": 3 * 3600, "in a bit": 1800, "in a while": 1800}
_SOME = re.compile(r"^(?:the )?(?:next|coming) time\b|^when\b|^once i\b|^if\b")


def recurring(text: str, now: datetime) -> dict[str, Any] | None:
    """What comes back, with its first moment where a time was said: "seven on weekdays"."""
    found = parse_recurrence(text, now)
    if found is None:
        return None
    repeat = {key: found[key] for key in _KEPT if found.get(key)}
    return {"repeat": repeat} | ({"until": found["first"]} if found.get("first") else {})


def moment(text: str, now: datetime) -> dict[str, Any] | None:
    """Any wording of when: {"duration"}, {"until"}, {"repeat"[, "until"]}, or {"day"} when a
    day was named without a time."""
    again = recurring(text, now)
    if again is not None:
        return again
    if text in _LATER:
        return {"duration": _LATER[text]}
    lead, _, rest = text.partition(" ")
    seconds = parse_duration(rest) if lead in ("in", "after", "within") else None
    if seconds is not None:
        return {"duration": seconds}
    when = parse_time(text, now)
    if when is None:
        return None
    # an hour that is not midnight is the usual one of a part of the day that was named
    if when.has_time or when.at.hour:
        return {"until": when.at.isoformat(timespec="seconds")}
    return {"day": when.at.date().isoformat()} if when.has_date else None


def reminder(text: str, now: datetime) -> dict[str, Any] | None:
    """What to be reminded of ("text") and when (as ``moment``), in either order.

    One of the two may be missing; both are not.
    """
    words = text.split()
    if not 0 < len(words) <= MAX_REMINDER_WORDS:
        return None
    whole = moment(text, now) if _may_be_time(words) else None
    if whole is not None:
        return whole
    for cut in range(min(len(words) - 1, 12), -1, -1):
        if words[cut] not in _LINKS:
            continue
        head = moment(" ".join(words[:cut]), now) if cut else {}
        if head is not None:
            found = _task(words[cut + 1 :], head, now, " ".join(words[:cut]))
            return found or None
    if words[0] in _NO_TASK or _SOME.match(text):
        return None
    # the recogniser dropped the "to"
    found = _task(words, {}, now, "")
    return found if found and len(found) > 1 else None


def day(text: str, now: datetime) -> str | None:
    """A day of the calendar as an ISO date; what also names a time of day is none."""
    when = parse_time(text, now)
    if when is None or when.has_time or not when.has_date or when.at.hour:
        return None
    return when.at.date().isoformat()


def _task(words: list[str], head: dict[str, Any], now: datetime, said: str) -> dict[str, Any]:
    """The task in these words and the time at their end, which may complete that in front."""
    if words and words[0] == "to":
        words = words[1:]
    for cut in range(1, len(words)):
        tail = words[cut:]
        if not _may_be_time(tail) or (len(tail) == 1 and parse_number(tail[0]) is not None):
            continue
        found = moment(" ".join(tail), now)
        if found is not None and head:
            # "tomorrow to call the bank at nine"
            found = moment(f"{said} {' '.join(tail)}", now)
        if found is not None:
            words, head = words[:cut], found
            break
    if not words or words[-1] in _DANGLING:
        return {}
    return {"text": " ".join(words), **head}


def _may_be_time(words: list[str]) -> bool:
    first = words[0]
    return first in _TIMED or first[0].isdigit() or parse_number(first) is not None
