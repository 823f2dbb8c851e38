"""Does the model still find a fact that was said long ago?

Five facts are hidden at even distances in a long plain text; after it each is asked for, and the
answer is the likeliest of eight words. A random guess is right one time in eight; which word it is
and where the fact stands differ from text to text.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.engine import Engine
from kvquant.errors import SettingError
from kvquant.evaluation.statistics import interval
from kvquant.scoring import Setting

_KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Aunt Maria's favourite fruit is the", "What is Aunt Maria's favourite fruit?",
        ("apple", "orange", "lemon", "banana", "cherry", "peach", "grape", "melon"),
    ),
    (
        "The old sailor was born in", "Where was the old sailor born?",
        ("Paris", "London", "Rome", "Berlin", "Madrid", "Dublin", "Vienna", "Athens"),
    ),
    (
        "The door of the boat house is painted", "Which colour is the door of the boat house?",
        ("red", "blue", "green", "yellow", "white", "black", "purple", "brown"),
    ),
    (
        "The doctor's sister plays the", "What does the doctor's sister play?",
        ("piano", "guitar", "violin", "drums", "flute", "trumpet", "organ", "harp"),
    ),
    (
        "The secret animal on the coat of arms is a", "What is the animal on the coat of arms?",
        ("lion", "bear", "wolf", "horse", "dragon", "fox", "dog", "fish"),
    ),
)  # fmt: skip
"""(the fact without its last word, the question, what the last word may be): one of each is hidden
in every text."""

FACTS = len(_KINDS)
"""In one text."""

_FILLER = (
    "The rain had stopped before breakfast, and the lane was full of puddles.",
    "Someone had left a bicycle against the fence, and nobody came to fetch it.",
    "A neighbour talked about the price of bread and then about her two sons.",
    "In the afternoon the children built a small dam of twigs across the ditch.",
    "The train was late again, so the people on the platform began to chat.",
    "He sharpened three pencils, looked at the list and put it back in the drawer.",
    "There was soup for dinner, with far too much salt in it, but they ate it all.",
    "The cat slept on the warm stove and did not wake up when the door was shut.",
    "Two men carried a heavy table up the stairs and scratched the wall on the way.",
    "On Thursday the library opens an hour later than on the other days.",
    "The lamp in the hall flickered, and it took them an evening to find out why.",
    "She wrote a long letter to her aunt and forgot to put a stamp on it.",
    "The new teacher came from the coast and spoke rather quickly.",
    "They painted the bench green, although most of them had voted for blue.",
    "A dog barked behind the houses until somebody whistled for it.",
    "The clock in the kitchen was five minutes fast, and everyone knew it.",
    "It was so quiet in the valley that one could hear the saw of the joiner.",
    "In the end they agreed to meet again in a week and to bring some cake.",
    "The path to the lake was closed because a tree had fallen across it.",
    "Nobody remembered who had bought the piano or who had last played it.",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as tokens, the first tokens of the words to choose from, and the right one."""

    tokens: list[int]
    words: list[int]
    answer: int


@dataclass(frozen=True, slots=True)
class Haystack:
    """A text as tokens, and what is asked about it, in the order of the facts in it."""

    tokens: list[int]
    asked: list[Asked]


@dataclass(slots=True)
class Recall:
    """right: (texts, facts), 1 where the fact was found; the facts stand in order of depth."""

    setting: Setting
    right: NDArray[np.float64]
    margin: NDArray[np.float64]
    bits: float


def haystacks(engine: Engine, context: int, n: int, seed: int = 1) -> list[Haystack]:
    """Raises SettingError when the context is too short for the facts."""
    return [_haystack(engine, context, random.Random(seed + i)) for i in range(n)]


def _haystack(engine: Engine, context: int, choose: random.Random) -> Haystack:
    encode = engine.tokenizer.encode
    facts, asked = [], []
    for fact, question, words in choose.sample(_KINDS, FACTS):
        answer = choose.randrange(len(words))
        first = [encode(f" {word}")[0] for word in words]
        if len(set(first)) < len(first):
            raise SettingError("needle.words", "This model's tokens do not tell the words apart.")
        facts.append(encode(f" {fact} {words[answer]}."))
        asked.append(Asked(encode(f"\n\nQuestion: {question}\nAnswer: {fact}"), first, answer))
    room = context - sum(map(len, facts)) - max(len(a.tokens) for a in asked)
    filler = [encode(f" {sentence}") for sentence in _FILLER]
    if room < FACTS * max(map(len, filler)) * 2:
        raise SettingError(
            "needle.context", f"A context of {context} tokens is too short to hide facts in."
        )
    tokens: list[int] = []
    used = 0
    for number, hidden in enumerate(facts):
        used += _fill(tokens, filler, room * (number + 0.5) / FACTS - used, choose)
        tokens += hidden
    _fill(tokens, filler, room - used, choose)
    return Haystack(tokens, asked)


def _fill(
    tokens: list[int], filler: Sequence[list[int]], room: float, choose: random.Random
) -> int:
    """Appends sentences as long as they fit; returns their number of tokens."""
    before = len(tokens)
    sentences: list[list[int]] = []
    while True:
        if not sentences:
            sentences = choose.sample(filler, len(filler))
        if len(tokens) - before + len(sentences[-1]) > room:
            return len(tokens) - before
        tokens += sentences.pop()


def recall(
    engine: Engine,
    setting: Setting,
    found: Sequence[Haystack],
    progress: Callable[[str, float], None],
) -> Recall:
    """The text is computed as a prompt is, each question after it. Raises KvquantError."""
    right = np.zeros((len(found), len(found[0].asked)))
    margin = np.zeros_like(right)
    bits = 0.0
    session = engine.session()
    for i, hay in enumerate(found):
        session.prefill(hay.tokens)
        bits += 16 * session.kv_bytes / session.kv_bytes_fp16 / len(found)
        saved = session.snapshot() if engine.info.backend == "native" else None
        for fact, asked in enumerate(hay.asked):
            if saved is not None:
                session.restore(saved)
            session.prefill([*hay.tokens, *asked.tokens])
            scores = session.logits()[asked.words].astype(np.float64)
            right[i, fact] = scores.argmax() == asked.answer
            margin[i, fact] = scores[asked.answer] - np.delete(scores, asked.answer).max()
        progress(setting.name, (i + 1) / len(found))
    return Recall(setting, right, margin, bits)


def row(result: Recall) -> dict[str, Any]:
    """recall as a fraction; by_depth: from the text's begin to its end; margin in nats."""
    low, high = interval(result.right, 1)
    return {
        "needle": round(float(result.right.mean()), 4),
        "needle_detail": {
            "n": result.right.size,
            "bits_mean": round(result.bits, 3),
            "low": round(low, 4),
            "high": round(high, 4),
            "margin": round(float(result.margin.mean()), 3),
            "by_depth": [round(float(x), 3) for x in result.right.mean(axis=0)],
        },
    }
