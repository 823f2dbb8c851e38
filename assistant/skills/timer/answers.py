"""What a few words mean after a timer was asked for or set: "five minutes", "make it twenty"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.followup import Followup, followup
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import end, label, labelled, name, until
from assistant.intent.time_slots import recurring, target
from assistant.intent.values.when import parse_time
from assistant.skills.timer import which
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.table import ALARM, TIMER, Timer

UNITS = ("seconds", "minutes", "hours")
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600}

_LEAD_INS = ("make it ", "make that ", "let us say ", "about ", "for ", "until ", "at ")

_ANOTHER = re.compile(
    r"^(?:(?:set|start|make|add|give me|i need|i want) )?(?:a |an )?"
    r"(?:another|second|one more|the same|one|again)(?: one)?(?: timer| alarm)?(?P<rest> .+)?$"
)
_AT = re.compile(r"^(?:at|for) ")
_OTHER = re.compile(r"\b(?:the )?other (?:one|timer|alarm)\b")
_WHICH_FIRST = re.compile(
    r"^which (?:one|timer|of (?:them|those))(?:'s)?(?: (?:is|ends|rings|goes off|finishes"
    r"|will (?:be|end|ring|go off|finish)))?(?: (?:done|up|over|ready|finished))?"
    r" (?:(?P<first>first|next|soonest|sooner)|last)$"
)
_RESUME = re.compile(
    r"^(?:resume|continue|unpause|carry on|go on|start (?:it )?again)(?: (?:it|now|again|then))*$"
)
_PUSH = re.compile(
    r"^(?:push|move|put|shift|bring) (?:it|that|this)(?: (?:back|forward|out|off|up|ahead))?"
    r"(?: by)? (?P<amount>.+)$"
)
_BY = re.compile(
    r"^(?:by |it )?(?P<amount>.+?) (?P<way>longer|more|later|shorter|less|earlier|sooner)$"
)
_CALLED = re.compile(r"^(?:call|name|rename) (?:it|that)(?: to)? (?P<name>.+)$")
_ALL_OF_THEM = re.compile(
    r"^(?:cancel|delete|stop|remove|clear|kill) (?:both|all|them|all of them|both of them)$"
)
_ONCE = ("just once", "only once", "once", "one time", "not every day", "a single time")
_TO = re.compile(r"^(?:(?:make|change|move|set) (?:it|that) )?(?:to|for|at|until) ")
_WHERE = re.compile(r"^(?:for|called|named|of|at|in|on|until|to)\s+")
_OF_IT = tuple(
    (re.compile(f"^(?:{pattern})$"), name)
    for pattern, name in (
        (r"(?:pause|hold|freeze) (?:it|that|them)", "timer.pause"),
        (r"(?:resume|continue|unpause|restart) (?:it|that|them)", "timer.resume"),
        (r"(?:move|change|push|shift) (?:it|that) to (?P<to>.+)", "timer.change"),
        (
            r"(?:cancel|delete|remove|clear|kill|stop|disable) (?:it|that)(?: one| alarm| timer)?",
            "timer.cancel",
        ),
        (
            r"(?:and )?(?:(?:at )?what time|when) (?:will|is|does|would) (?:it|that)"
            r"(?: (?:be|end|ring|go off|be (?:up|over|done)|finish|then))?",
            "timer.when",
        ),
        (
            r"(?:is|was) (?:it|that) (?:for |at |in )?(?:the )?(?:am|morning|pm|evening|afternoon"
            r"|today|tonight) or (?:for |at |in )?(?:the )?(?:am|morning|pm|evening|afternoon|night"
            r"|tomorrow)"
            r"|is (?:it|that)(?: alarm| timer)? (?:really |now |still )?(?:set|running|on|active)"
            r"(?: now)?",
            "timer.when",
        ),
        (r"(?:turn|switch|shut) (?:(?:it|that) off|off (?:it|that))", "timer.cancel"),
        (r"how (?:long|much(?: time| longer)?)(?: is)? (?:left )?(?:on|for) it", "timer.left"),
        (r"add (?P<amount>.+) to it", "timer.add"),
        (r"(?:take|knock) (?P<amount>.+) off(?: of)? it", "timer.reduce"),
    )
)
_HALF = re.compile(
    r"^(?:(?P<am>am|a m|(?:in )?the morning|in the morning|morning)"
    r"|pm|p m|(?:in )?the (?:afternoon|evening)|afternoon|evening|at night|tonight)$"
)
_HALF_DAY = re.compile(
    r"(?:\b|(?<=\d))(?:[ap] ?m|morning|afternoon|evening|night|tonight|noon|midnight|hours|in"
    r"|hundred|\d{4}"
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
        rule = Recurrence.of(known["repeat"], now.time(), now).words()
        found = recurring(f"{rule} at {words}", now)
    else:
        found = _at_time(words, known.pop("day", None), now)
    if found is None:
        return None
    if expects == "timer.change":
        return Intent(expects, {**known, "to": found})
    return Intent(expects, {**known, **found}, asks=not {"duration", "until"} & found.keys())


def _at_time(words: str, on: str | None, now: datetime) -> dict[str, Any] | None:
    """When an alarm rings: a moment, a rule, or a day whose time of day is still to be said.

    on: the day that is known already, an ISO date.
    """
    found = recurring(words, now) or until(words, now) or target(words.removeprefix("on "), now)
    when = parse_time(words, now)
    if on is None or found is None or "until" not in found or when is None or when.has_date:
        return found
    # seen from a day before, "seven" is in the morning
    at = parse_time(f"tomorrow at {words}", now) if date.fromisoformat(on) > now.date() else when
    there = datetime.combine(
        date.fromisoformat(on), (at or when).at.time().replace(fold=0), now.tzinfo
    )
    return {"until": there.isoformat(timespec="seconds")}


def revised(
    last: Intent, text: str, timer: Timer | None, timers: Sequence[Timer], now: datetime
) -> Intent | None:
    """What corrects or repeats the intent just done; None where it need not be meant so.

    timer: the one that was dealt with last, when it is still there; timers: all.
    """
    follow = followup(text)
    rest = follow.rest
    if last.name == "timer.set" and follow.kind in ("again", "also", "bare"):
        another = _ANOTHER.match(rest)
        if another is not None and (follow.kind != "bare" or not rest.startswith("one for")):
            return _another(last, (another["rest"] or "").strip(), now)
        if follow.kind == "again":
            return _another(last, "", now)
        if follow.kind == "also" and _AT.match(rest) and (also := _another(last, rest, now)):
            return also
    if _ALL_OF_THEM.match(rest) and timers:
        kind = timer.kind if timer is not None else last.slots.get("kind", TIMER)
        two = "both" in rest.split()
        return Intent("timer.cancel", {"kind": kind, "which": "both" if two else "all"})
    if follow.kind == "again" and last.name in ("timer.add", "timer.reduce") and timer is not None:
        return Intent(last.name, {"id": timer.id, "amount": last.slots["amount"]})
    plain = strip_courtesy(normalize(text))
    if timers and (order := _WHICH_FIRST.match(plain)):
        nearest = sorted((t for t in timers if t.kind != ALARM), key=lambda t: t.left)
        return _left(nearest[0 if order["first"] else -1]) if nearest else None
    others = [t for t in timers if timer is None or (t.id != timer.id and t.kind == timer.kind)]
    if len(others) == 1 and _OTHER.search(plain):
        other = {"id": others[0].id, "kind": others[0].kind}
        return _of_it(_OTHER.sub("it", plain), other, now)
    if last.name == "timer.list" and follow.kind == "also":
        kinds = _WHERE.sub("", rest).removeprefix("the ").removeprefix("my ")
        return Intent(last.name, {"kind": kinds[:-1]}) if kinds in ("alarms", "timers") else None
    if follow.kind == "also" and last.name in ("timer.left", "timer.cancel", "timer.pause"):
        kind = {"kind": last.slots["kind"]} if "kind" in last.slots else {}
        slots = which.answer(_WHERE.sub("", rest), timers, now)
        return Intent(last.name, {**kind, **slots}) if slots else None
    if timer is None:
        return None
    known = {"id": timer.id, "kind": timer.kind}
    if timer.kind == ALARM and (half := in_other_half(timer, text, now)):
        return Intent("timer.change", {**known, "to": {"until": half}})
    if last.name == "timer.pause" and _RESUME.match(plain):
        return Intent("timer.resume", known)
    for words in (rest, plain):
        if (of_it := _of_it(words, known, now)) is not None:
            return of_it
    pushed = _PUSH.match(plain)
    if pushed is not None and "duration" in (amount := end(pushed["amount"], now) or {}):
        return Intent("timer.add", {**known, "amount": amount["duration"]})
    if by := _BY.match(rest):
        amount = end(by["amount"], now) or {}
        if "duration" in amount:
            longer = by["way"] in ("longer", "more", "later")
            do = "timer.add" if longer else "timer.reduce"
            return Intent(do, {**known, "amount": amount["duration"]})
    found = _correction(last, timer, follow, text, now)
    if found is not None or not follow.denies or "name" not in last.slots:
        return found
    # "no, rice": the name was misheard
    named = label(_WHERE.sub("", rest), now)
    return Intent("timer.rename", {**known, "new_name": named}) if named else None


def _left(timer: Timer) -> Intent:
    return Intent("timer.left", {"id": timer.id})


def _of_it(words: str, known: dict[str, Any], now: datetime) -> Intent | None:
    """What is done to "it", which is the timer that was dealt with last."""
    if called := _CALLED.match(words):
        new_name = name(called["name"], now)
        return Intent("timer.rename", {**known, "new_name": new_name}) if new_name else None
    for pattern, intent in _OF_IT:
        match = pattern.match(words)
        if match is None:
            continue
        if "to" in match.groupdict():
            to = target(match["to"], now) or until(match["to"], now)
            return Intent(intent, {**known, "to": to}) if to else None
        if "amount" not in match.groupdict():
            return Intent(intent, known)
        amount = end(match["amount"], now) or {}
        return (
            Intent(intent, {**known, "amount": amount["duration"]})
            if "duration" in amount
            else None
        )
    return None


def _correction(
    last: Intent, timer: Timer, follow: Followup, said: str, now: datetime
) -> Intent | None:
    """Another length, time or rule in place of the one just said."""
    rest = follow.rest
    again_on: dict[str, Any] | None = {"repeat": {}} if rest in _ONCE else recurring(rest, now)
    if again_on is not None and timer.kind != ALARM:
        return None
    if again_on is None and follow.kind != "correct":
        return None
    value = _WHERE.sub("", rest)
    if timer.kind == ALARM:
        found = again_on or target(value, now) or until(value, now)
    else:
        found = again_on or end(value, now)
    if found is None:
        return None
    if last.name in ("timer.add", "timer.reduce"):
        by = with_time_of(timer, found, said, now).get("duration")
        return Intent(last.name, {**last.slots, "amount": by}) if by else None
    if last.name == "timer.snooze":
        by = found.get("duration") or found.get("number", 0) * 60
        known = {"id": timer.id, "kind": timer.kind}
        return Intent("timer.change", {**known, "to": {"duration": by}}) if by else None
    new = with_time_of(timer, found, said, now)
    if last.name == "timer.set" and follow.kind == "correct":
        kept = {k: v for k, v in last.slots.items() if k in ("kind", "name")}
        return Intent(last.name, {**kept, **new})
    return Intent("timer.change", {"id": timer.id, "kind": timer.kind, "to": new})


def in_other_half(timer: Timer, text: str, now: datetime) -> str | None:
    """The moment that "a.m." or "no, in the evening" makes of that of the timer; None where
    only a half of the day is meant that it is in already, or none is named."""
    named = _HALF.match(followup(text).rest)
    ends = timer.ends.astimezone(now.tzinfo)
    if named is None or (named["am"] is not None) == (ends.hour < 12):
        return None
    moment = ends.replace(hour=(ends.hour + 12) % 24)
    if moment.astimezone(UTC) <= now.astimezone(UTC):
        moment += timedelta(1)
    return moment.isoformat(timespec="seconds")


def with_time_of(timer: Timer, slots: dict[str, Any], said: str, now: datetime) -> dict[str, Any]:
    """What a change is to (duration, until, repeat, number), completed by what there is.

    A number without a unit counts as the old length does, a day or a rule keeps the old time
    of day, a new time keeps the rule; "eight" for an alarm at 7 AM is 8 AM.
    """
    new: dict[str, Any] = {
        key: slots[key] for key in ("duration", "until", "repeat") if key in slots
    }
    ends = timer.ends.astimezone(now.tzinfo)
    if "day" in slots and not new and timer.kind != TIMER:
        at = ends.time().replace(fold=0)
        there = datetime.combine(date.fromisoformat(slots["day"]), at, now.tzinfo)
        return {"until": there.isoformat(timespec="seconds"), "repeat": {}}
    if "number" in slots and not new:
        return {"duration": slots["number"] * _SECONDS[_unit_of(timer.seconds)]}
    if timer.kind == TIMER or "duration" in new:
        return new
    if "until" in new and not _HALF_DAY.search(normalize(said)):
        new["until"] = _same_half(datetime.fromisoformat(new["until"]), ends, now).isoformat()
    if "until" in new and not {"repeat"} & new.keys() and timer.repeat is None:
        new["until"] = _on_its_day(
            datetime.fromisoformat(new["until"]), ends, said, now
        ).isoformat()
    wall = datetime.fromisoformat(new["until"]) if "until" in new else ends
    if "repeat" in new and not new["repeat"]:
        return {"until": wall.isoformat(), "repeat": {}}
    if "repeat" not in new and timer.repeat is None:
        return new
    rule = new["repeat"] if "repeat" in new else timer.repeat.said() if timer.repeat else {}
    at = wall.astimezone(now.tzinfo).time()
    coming = Recurrence.of(rule, at, now - timedelta(1)).next_after(now)
    return new if coming is None else {"until": coming.isoformat(), "repeat": rule}


def _unit_of(seconds: float) -> str:
    """The unit that a length is said in."""
    return next((unit for unit in reversed(UNITS) if seconds >= _SECONDS[unit]), UNITS[0])


def first_of(repeat: dict[str, Any], until: datetime, said: str, now: datetime) -> datetime:
    """The first moment of what comes again, from a rule and a time that were said apart.

    "A weekday alarm for seven" is in the morning, whatever half of the day comes first.
    """
    if until.hour >= 17 and not _HALF_DAY.search(normalize(said)):
        until = until.replace(hour=until.hour - 12)
    elif Recurrence.starting(repeat, until).comes_on(until.date()):
        return until
    rule = Recurrence.of(repeat, until.time(), now - timedelta(1))
    return rule.next_after(now) or until


def _same_half(moment: datetime, old: datetime, now: datetime) -> datetime:
    """That hour in the same half of the day as before, whichever comes next."""
    moment = moment.astimezone(now.tzinfo)
    if (moment.hour < 12) != (old.hour < 12):
        moment = moment.replace(hour=(moment.hour + 12) % 24)
        if moment.astimezone(UTC) <= now.astimezone(UTC):
            moment += timedelta(1)
    return moment


def _on_its_day(moment: datetime, old: datetime, said: str, now: datetime) -> datetime:
    """That time on the day of the old one, where no day was said."""
    words = _TO.sub("", followup(said).rest)
    when = parse_time(words, now)
    if when is None or when.has_date:
        return moment
    moment = moment.astimezone(now.tzinfo)
    there = datetime.combine(old.date(), moment.time().replace(fold=0), now.tzinfo)
    return there if there.astimezone(UTC) > now.astimezone(UTC) else moment


def _another(last: Intent, rest: str, now: datetime) -> Intent | None:
    """ "and another one for pasta", "one more for ten minutes", "another one"."""
    slots = {k: v for k, v in last.slots.items() if k in ("kind", "duration", "until", "repeat")}
    if not rest:
        return Intent("timer.set", slots)
    words = _WHERE.sub("", rest)
    kind = {"kind": slots["kind"]} if "kind" in slots else {}
    found = (until(words, now) if kind else end(words, now)) if words != rest else None
    if found is not None and "number" in found and "duration" in slots:
        # "and one for six" after ten minutes
        found = {"duration": found["number"] * _SECONDS[_unit_of(slots["duration"])]}
    if found is not None and {"duration", "until"} & found.keys():
        if "until" in found and "until" in slots and not _HALF_DAY.search(words):
            old = datetime.fromisoformat(slots["until"])
            found["until"] = _same_half(
                datetime.fromisoformat(found["until"]), old, now
            ).isoformat()
        return Intent("timer.set", {**kind, **found})
    if words != rest and (both := labelled(words.removeprefix("the "), now)) and not kind:
        return Intent("timer.set", both)
    called, _, tail = words.partition(" for ")
    timed = end(tail, now) if tail else None
    named = label(called if timed else words, now) if words != rest else None
    if named is None:
        return None
    return Intent("timer.set", {**(kind | timed if timed else slots), "name": named})
