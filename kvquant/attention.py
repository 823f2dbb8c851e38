"""Attention over keys and values of mixed widths, class by class: a softmax knows no order.

Every part (the tokens of one class, the window) is met by all queries at once; sums and outputs are
kept relative to the largest score so far, as kernels do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvquant.transforms import back, rotate
from kvquant.vector_format import Floats


@dataclass(frozen=True, slots=True)
class Part:
    """Some tokens. keys, values: (m, dim); visible: (n, m) which query sees which, None: all."""

    keys: Floats
    values: Floats
    visible: NDArray[np.bool_] | None = None


class OnlineSoftmax:
    """n queries' outputs (n, dim), part by part. A query that sees nothing gets zeros."""

    def __init__(self, n: int, dim: int) -> None:
        self._max = np.full((n, 1), -np.inf, np.float32)
        self._total = np.zeros((n, 1), np.float32)
        self._out = np.zeros((n, dim), np.float32)

    def add(self, scores: Floats, values: Floats) -> None:
        """scores: (n, m), -inf where a token is not seen; values: (m, dim)."""
        if scores.shape[1] == 0:
            return
        top = np.maximum(self._max, scores.max(-1, keepdims=True))
        shift = _finite(top)
        keep = np.exp(self._max - shift)
        weights = np.exp(scores - shift)
        self._max = top
        self._total = self._total * keep + weights.sum(-1, keepdims=True)
        self._out = self._out * keep + weights @ values

    def output(self) -> Floats:
        out: Floats = self._out * self._inverse()
        return out

    def weights(self, scores: Floats) -> Floats:
        """(n, m): what tokens with these scores got, once all parts were added."""
        found: Floats = np.exp(scores - _finite(self._max)) * self._inverse()
        return found

    def _inverse(self) -> Floats:
        some = self._total > 0
        return np.where(
            some, np.float32(1.0) / np.where(some, self._total, np.float32(1.0)), np.float32(0.0)
        )


def scores_of(queries: Floats, part: Part) -> Floats:
    """(n, m) of queries (n, dim) that are scaled already; -inf where a token is not seen."""
    scores: Floats = queries @ part.keys.T
    if part.visible is None:
        return scores
    return np.where(part.visible, scores, np.float32(-np.inf))


def attend(queries: Floats, parts: Sequence[Part]) -> tuple[Floats, list[Floats]]:
    """Outputs (n, dim) of queries (n, dim) that are scaled already, and each part's weights."""
    softmax = OnlineSoftmax(*queries.shape)
    scores = [scores_of(queries, part) for part in parts]
    for part, of_part in zip(parts, scores, strict=True):
        softmax.add(of_part, part.values)
    return softmax.output(), [softmax.weights(of_part) for of_part in scores]


def turned_keys(stored: Floats, mean: Floats, cos: Floats, sin: Floats) -> Floats:
    """Keys of the layout "pre_rope", ready to meet plain rotated queries: out of the stored space,
    then turned by their positions. stored: (m, dim); cos, sin: (m, dim / 2)."""
    return rotate(back(stored, mean), cos, sin)


def _finite(top: Floats) -> Floats:
    """The largest score, 0 where there is none, so that differences to it are never NaN."""
    return np.where(np.isneginf(top), np.float32(0.0), top)
