"""Questions of fact, and how sure the model was of what it says."""

from __future__ import annotations

import math

import pytest

from assistant.dialogue.doubt import Surety, asks_fact


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
        "what do you call a young goose",
        "how do you say goose in Italian",
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


def surety(question: str, *tokens: tuple[str, float]) -> Surety:
    noted = Surety(question)
    for text, probability in tokens:
        noted.add(text, math.log(probability))
    return noted


CAPITAL = "what is the capital of Peru"


def test_sure_of_the_word_that_answers() -> None:
    told = surety(CAPITAL, ("The capital", 0.2), (" of Peru is", 0.9), (" Lima", 0.8), (".", 0.9))
    assert told.holds("The capital of Peru is Lima.")


def test_not_sure_of_the_word_that_answers() -> None:
    told = surety(CAPITAL, ("The capital of Peru is", 0.9), (" Cusco", 0.3), (".", 0.9))
    assert not told.holds("The capital of Peru is Cusco.")


def test_a_word_is_as_sure_as_all_its_tokens() -> None:
    told = surety(CAPITAL, ("It is", 0.9), (" Are", 0.6), ("qui", 0.6), ("pa", 0.9), (".", 0.9))
    assert not told.holds("It is Arequipa.")


def test_what_only_repeats_the_question_is_no_answer() -> None:
    told = surety(CAPITAL, ("The capital of Peru is the capital of Peru.", 0.9))
    assert not told.holds("The capital of Peru is the capital of Peru.")


def test_each_sentence_is_looked_at_alone() -> None:
    told = surety(
        CAPITAL, ("It is Lima.", 0.9), (" It was", 0.9), (" founded", 0.1), (" then.", 0.9)
    )
    assert told.holds("It is Lima.")
    assert not told.holds(" It was founded then.")
    assert not told.holds("It is Lima."), "each sentence is met once"


def test_a_character_of_several_tokens() -> None:
    told = surety("who was it", ("It was ", 0.9), ("", 0.7), ("", 0.6), ("é", 0.9), ("lise.", 0.9))
    assert not told.holds("It was élise."), "0.7 x 0.6 x 0.9 x 0.9 is less than 0.4"


@pytest.mark.parametrize("number", ["1,200 km", "12 km"])
def test_numbers_are_words(number: str) -> None:
    told = surety("how far is it", ("It is ", 0.9), (number, 0.3), (" far.", 0.9))
    assert not told.holds(f"It is {number} far.")
