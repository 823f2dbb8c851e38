"""What a few words mean after a reminder was asked for or set: "at nine", "make it six"."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.followup import followup
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import end, until
from assistant.intent.time_slots import moment, recurring, reminder
from assistant.intent.values.when import parse_time
from assistant.skills.timer.answers import in_other_half, with_time_of
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.table import Timer

_LEAD_INS = re.compile(
    r"^(?:(?:make it|make that|let us say|remind me|remind us|i want you to remind me"
    r"|you should remind me|please|about|of|on)\s+)+"
)
_NO_TASK = re.compile(
    r"^(?:what|which|who|how|why|when|where|is|are|can|could|do|does|did|will|never mind|nothing"
    r"|stop|cancel|no|forget|(?:set|start|make|create) (?:a|an|the|another)"
    r" (?:[\w-]+ )*(?:timer|alarm|reminder))\b"
)
_AT = re.compile(r"^(?:at|to|for|on|until)\s+")


def completed(text: str, known: dict[str, Any], now: datetime) -> Intent | None:
    """The reminder with its answer to what, or to when."""
    words = _LEAD_INS.sub("", strip_courtesy(normalize(text)))
    if not words:
        return None
    if not known.get("text"):
        found = None if _NO_TASK.match(words) else _task(words, known, now)
    else:
        found = _time(words, known, now)
    if found is None:
        return None
    slots = {**known, **found}
    missing = not {"until", "duration"} & slots.keys() or not slots.get("text")
    return Intent("reminder.set", slots, asks=missing)


def _task(words: str, known: dict[str, Any], now: datetime) -> dict[str, Any] | None:
    found = reminder(words if words.startswith("to ") else f"to {words}", now)
    if found is None or "text" not in found:
        return None
    # what was said first stays: "the news at six" may be the name of a programme
    timed = {"until", "duration"} & known.keys()
    return {"text": words.removeprefix("to ")} if timed else found


def _time(words: str, known: dict[str, Any], now: datetime) -> dict[str, Any] | None:
    found = moment(words, now) or until(_AT.sub("", words), now)
    if found is None or "number" in found:
        return None
    if "repeat" in known and "repeat" not in found:
        rule = Recurrence.of(known["repeat"], now.time(), now).words()
        return recurring(f"{rule} at {_AT.sub('', words)}", now) or found
    if "day" in known and "day" not in found and "until" in found:
        day = date.fromisoformat(known["day"])
        if day == now.date():
            return found
        # seen from a day before, "nine" is in the morning
        on = parse_time(f"tomorrow at {_AT.sub('', words)}", now) or parse_time(
            f"tomorrow {words}", now
        )
        at = on.at if on is not None else datetime.fromisoformat(found["until"])
        there = datetime.combine(day, at.time().replace(fold=0), now.tzinfo)
        return {"until": there.isoformat(timespec="seconds")}
    return found


def revised(last: Intent, text: str, timer: Timer | None, now: datetime) -> Intent | None:
    """What corrects the reminder just set, or sets another like it."""
    follow = followup(text)
    rest = follow.rest
    if follow.kind == "also" and last.name == "reminder.set" and rest.startswith("to "):
        # "and to buy milk"
        found = reminder(rest, now)
        if found is None or "text" not in found:
            return None
        when = {k: v for k, v in last.slots.items() if k in ("until", "duration", "repeat")}
        return Intent("reminder.set", {**({} if len(found) > 1 else when), **found})
    if timer is None:
        return None
    if re.fullmatch(r"(?:cancel|delete|remove|forget) (?:it|that)(?: one)?", rest):
        return Intent("reminder.cancel", {"id": timer.id})
    if "duration" not in last.slots and (half := in_other_half(timer, text, now)):
        return Intent("reminder.change", {"id": timer.id, "until": half})
    again = recurring(rest, now)
    if follow.kind != "correct" and again is None:
        return None
    if "duration" in last.slots:
        found = again or end(_AT.sub("", rest), now) or moment(rest, now)
    else:
        found = again or moment(rest, now) or until(_AT.sub("", rest), now)
    if found is None:
        return None
    new = with_time_of(timer, found, text, now)
    if not {"until", "duration"} & new.keys():
        return None
    if last.name == "reminder.set" and follow.kind == "correct":
        return Intent("reminder.set", {"text": timer.name, **new})
    return Intent("reminder.change", {"id": timer.id, **new})
