"""Sentences of the model that help nobody are left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.dialogue.nonsense import NOT_UNDERSTOOD, sensible


@pytest.mark.parametrize(
    ("text", "reply", "left"),
    [
        ("disable the last one", "Disable the last one.", NOT_UNDERSTOOD),
        ("I'm going to the shops", "You're going to the shops.", NOT_UNDERSTOOD),
        ("are you a parrot", "I am a parrot. Parrots can speak.", "Parrots can speak."),
        ("what is the capital of peru", "The capital of Peru is Lima.", "The capital of Peru is "
         "Lima."),
        ("is it late", "No, it's not.", "No, it's not."),
        ("I adore pizza", "I'm so sorry for your loss. Pizza is tasty.", "Pizza is tasty."),
        ("my hamster died", "I'm so sorry for your loss.", "I'm so sorry for your loss."),
        ("do you like tea", "I'm sorry for any confusion. You can find me on Facebook.",
         NOT_UNDERSTOOD),
        ("what is facebook", "Facebook is a social network.", "Facebook is a social network."),
        ("call it", "You can still reach me by phone at 1300 789 5646.", NOT_UNDERSTOOD),
        ("hm", "I can do it in one to three short spoken sentences.", NOT_UNDERSTOOD),
        ("I feel low", "I'm here to help with anything.", NOT_UNDERSTOOD),
        ("the flat is cold", "Warm socks help. So does tea.", "Warm socks help. So does tea."),
        ("nothing", "", ""),
    ],
)  # fmt: skip
def test_what_is_left(text: str, reply: str, left: str) -> None:
    assert "".join(sensible([reply], text)) == left
    assert "".join(sensible(list(reply), text)) == left


def test_a_sentence_is_let_go_as_soon_as_it_ends() -> None:
    def pieces() -> Iterator[str]:
        yield "Warm socks help."
        raise RuntimeError("asked for more")

    assert next(iter(sensible(pieces(), "the flat is cold"))) == "Warm socks help."
