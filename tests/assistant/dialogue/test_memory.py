"""What the user told is given back in his own words, and nothing else is made up."""

from __future__ import annotations

import pytest

from assistant.dialogue.history import Exchange
from assistant.dialogue.memory import asks_about_oneself, recall

SAID = [
    Exchange(text, "Nice.")
    for text in (
        "I have two cats called Mia and Leo",
        "where is it?",
        "My bike is red.",
        "Cats purr",
    )
]


@pytest.mark.parametrize(
    "text",
    [
        "what is my dog called",
        "how old are my children",
        "where do I live",
        "who is my boss",
        "what is the name of my uncle's parrot",
        "what's the number of our locker",
        "who took my umbrella",
        "who rang while I was asleep",
        "who is at the back door",
    ],
)
def test_what_only_the_user_knows(text: str) -> None:
    assert asks_about_oneself(text)


@pytest.mark.parametrize(
    "text",
    [
        "what should I do",
        "what do I need for a cake",
        "how do I fix my bike",
        "what is my best move",
        "what is the best name for my parrot",
        "who can help me with maths",
        "who is at the door of the castle in the story",
        "what is the capital of Peru",
        "my dog is called Rex",
    ],
)
def test_what_others_may_know(text: str) -> None:
    assert not asks_about_oneself(text)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what are my cats called", "You have two cats called Mia and Leo."),
        ("what color is my bike", "Your bike is red."),
        ("how old is my dog", ""),
    ],
)
def test_recall(question: str, answer: str) -> None:
    assert recall(question, SAID) == answer


def test_the_last_word_counts() -> None:
    later = [*SAID, Exchange("my bike is green now!", "I see.")]
    assert recall("what color is my bike", later) == "Your bike is green now!"
