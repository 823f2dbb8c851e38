"""Values that tell when: what comes back ("seven on weekdays"), what is to be reminded of
("in ten minutes to turn the oven off"), and days of the calendar.
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime
from typing import Any

from assistant.intent.values.duration import parse_duration
from assistant.intent.values.number import parse_number
from assistant.intent.values.ordinal import parse_ordinal
from assistant.intent.values.recurrence import parse_recurrence
from assistant.intent.values.when import parse_time
from assistant.intent.values.zone import parse_zone

MAX_REMINDER_WORDS = 40
MAX_TIMES = 6
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
_QUESTIONS = [[word] for word in "what who whose why how where which whether when if".split()]
_DANGLING = frozenset("to the a an my say and or about for of that with at in on".split())
_LATER = {"later": 3 * 3600, "later today": 3 * 3600, "in a bit": 1800, "in a while": 1800}
_DAY_NOISE = re.compile(r"^(?:the )?(?:day of|date of) |^day ")
_MONTHS = frozenset(name.casefold() for name in calendar.month_name[1:])
_THIS_PART = re.compile(r"^this (?:morning|afternoon|evening|night)$")
_PART_OF_DAY = re.compile(r"(?<=\w) (?:morning|afternoon|evening|night)$")
_NO_PLACE = frozenset(
    """here there now a an my your this that his her our their it is what when where who how the
    morning afternoon evening night bed time hour hours minutes seconds life history general
    please is are was will be to do go for have if it's world another other""".split()
)
_AND_AT = re.compile(
    r"(?: and (?:then )?(?:(?:an?|the|a) )?(?:(?:another|one|second|next|other|alarm) )*"
    r"(?:alarm )?(?:set )?(?:to go off )?(?:(?:at|for) )?| then )"
)
_AND_LENGTH = re.compile(r" and (?!(?:a )?(?:half|quarter)\b|three quarters)(?:(?:one )?for )?")
_ONE_FOR = re.compile(r"^(?:one )?(?:for|of) ")
_UNITS = frozenset("second sec minute min hour hr day".split())
_ONE_AT = re.compile(r"^(?:both |one (?:for|at) )")
_HALF = re.compile(r" (?:[ap]m|in the (?:morning|afternoon|evening)|at night)$")
_HALF_SAID = re.compile(
    r"[ap]m\b|\b(?:morning|afternoon|evening|night|midnight|hours|early|from now|0\d:\d\d)\b"
)
"""Says which half of the day is meant, or that no time of day was named."""

_CALENDAR = re.compile(r"^(?:on|in|to|into) (?:the|my) (?:calendar|phone|list) ")
_SOME = re.compile(r"^(?:the )?(?:next|coming) time\b|^when\b|^once i\b|^if\b")


def recurring(text: str, now: datetime) -> dict[str, Any] | None:
    """What comes back, with its first moment where a time was said: "seven on weekdays"."""
    found = parse_recurrence(text, now)
    if found is None:
        return None
    repeat = {key: found[key] for key in _KEPT if found.get(key)}
    first = datetime.fromisoformat(found["first"]) if found.get("first") else None
    if first is not None and found.get("at") and f"{first:%H:%M}" != found["at"]:
        # a change of the clocks skips this time on the first day only
        repeat["at"] = found["at"]
    return {"repeat": repeat} | ({"until": found["first"]} if found.get("first") else {})


def alarm_times(text: str, now: datetime) -> dict[str, Any] | None:
    """Several moments: "2 pm and 3 pm", "9 am and another one for 11 am"; the first one's
    slots, with those of the others in "also"."""
    parts = [part for part in _AND_AT.split(_ONE_AT.sub("", text)) if part]
    # "three and another one" goes on
    if not 2 <= len(parts) <= MAX_TIMES or parts[-1] == "one":
        return None
    half = _HALF.search(parts[-1])
    often = parts[0].rpartition(" at ")[0]
    found: list[dict[str, Any]] = []
    for part in parts:
        if found and "repeat" in found[0] and often and not recurring(part, now):
            # "every day at eight and at noon": the rule holds for both
            part = f"{often} at {part}"
        whole = f"{part}{half.group()}" if half and parse_number(part) is not None else part
        times = recurring(whole, now)
        when = None if times else parse_time(whole, now)
        if when is not None and when.has_time:
            times = {"until": when.at.isoformat(timespec="seconds")}
        if times is None or "until" not in times:
            return None
        found.append(times)
    return {**found[0], "also": found[1:]}


def alarm_time(text: str, now: datetime) -> dict[str, Any] | None:
    """A time of day some days ahead, said with "in": "in a week at nine"."""
    if not text.startswith("in ") or " at " not in text:
        return None
    when = parse_time(text, now)
    whole = when is not None and when.has_date and when.has_time
    return {"until": when.at.isoformat(timespec="seconds")} if when and whole else None


def lengths(text: str, now: datetime) -> dict[str, Any] | None:
    """Several lengths, of which the last has the unit of all: "5 and 10 minutes"; the first
    one's slots, with those of the others in "also"."""
    parts = [one for part in _AND_LENGTH.split(text) for one in _lengths_in_a_row(part.split())]
    if not 2 <= len(parts) <= MAX_TIMES:
        return None
    named = [part for part in parts if parse_number(part) is None]
    # "one for three minutes and one for eight"
    unit = (parts[-1] if parts[-1] in named else (named or [""])[0]).rpartition(" ")[2]
    whole = [part if part in named else f"{part} {unit}" for part in parts]
    found = [{"duration": seconds} for part in whole if (seconds := parse_duration(part))]
    return {**found[0], "also": found[1:]} if len(found) == len(parts) else None


def _lengths_in_a_row(words: list[str]) -> list[str]:
    """ "five minutes ten minutes" as two: the commas are gone by now. "Five minutes thirty
    seconds" is one, and numbers without a unit stand each for themselves."""
    found: list[str] = []
    while words:
        size = len(words)
        while size > 1 and (text := " ".join(words[:size])) and not _is_length(text):
            size -= 1
        found.append(_ONE_FOR.sub("", " ".join(words[:size])))
        words = words[size:]
    return found


def _is_length(text: str) -> bool:
    words = [word.rstrip("s") for word in text.split()]
    units = [word for word in words if word in _UNITS]
    # "five minutes ten minutes" is no sum, and in "five minutes ten" a length begins anew
    if len(set(units)) < len(units) or (units and words[-1] not in (*_UNITS, "half")):
        return False
    text = _ONE_FOR.sub("", text)
    return parse_duration(text) is not None or parse_number(text) is not None


def rule(text: str, now: datetime) -> dict[str, Any] | None:
    """What comes back, without a time of day, also as it stands before its noun: "weekday"."""
    found = recurring(text, now) or recurring(f"every {text}", now)
    return None if found is None or "until" in found else found


def moment(text: str, now: datetime) -> dict[str, Any] | None:
    """Any wording of when: {"duration"}, {"until"}, {"repeat"[, "until"]}, or {"day"} when a
    day was named without a time."""
    again = recurring(text, now)
    if again is not None:
        return again
    if text in _LATER:
        return {"duration": _LATER[text]}
    if " and " in text and (times := alarm_times(text, now)) is not None:
        return times
    lead, _, rest = text.partition(" ")
    seconds = parse_duration(rest) if lead in ("in", "after", "within") else None
    if seconds is not None:
        return {"duration": seconds}
    when = parse_time(text, now)
    if when is None:
        return None
    # an hour that is not midnight is the usual one of a part of the day that was named
    if when.has_time or when.at.hour:
        at = when.at
        if at.date() != now.date() and 1 <= at.hour <= 4 and not _HALF_SAID.search(text):
            at = at.replace(hour=at.hour + 12)  # "on friday at three", as "every friday at three"
        return {"until": at.isoformat(timespec="seconds")}
    return {"day": when.at.date().isoformat()} if when.has_date else None


def target(text: str, now: datetime) -> dict[str, Any] | None:
    """What comes back, or a day without a time, which keeps the time that there is."""
    on = None if (again := recurring(text, now)) else day(text, now)
    return again or ({"day": on} if on else None)


def reminder(text: str, now: datetime) -> dict[str, Any] | None:
    """What to be reminded of ("text") and when (as ``moment``), in either order.

    One of the two may be missing; both are not.
    """
    words = _CALENDAR.sub("", text).split()
    if not 0 < len(words) <= MAX_REMINDER_WORDS:
        return None
    first = words[1:] if words[0] == "for" and len(words) > 1 else words
    whole = moment(" ".join(first), now) if _may_be_time(first) else None
    if whole is not None:
        return whole
    for cut in range(min(len(words) - 1, 12), -1, -1):
        if words[cut] not in _LINKS:
            continue
        head = moment(" ".join(words[:cut]), now) if cut else {}
        if head is not None:
            found = _task(words[cut + 1 :], head, now, " ".join(words[:cut]))
            # "remind me of the total" and "about what I owe" want to be told it now
            asks = words[cut] == "of" or words[cut + 1 : cut + 2] in _QUESTIONS
            return None if asks and len(found) < 2 else found or None
    if words[0] in _NO_TASK or _SOME.match(text):
        return None
    # the recogniser dropped the "to"
    found = _task(words, {}, now, "")
    return found if found and len(found) > 1 else None


def task(text: str, now: datetime) -> str | None:
    """What to be reminded of, as it is said after "remind me to"."""
    words = text.split()
    return text if words and words[-1] not in _DANGLING and words[0] not in _NO_TASK else None


def task_at(text: str, now: datetime) -> dict[str, Any] | None:
    """As ``reminder``, with both its task and its time."""
    found = reminder(text, now)
    whole = found is not None and "text" in found and {"until", "duration"} & found.keys()
    return found if whole else None


def day(text: str, now: datetime) -> str | None:
    """A day of the calendar as an ISO date; what also names a time of day is none."""
    text = _DAY_NOISE.sub("", text).removesuffix("'s").removesuffix("s'")
    text = "january 1" if text in ("new year", "the new year", "new years") else text
    text = _PART_OF_DAY.sub("", _THIS_PART.sub("today", text))
    if not text.startswith("the ") and parse_ordinal(text) is not None:
        return None
    when = parse_time(text, now)
    if when is None or not when.has_date:
        return None
    # "in 3 days" is at this time of day, and a day nevertheless
    if when.at.timetz() != now.timetz() and (when.has_time or when.at.hour):
        return None
    return when.at.date().isoformat()


def month(text: str, now: datetime) -> str | None:
    """The first day of a month to come that is named without one, as an ISO date: "june"."""
    bare = text.removeprefix("next ")
    return day(f"in {bare}", now) if bare in _MONTHS else None


def named_day(text: str, now: datetime) -> str | None:
    """As ``day``, but not by its number alone: "the second alarm" is one of several."""
    return None if parse_ordinal(text.removeprefix("the ")) is not None else day(text, now)


def zone(text: str, now: datetime) -> str | None:
    """A place or zone whose time is known, in the words of the user: "new york"."""
    words = text.strip().removesuffix("'s").removesuffix(" time")
    return words if words not in _NO_PLACE and parse_zone(words) is not None else None


def time_there(text: str, now: datetime) -> dict[str, Any] | None:
    """A time of day at a place: "5 pm in london", "5 pm est", "noon here"."""
    words = text.removesuffix(" time").split()
    for cut in range(len(words) - 1, 0, -1):
        when = parse_time(" ".join(words[:cut]), now)
        if when is None or not when.has_time:
            continue
        place = " ".join(words[cut:]).removeprefix("in ")
        at = when.at.isoformat(timespec="seconds")
        if place in ("here", "my"):
            return {"until": at}
        return {"until": at, "from": place} if zone(place, now) else None
    return None


def somewhere(text: str, now: datetime) -> str | None:
    """What may be a place, known or not: one to four words that are nothing else."""
    text = text.removeprefix("the ")
    words = text.split()
    if not 0 < len(words) <= 4 or any(word in _NO_PLACE or word[0].isdigit() for word in words):
        return None
    return None if moment(text, now) or parse_duration(text) is not None else text


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
