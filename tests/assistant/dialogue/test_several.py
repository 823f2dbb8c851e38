"""A sentence of several commands is taken apart only where every part is one."""

from __future__ import annotations

import pytest

from assistant.dialogue.several import several
from assistant.intent.base import Intent

KNOWN = {"light off", "set a timer", "mute", "bread and butter", "what time is it"}


def understand(text: str) -> Intent | None:
    plain = text.strip(" .?!,").lower()
    return Intent(plain) if plain in KNOWN else None


def parts(text: str) -> list[str]:
    return [intent.name for intent in several(text, understand)]


@pytest.mark.parametrize(
    "text",
    [
        "light off and set a timer",
        "light off then set a timer",
        "Light off, and then set a timer.",
        "Light off. Set a timer.",
        "light off, set a timer",
        "light off and after that set a timer",
    ],
)
def test_two(text: str) -> None:
    assert parts(text) == ["light off", "set a timer"]


def test_three() -> None:
    assert parts("mute and light off and set a timer") == ["mute", "light off", "set a timer"]


def test_an_and_within_a_command_is_no_seam() -> None:
    assert parts("bread and butter and mute") == ["bread and butter", "mute"]


@pytest.mark.parametrize(
    "text",
    [
        "light off",
        "light off and fly to the moon",
        "the story of a cat and light off",
        "and light off",
        "mute and mute and mute and mute",
        "mute and " + "very " * 40 + "mute",
        "",
    ],
)
def test_what_is_not_wholly_commands(text: str) -> None:
    assert parts(text) == []
