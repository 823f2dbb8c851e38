"""What the words in a place of a template are worth."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.intent.slot_types import PARSERS, parse_slot

NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "slots"),
    [
        ("colour", "pale green", {"it": "palegreen"}),
        ("colour", "the lamp", None),
        ("money", "six pounds fifty", {"amount": 6.5, "currency": "GBP"}),
        ("money", "six", None),
        ("ordinal", "the fourth", {"it": 4}),
        ("ordinal", "four", None),
        ("temperature", "19.5 °C", {"it": 19.5}),
        ("temperature", "18", {"it": 18}),
        ("temperature", "0 degrees", {"it": 0}),
        ("temperature", "warm", None),
        ("which", "sixty second", {"duration": 60}),
        ("which", "the second", {"which": 2}),
        ("which", "third", {"which": 3}),
        ("which", "5 minute", {"duration": 300}),
    ],
)
def test_kinds(kind: str, text: str, slots: dict[str, Any] | None) -> None:
    assert parse_slot("it", kind, text, NOW) == slots


def test_days_beyond_the_calendar_are_no_values() -> None:
    for now in (datetime(9999, 12, 31, 23, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)):
        for kind in PARSERS:
            for text in ("seven every day", "until christmas", "tomorrow at 6", "last friday"):
                parse_slot(kind, kind, text, now)
