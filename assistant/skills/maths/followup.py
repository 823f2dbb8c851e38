"""What is said right after a sum or a conversion: "times two", "half of that", "and in feet"."""

from __future__ import annotations

import re
from datetime import datetime

from assistant.intent.base import Intent
from assistant.intent.followup import followup
from assistant.intent.formula import parse_figure
from assistant.intent.maths_slots import measure, unit
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.values.number import parse_number

_ASK = re.compile(
    r"^(?:what is|what are|how much is|calculate|work out|tell me|now|then|and|so|okay|and what is)"
    r"\s"
)
_OPERATOR = re.compile(
    r"^(?:plus|minus|times|divided by|multiplied by|over|less|take away|to the power of|squared"
    r"|cubed|[-+*/^])"
)
_ORDERS = (
    (re.compile(r"^add (?:on )?(?:another )?(?=[\w.])(?!up\b)"), "plus "),
    (re.compile(r"^(?:subtract|deduct|take off|knock off) (?:another )?"), "minus "),
    (re.compile(r"^multiply (?:(?:it|that) )?by "), "times "),
    (re.compile(r"^divide (?:(?:it|that) )?by "), "divided by "),
    (re.compile(r"^(?:double|twice) (?:it|that)$"), "times 2"),
    (re.compile(r"^(?:halve|half) (?:it|that)$"), "divided by 2"),
    (re.compile(r"^square (?:it|that)$"), "squared"),
)
"""Orders to go on, as the sums have them: "add 14" is "plus 14"."""
_TO_IT = re.compile(r" (?:to|from|off) (?:it|that|the result)$")
_THAT = re.compile(r"\b(?:that|it|this|the result|the answer)\b")
_PERCENT = re.compile(r"[\w. -]{1,30}(?:percent|per cent| ?%)")
_INTO = re.compile(r"^(?:(?:in|into|to|as) )?(?P<unit>.+)$")


def revised(last: Intent, text: str, now: datetime) -> Intent | None:
    """The intent that ``text`` makes of the last one; None when it is none."""
    if last.name == "maths.sum" and "sum" in last.slots:
        return _sum(str(last.slots["sum"]), text)
    if last.name == "maths.convert" and {"amount", "unit"} <= last.slots.keys():
        return _conversion(last, text, now)
    return None


def _sum(before: str, text: str) -> Intent | None:
    words = strip_courtesy(normalize(text))
    while match := _ASK.match(words):
        words = words[match.end() :]
    for order, sign in _ORDERS:
        if order.match(words):
            words = order.sub(sign, _TO_IT.sub("", words))
            break
    if (other := _in_its_place(before, words)) is not None:
        new = other
    elif _OPERATOR.match(words):
        new = f"({before}) {words}"
    elif _THAT.search(words):
        new = _THAT.sub(f"({before})", words, count=1)
    else:
        return None
    return Intent("maths.sum", {"sum": new}) if parse_figure(new) is not None else None


def _in_its_place(before: str, words: str) -> str | None:
    """The sum with another part: "and of 120", "what about 20 percent"."""
    for lead in ("what about ", "how about ", "make it ", "make that "):
        words = words.removeprefix(lead)
    part, off, whole = before.partition(" off ")
    if off and words.endswith(" off") and _PERCENT.fullmatch(words.removesuffix(" off")):
        return f"{words} {whole}"
    part, of, whole = before.partition(" of ")
    if not of:
        return None
    if words.startswith("of "):
        return f"{part} {words}"
    return f"{words} of {whole}" if _PERCENT.fullmatch(words) else None


def _conversion(last: Intent, text: str, now: datetime) -> Intent | None:
    said = followup(text)
    if said.kind == "bare" and not said.rest.startswith(("in ", "into ", "to ")):
        return None
    into = _INTO.match(said.rest)
    target = unit(into["unit"], now) if into else None
    if target is not None:
        return Intent(last.name, {**last.slots, "to": target})
    amount = measure(said.rest, now)
    number = parse_number(said.rest)
    if amount is None and number is not None:
        amount = {"amount": number}
    return Intent(last.name, {**last.slots, **amount}) if amount else None
