"""Slots of free phrasing: words that a tagger marked become values, by the same parsers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.intent.slot_types import PARSERS, parse_slot

_VALUE_ALREADY = re.compile(r"^\d{4}-\d\d-\d\d")


def read(intent: Intent, now: datetime, names: Mapping[str, str]) -> Intent:
    """The intent with values in place of words; what is no value is left out.

    names: the slots that a skill knows under another name than their kind of value.
    An intent of the grammar is returned as it is.
    """
    if intent.source == "grammar":
        return intent
    slots: dict[str, object] = {}
    for slot, value in intent.slots.items():
        known = names.get(slot, slot)
        if not isinstance(value, str) or slot not in PARSERS or _VALUE_ALREADY.match(value):
            slots[known] = value
            continue
        found = parse_slot(known, slot, normalize(value), now)
        slots.update(found or {})
    return replace(intent, slots=slots)
