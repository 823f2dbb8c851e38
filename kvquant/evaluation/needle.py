"""Does the model still find a fact that was said long ago?

Facts are hidden at even distances in a long plain text; after it each is asked for. The answer
is the likeliest of a fixed list of words, which holds the answers to all the other facts of the
same text too, so that a blurred memory picks a wrong one. A random guess is right in one of 24.
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

FACTS = 5
"""In one text."""

_PLACES = (
    "boat house", "garden shed", "old mill", "music room", "north tower", "wine cellar",
    "post office", "toy shop", "fish market", "stone bridge", "town hall", "bakery",
)  # fmt: skip
_WORDS = (
    "apple", "river", "winter", "silver", "copper", "pepper", "orange", "candle", "forest",
    "butter", "cotton", "summer", "lemon", "garden", "window", "honey", "paper", "rabbit",
    "coffee", "violin", "marble", "feather", "onion", "tiger",
)  # fmt: skip
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
class Haystack:
    """text as tokens; asked: of each fact, the question's tokens and the answer's number."""

    tokens: list[int]
    asked: list[tuple[list[int], int]]


@dataclass(slots=True)
class Recall:
    """right: (texts, FACTS), 1 where the fact was found; the facts stand in order of depth."""

    setting: Setting
    right: NDArray[np.float64]
    margin: NDArray[np.float64]
    bits: float


def word(answer: int) -> str:
    """The answer of this number."""
    return _WORDS[answer]


def haystacks(engine: Engine, context: int, n: int, seed: int = 1) -> list[Haystack]:
    """Raises SettingError when the context is too short for the facts."""
    return [_haystack(engine, context, random.Random(seed + i)) for i in range(n)]


def _haystack(engine: Engine, context: int, choose: random.Random) -> Haystack:
    encode = engine.tokenizer.encode
    places = choose.sample(_PLACES, FACTS)
    answers = choose.sample(range(len(_WORDS)), FACTS)
    facts = [
        encode(f" The secret word of the {place} is {_WORDS[answer]}.")
        for place, answer in zip(places, answers, strict=True)
    ]
    asked = [
        (
            encode(
                f"\n\nQuestion: What is the secret word of the {place}?\n"
                f"Answer: The secret word of the {place} is"
            ),
            answer,
        )
        for place, answer in zip(places, answers, strict=True)
    ]
    room = context - sum(map(len, facts)) - max(len(ids) for ids, _ in asked)
    filler = [encode(f" {sentence}") for sentence in _FILLER]
    if room < FACTS * max(map(len, filler)) * 2:
        raise SettingError(
            "needle.context", f"A context of {context} tokens is too short to hide facts in."
        )
    tokens: list[int] = []
    used = 0
    for number, fact in enumerate(facts):
        used += _fill(tokens, filler, room * (number + 0.5) / FACTS - used, choose)
        tokens += fact
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
    words = [engine.tokenizer.encode(f" {word}")[0] for word in _WORDS]
    if len(set(words)) < len(words):
        raise SettingError("needle.words", "This model's tokens do not tell the words apart.")
    right = np.zeros((len(found), FACTS))
    margin = np.zeros((len(found), FACTS))
    bits = 0.0
    session = engine.session()
    for i, hay in enumerate(found):
        session.prefill(hay.tokens)
        bits += 16 * session.kv_bytes / session.kv_bytes_fp16 / len(found)
        saved = session.snapshot() if engine.info.backend == "native" else None
        for fact, (question, answer) in enumerate(hay.asked):
            if saved is not None:
                session.restore(saved)
            session.prefill([*hay.tokens, *question])
            scores = session.logits()[words].astype(np.float64)
            right[i, fact] = scores.argmax() == answer
            margin[i, fact] = scores[answer] - np.delete(scores, answer).max()
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
