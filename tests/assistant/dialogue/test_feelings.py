"""Somebody who tells how they feel gets a kind sentence, and nobody else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.dialogue.feelings import (
    BORED,
    GLAD,
    HUNGRY,
    ILL,
    LOSS,
    REST,
    SORRY,
    WELL_DONE,
    sympathy,
)
from assistant.intent.normalize import normalize


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I'm really exhausted tonight", REST),
        ("we're starving", HUNGRY),
        ("I am so bored", BORED),
        ("I feel a bit lonely today", SORRY),
        ("I had such a rough week", SORRY),
        ("I couldn't sleep because of the heat", SORRY),
        ("I've got a headache", ILL),
        ("my back is killing me", ILL),
        ("my cat has died", LOSS),
        ("I'm so proud of my daughter", GLAD),
        ("our daughter won the race", WELL_DONE),
        ("I got the job", WELL_DONE),
    ],
)
def test_what_somebody_feels(text: str, answer: str) -> None:
    assert sympathy(normalize(text)) == answer


@pytest.mark.parametrize(
    "text",
    [
        "I'm cold",
        "is anybody hungry",
        "I'm off to work",
        "turn it down, I'm tired of it",
        "I'm Tom",
    ],
)
def test_what_is_no_feeling(text: str) -> None:
    assert sympathy(normalize(text)) == ""


def test_no_command_is_a_feeling() -> None:
    folder = Path(__file__).parents[2] / "data" / "intents"
    lines = [line for file in folder.glob("*.yaml") for line in file.read_text().splitlines()]
    assert len(lines) > 500
    assert [line for line in lines if sympathy(normalize(line.strip(" -\"'")))] == []
