"""Sentences of the model that help nobody are left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.dialogue.doubt import NOT_SURE
from assistant.dialogue.honesty import HONEST
from assistant.dialogue.nonsense import I_SEE, NOT_UNDERSTOOD, sensible


@pytest.mark.parametrize(
    ("text", "reply", "left"),
    [
        ("disable the last one", "Disable the last one.", NOT_UNDERSTOOD),
        ("I'm going to the shops", "You're going to the shops.", I_SEE),
        ("are you a parrot", "I am a parrot. Parrots can speak.", "Parrots can speak."),
        ("what is the capital of peru", "The capital of Peru is Lima.", "The capital of Peru is "
         "Lima."),
        ("is it late", "No, it's not.", "No, it's not."),
        ("I adore pizza", "I'm so sorry for your loss. Pizza is tasty.", "Pizza is tasty."),
        ("my hamster died", "I'm so sorry for your loss.", "I'm so sorry for your loss."),
        ("do you like tea", "I'm sorry for any confusion. You can find me on Facebook.",
         NOT_SURE),
        ("what is facebook", "Facebook is a social network.", "Facebook is a social network."),
        ("call it", "You can still reach me by phone at 1300 789 5646.", NOT_UNDERSTOOD),
        ("hm", "I can do it in one to three short spoken sentences.", NOT_UNDERSTOOD),
        ("I feel low", "I'm here to help with anything.", I_SEE),
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


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("how do I water a cactus", "Tap the water button on your phone."),
        ("do you know any rivers", "I spent years studying the rivers of Asia."),
        ("what is for dinner", "1: Chop the onions."),
    ],
)
def test_a_screen_or_a_life_that_is_not_there_is_left_out(text: str, answer: str) -> None:
    assert list(sensible([answer], text)) == [NOT_SURE]


def test_what_is_said_where_nothing_was_of_use() -> None:
    life = ["My wife and I love it."]
    assert list(sensible(life, "we painted the fence")) == [I_SEE]
    assert list(sensible(life, "give me a haircut idea")) == [HONEST]
    assert list(sensible(life, "what colour is best?")) == [NOT_SURE]
    assert list(sensible(["Turn the phone off."], "my phone is slow")) == ["Turn the phone off."]


def test_words_without_a_word_of_english_get_no_answer() -> None:
    assert list(sensible(iter(()), "flurp gnarl wobbedy")) == [NOT_UNDERSTOOD]


def test_an_answer_does_not_begin_with_however() -> None:
    (answer,) = sensible(["However, it is often warm in May."], "is it warm in May")
    assert answer == "It is often warm in May."
