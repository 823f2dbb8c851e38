"""Learns a few intents by few examples: ridge regression, one against the rest.

It is solved in closed form, and so is what each example would score if it had not been seen:
the limits are set by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assistant.intent.heads.features import Scaler
from assistant.intent.heads.tfidf import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_RIDGE = 0.3
_MOST_WEIGHT = 20.0
"""How much more an example counts than one of the many other sentences, at most."""

_OTHERS = 0.995
"""Part of the other sentences that the limit lets nothing through of."""

MOST_TERMS = 20_000
AT_LIMIT, AT_MEDIAN = 0.6, 0.95
"""Scores of a sentence that is just taken, and of one as clear as the median of the examples."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """How one intent does on sentences it has not seen.

    found: part of its examples that it takes; alike: numbers of other sentences that it takes.
    """

    found: float
    alike: list[int]


@dataclass(frozen=True, slots=True)
class Weights:
    """states: (width, intents); words: (terms, intents); bias, limit, median: (intents,)."""

    scaler: Scaler
    vocabulary: Vocabulary
    states: Floats
    words: Floats
    bias: Floats
    limit: Floats
    median: Floats

    def scores(self, pooled: Floats, text: str) -> Floats:
        """(intents,), 0 … 1 each; AT_LIMIT and above is taken. text: folded."""
        numbers, values = self.vocabulary.vector(text)
        x = self.scaler(pooled) / np.float32(np.sqrt(len(pooled)))
        raw = x @ self.states + values @ self.words[numbers] + self.bias
        along = (raw - self.limit) / np.maximum(self.median - self.limit, 1e-3)
        score = AT_LIMIT + (AT_MEDIAN - AT_LIMIT) * along
        clipped: Floats = np.clip(score, 0.0, 0.99).astype(np.float32)
        return clipped


def learn(
    pooled: Floats, texts: Sequence[str], labels: NDArray[np.int64], n_intents: int
) -> tuple[Weights, list[Unseen]]:
    """pooled: (n, width) of all sentences; texts: folded; labels: (n,), -1 for other sentences."""
    scaler = Scaler.of(pooled)
    x = (scaler(pooled) / np.sqrt(pooled.shape[1])).astype(np.float32)
    vocabulary = Vocabulary.of(texts, least=1, most=MOST_TERMS)
    words = np.zeros((len(texts), len(vocabulary)), np.float32)
    for row, text in zip(words, texts, strict=True):
        numbers, values = vocabulary.vector(text)
        row[numbers] = values
    kernel = (x @ x.T + words @ words.T + 1).astype(np.float64)
    alphas, limits, medians, unseen = [], [], [], []
    for intent in range(n_intents):
        mine = labels == intent
        weight = min(_MOST_WEIGHT, float((~mine).sum() / mine.sum()))
        inverse = np.linalg.inv(kernel + np.diag(np.where(mine, _RIDGE / weight, _RIDGE)))
        target = np.where(mine, 1.0, -1.0)
        alpha = inverse @ target
        left_out = target - alpha / np.diag(inverse)
        highest = float(np.quantile(left_out[~mine], _OTHERS))
        median = float(np.median(left_out[mine]))
        limit = max(highest, (highest + median) / 2)
        taken = left_out >= limit
        alphas.append(alpha)
        limits.append(limit)
        medians.append(max(median, limit + 0.1))
        unseen.append(Unseen(float(taken[mine].mean()), np.flatnonzero(taken & ~mine).tolist()))
    a = np.array(alphas, np.float32).T
    weights = Weights(
        scaler, vocabulary, x.T @ a, words.T @ a, a.sum(axis=0),
        np.array(limits, np.float32), np.array(medians, np.float32),
    )  # fmt: skip
    return weights, unseen
