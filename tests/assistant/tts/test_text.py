from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.tts.markup import FORBIDDEN
from assistant.tts.text import Chunk, SpokenStream, spoken_chunks
from tests.assistant.tts.pieces import texts


def stream(*tokens: str) -> list[Chunk]:
    made = SpokenStream()
    out = [chunk for token in tokens for chunk in made.feed(token)]
    return out + made.finish()


CASES = {
    "It is 25 °C now.": ["It is twenty-five degrees Celsius now."],
    "Wind at 90 km/h, **gusts** to 110 km/h.": [
        "Wind at ninety kilometers per hour, gusts to one hundred ten kilometers per hour."
    ],
    "It is 12:01 am. You paid $500!": [
        "It is twelve oh one a.m.",
        "You paid five hundred dollars!",
    ],
    "Humidity is 60%. Take _care_.": ["Humidity is sixty percent.", "Take care."],
    "# Plan\n- 1st: call Dr. Who\n- 2nd: pay £3.50 🎉": [
        "Plan.",
        "first: call Doctor Who.",
        "second: pay three pounds and fifty pence",
    ],
    "1. Heat to 220 °F\n2. Stir": [
        "one: Heat to two hundred twenty degrees Fahrenheit.",
        "two: Stir",
    ],
    "Use [this](https://a.org/b) – it `works`…\n\nReally. 😀": ["Use this, it works…", "Really."],
    "🎉 *** \n\n": [],
    "Grüße! 日本。": ["Grüße!", "日本."],
}


@pytest.mark.parametrize(("text", "spoken"), CASES.items())
def test_table(text: str, spoken: list[str]) -> None:
    assert [c.spoken for c in spoken_chunks(text)] == spoken


@pytest.mark.parametrize("text", CASES)
def test_cut_anywhere(text: str) -> None:
    whole = spoken_chunks(text)
    assert stream(*text) == whole
    for i in range(len(text)):
        assert stream(text[:i], text[i:]) == whole


@settings(deadline=None, max_examples=150)
@given(texts, st.integers(0, 80), st.integers(1, 7))
def test_any_text(text: str, cut: int, size: int) -> None:
    whole = spoken_chunks(text)
    assert stream(text[:cut], text[cut:]) == whole
    assert stream(*(text[i : i + size] for i in range(0, len(text), size))) == whole
    for chunk in whole:
        assert not set(FORBIDDEN) & set(chunk.text + chunk.spoken)
        assert not re.search(r"\d", chunk.spoken)
        assert chunk.spoken


def test_chunks_come_while_the_rest_is_written() -> None:
    made = SpokenStream()
    assert made.feed("You owe me $5") == []
    assert made.feed("00. ") == [Chunk("You owe me $500.", "You owe me five hundred dollars.")]
    assert made.feed("Pay") == []
    assert made.finish() == [Chunk("Pay", "Pay")]


def test_a_stream_that_is_given_up_leaves_nothing_behind() -> None:
    made = SpokenStream()
    made.feed("```python\nsecret ")
    made.finish()
    assert made.feed("Hello. ") == [Chunk("Hello.", "Hello.")]
