from __future__ import annotations

import pytest

from assistant.intent.base import Intent
from assistant.intent.repair import repair, repaired

WORDS = ["cappuccino", "Ottavia lamp", "kitchen lights", "plug 2", "fifty", "fifteen minute timer"]


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("A capuchino, please.", "a cappuccino please"),
        ("turn on the octavia lamp", "turn on the ottavia lamp"),
        ("turn off the kitten lights", "turn off the kitchen lights"),
        ("Capuchino and the octavia lamp!", "cappuccino and the ottavia lamp"),
    ],
)
def test_what_sounds_like_a_phrase_becomes_it(heard: str, meant: str) -> None:
    assert repair(heard, WORDS) == meant


@pytest.mark.parametrize(
    "heard",
    [
        "Turn on the Ottavia lamp.",
        "set a fifty minute timer",
        "set a timer for fifteen minutes",
        "plug to",
        "plug 3",
        "plug three please",
        "What's the weather in Lisbon?",
        "",
        "...",
    ],
)
def test_the_rest_stays_and_so_does_every_number(heard: str) -> None:
    assert repair(heard, WORDS) == heard


def test_numbers_are_the_same_after_the_repair_of_other_words() -> None:
    assert repair("15 capuchinos", ["cappuccinos", "50"]) == "15 cappuccinos"
    assert repair("fifteen capuchinos", ["fifty cappuccinos"]) == "fifteen capuchinos"


def understand(text: str) -> Intent | None:
    known = {"turn on the ottavia lamp", "call octavia"}
    return Intent("home.on") if text.lower().strip(".") in known else None


@pytest.mark.parametrize(
    ("heard", "taken"),
    [
        # Understood as it is: a word that sounds like a name is left alone.
        ("Call Octavia.", "Call Octavia."),
        ("Turn on the Octavia lamp.", "turn on the ottavia lamp"),
        # The repair does not lead to a command either.
        ("I like the Octavia lamp.", "I like the Octavia lamp."),
        ("", ""),
    ],
)
def test_only_what_is_understood_then_is_repaired(heard: str, taken: str) -> None:
    assert repaired(heard, WORDS, understand) == taken


def test_a_vocabulary_of_nothing_changes_nothing() -> None:
    assert repair("turn on the lamp", ["", "  ", "!"]) == "turn on the lamp"
