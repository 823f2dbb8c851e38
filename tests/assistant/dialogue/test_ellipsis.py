"""Short questions are asked in full."""

from __future__ import annotations

import pytest

from assistant.dialogue.ellipsis import in_full

CAPITAL = "What is the capital of Peru?"


@pytest.mark.parametrize(
    ("text", "before", "full"),
    [
        ("And of Chile?", CAPITAL, "what is the capital of chile"),
        ("and Chile", CAPITAL, "what is the capital of chile"),
        ("what about Costa Rica", CAPITAL, "what is the capital of costa rica"),
        ("and in Spain", "what language is spoken in Peru", "what language is spoken in spain"),
        ("and in Chile", CAPITAL, "and in Chile"),
        ("and you", CAPITAL, "and you"),
        ("and why is that so", CAPITAL, "and why is that so"),
        ("and what do you think of it", CAPITAL, "and what do you think of it"),
        ("and Chile", "I like the mountains of Peru", "and Chile"),
        ("and Chile", "", "and Chile"),
        ("Chile", CAPITAL, "Chile"),
    ],
)
def test_what_is_left_out(text: str, before: str, full: str) -> None:
    assert in_full(text, before) == full
