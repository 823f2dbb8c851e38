"""What a few words mean after a timer was asked for or set: "five minutes", "make it twenty"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import end, label, name, until
from assistant.intent.time_slots import recurring
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.table import ALARM, Timer

UNITS = ("seconds", "minutes", "hours")
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600}

_LEAD_INS = ("make it ", "make that ", "let us say ", "about ", "for ", "until ", "at ")

_CORRECTS = re.compile(
    r"^(?:(?:no|nope|wait|hang on|hold on|actually|sorry|rather|oops|i (?:mean|meant|said)"
    r"|not that|that is wrong|and|but|or|well|oh|better)\s+)*"
    r"(?P<order>(?:(?:can|could) you )?(?:please )?(?:make|change|set|move|do|put|turn) "
    r"(?:it|that|this)(?: one)?(?: to| for| until| at| a| an)?\s+|let us (?:say|do|make it)\s+)?"
    r"(?P<value>.*?)(?P<instead>\s+instead|\s+rather)?$"
)
_ANOTHER = re.compile(
    r"^(?:and )?(?:(?:set|start|make|add|give me|i need) )?(?:(?:also|then) )?"
    r"(?:(?:a )?(?:another|second)(?: (?:one|timer|alarm))?|one more|the same(?: again)?|one)"
    r"(?P<rest>(?: (?:for|called|named|of|at|in|on|until)? ?.+)?)$"
)
_BY = re.compile(
    r"^(?:by )?(?P<amount>.+?) (?P<way>longer|more|later|shorter|less|earlier|sooner)$"
)
_CALLED = re.compile(r"^(?:call|name|rename) (?:it|that)(?: to)? (?P<name>.+)$")
_GONE = re.compile(r"^(?:cancel|delete|stop|remove|forget) (?:it|that|this)(?: one)?$")
_ONCE = ("just once", "only once", "once", "one time", "not every day", "a single time")
_WHERE = re.compile(r"^(?:for|called|named|of|at|in|on|until)\s+")
_HALF_DAY = re.compile(
    r"\b(?:[ap]m|morning|afternoon|evening|night|tonight|noon|midnight|hours|in|\d{4}"
    r"|(?:1[3-9]|2[0-4]|0\d):\d\d)\b"
)


def how_long(expects: str, text: str, known: dict[str, Any], now: datetime) -> Intent | None:
    """The bare answer to "for how long?" or "for what time?"."""
    words = strip_courtesy(normalize(text))
    for lead_in in _LEAD_INS:
        words = words.removeprefix(lead_in)
    known = dict(known)
    number = known.pop("number", None)
    if number is not None and words in UNITS:
        words = f"{number} {words}"
    if known.get("kind") != ALARM:
        found = end(words, now)
    elif "repeat" in known:
        rule = Recurrence.starting(known["repeat"], now).words()
        found = recurring(f"{rule} at {words}", now)
    else:
        found = recurring(words, now) or until(words, now)
    if found is None:
        return None
    return Intent(expects, {**known, **found}, asks=not {"duration", "until"} & found.keys())


def revised(last: Intent, text: str, timer: Timer | None, now: datetime) -> Intent | None:
    """What corrects or repeats the intent just done; None where it need not be meant so.

    timer: the one that was dealt with last, when it is still there.
    """
    words = strip_courtesy(normalize(text))
    if last.name == "timer.set" and (again := _ANOTHER.match(words)) is not None:
        return _another(last, again["rest"].strip(), now)
    match = _CORRECTS.match(words)
    if timer is None or match is None or not match["value"]:
        return None
    value = match["value"]
    known = {"id": timer.id, "kind": timer.kind}
    if called := _CALLED.match(value):
        new_name = name(called["name"], now)
        return Intent("timer.rename", {**known, "new_name": new_name}) if new_name else None
    if _GONE.match(value):
        return Intent("timer.cancel", known)
    if by := _BY.match(value):
        amount = end(by["amount"], now) or {}
        adds = by["way"] in ("longer", "more", "later")
        if "duration" in amount:
            do = "timer.add" if adds else "timer.reduce"
            return Intent(do, {**known, "amount": amount["duration"]})
    if timer.kind == ALARM:
        if value in _ONCE:
            return Intent("timer.change", {**known, "repeat": {}})
        again_on = recurring(value, now)
        if again_on is not None:
            return Intent("timer.change", {**known, **again_on})
    corrected = value != words or bool(match["instead"])
    value = _WHERE.sub("", value)
    if not corrected:
        return None
    found = until(value, now) if timer.kind == ALARM else end(value, now)
    if found is not None:
        return Intent("timer.change", {**known, **found})
    named = label(value, now) if not match["order"] and words.startswith("no ") else None
    return Intent("timer.rename", {**known, "new_name": named}) if named else None


def with_time_of(timer: Timer, slots: dict[str, Any], said: str, now: datetime) -> dict[str, Any]:
    """The slots of a change, completed by what the timer has already.

    A number without a unit counts as the old length does, a day or a rule keeps the old time
    of day, a new time keeps the rule; "eight" for an alarm at 7 AM is 8 AM.
    """
    new: dict[str, Any] = {
        key: slots[key] for key in ("duration", "until", "repeat") if key in slots
    }
    ends = timer.ends.astimezone(now.tzinfo)
    if "number" in slots and not new:
        unit = next(unit for unit in reversed(UNITS) if timer.seconds >= _SECONDS[unit])
        return {"duration": slots["number"] * _SECONDS[unit]}
    if timer.kind != ALARM or "duration" in new:
        return new
    if "until" in new and not _HALF_DAY.search(normalize(said)):
        new["until"] = _same_half(datetime.fromisoformat(new["until"]), ends, now).isoformat()
    rule: Recurrence | None = timer.repeat
    if "repeat" in new:
        wall = datetime.fromisoformat(new["until"]) if "until" in new else ends
        rule = Recurrence.starting(new["repeat"], wall) if new["repeat"] else None
        if rule is None:
            return {"until": ends.isoformat(), "repeat": {}}
        since = now - timedelta(1)
        first = Recurrence.starting(new["repeat"], datetime.combine(since, wall.time(), now.tzinfo))
    elif rule is not None and "until" in new:
        wall = datetime.fromisoformat(new["until"]).astimezone(now.tzinfo)
        first = Recurrence.starting(
            rule.to_json(), datetime.combine(rule.since.date(), wall.time(), now.tzinfo)
        )
    else:
        return new
    coming = first.next_after(now)
    return new if coming is None else {"until": coming.isoformat(), "repeat": first.to_json()}


def _same_half(moment: datetime, old: datetime, now: datetime) -> datetime:
    """That hour in the same half of the day as before, whichever comes next."""
    moment = moment.astimezone(now.tzinfo)
    if (moment.hour < 12) != (old.hour < 12):
        moment = moment.replace(hour=(moment.hour + 12) % 24)
        if moment.astimezone(UTC) <= now.astimezone(UTC):
            moment += timedelta(1)
    return moment


def _another(last: Intent, rest: str, now: datetime) -> Intent | None:
    """ "and another one for pasta", "one more for ten minutes", "another one"."""
    slots = {k: v for k, v in last.slots.items() if k in ("kind", "duration", "until", "repeat")}
    if not rest:
        return Intent("timer.set", slots)
    words = _WHERE.sub("", rest)
    kind = {"kind": slots["kind"]} if "kind" in slots else {}
    found = (until(words, now) if kind else end(words, now)) if words != rest else None
    if found is not None and {"duration", "until"} & found.keys():
        return Intent("timer.set", {**kind, **found})
    called, _, tail = words.partition(" for ")
    timed = end(tail, now) if tail else None
    named = label(called if timed else words, now) if words != rest else None
    if named is None:
        return None
    return Intent("timer.set", {**(kind | timed if timed else slots), "name": named})
