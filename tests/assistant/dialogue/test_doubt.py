"""Questions of fact, and whether two answers to one say the same."""

from __future__ import annotations

import pytest

from assistant.dialogue.doubt import agree, asks_fact


@pytest.mark.parametrize(
    "text",
    [
        "who built the pyramids",
        "Please tell me who built the pyramids.",
        "when was Haydn born",
        "where is Salzburg",
        "how many strings does a violin have",
        "what is the capital of Peru",
        "what is the longest river in Asia",
        "what year did the Beatles part",
        "which planet is the biggest",
        "name a river in Africa",
        "what is seven times eight",
        "in what year was the telephone invented",
    ],
)
def test_question_of_fact(text: str) -> None:
    assert asks_fact(text)


@pytest.mark.parametrize(
    "text",
    [
        "how are you",
        "who are you",
        "how old are you",
        "what is your name",
        "what is my cat called",
        "what do you think of jazz",
        "what is the meaning of life",
        "what should I do today",
        "what can I cook with eggs",
        "tell me a joke",
        "why is the sky blue",
        "I am bored",
        "explain gravity",
    ],
)
def test_no_question_of_fact(text: str) -> None:
    assert not asks_fact(text)


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("what is the capital of Peru", "The capital of Peru is Lima.", "It's Lima. I like it."),
        ("how many legs has a bee", "A bee has six legs.", "Bees have 6 legs in all."),
        ("who wrote it", "Jane Austen wrote it.", "It was written by Jane Austen."),
        ("how far is it", "It is 1,200 km.", "About 1200 km."),
    ],
)
def test_the_same(question: str, one: str, other: str) -> None:
    assert agree(question, one, other)


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("what is the capital of Peru", "The capital of Peru is Lima.", "It's Cusco."),
        ("how many legs has a bee", "A bee has six legs.", "A bee has eight legs."),
        ("when was it", "It was in May 1802.", "It was in May 1820."),
        ("who wrote it", "It was Jane Austen.", ""),
        ("who wrote it", "", ""),
        ("where is Linz", "Linz is.", "Linz is."),
    ],
)
def test_not_the_same(question: str, one: str, other: str) -> None:
    assert not agree(question, one, other)
