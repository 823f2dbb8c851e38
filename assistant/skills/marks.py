"""Words that a tagger marked -> the values that the grammar would have given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from assistant.intent.base import Intent
from assistant.intent.slot_types import parse_slot


def valued(intent: Intent, now: datetime, kinds: Mapping[str, tuple[str, ...]]) -> Intent:
    """The intent with values in the place of words; words that are no value are left out.

    kinds: for each slot the kinds of value that it may be, tried in turn; other slots stay as
        they are, and so does an intent of the grammar.
    """
    if intent.source == "grammar":
        return intent
    slots: dict[str, Any] = {}
    for slot, value in intent.slots.items():
        if slot not in kinds or not isinstance(value, str):
            slots[slot] = value
            continue
        tried = (parse_slot(slot, kind, value, now) for kind in kinds[slot])
        slots.update(next((found for found in tried if found), {}))
    return replace(intent, slots=slots)
