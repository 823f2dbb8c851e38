from __future__ import annotations

import pytest

from assistant.intent.base import Intent
from assistant.intent.completeness import judge


def grammar(text: str) -> Intent | None:
    known = {
        "what time is it": Intent("clock.time"),
        "set a timer": Intent("timer.set", asks=True),
        "set the volume to ten": Intent("volume.set", {"level": 10}),
    }
    return known.get(text.strip(" .?!").lower())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What time is it?", "complete"),
        ("Set the volume to ten.", "complete"),
        ("Set a timer.", "unfinished"),
        ("Set a timer for", "unfinished"),
        ("set a timer for twelve", "unfinished"),
        ("Set a timer for it.", "unfinished"),
        ("Serve it with thin slices of dry", "unfinished"),
        ("Could you explain to me why the sky over the sea is blue?", "long"),
        ("Set a timer for 12", "unfinished"),
        ("put the milk and", "unfinished"),
        ("Remember to…", "unfinished"),
        ("I was thinking,", "unfinished"),
        ("Why do cats purr?", "unknown"),
        ("seven", "unknown"),
        ("", "unknown"),
        ("?", "unknown"),
    ],
)
def test_judge(text: str, expected: str) -> None:
    assert judge(text, grammar) == expected
