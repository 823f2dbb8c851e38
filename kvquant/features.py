"""What a controller sees of a token when it leaves the window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.controller_file import FeatureFile, Shape
from kvquant.vector_format import Floats

SMALLEST = np.float32(2.0**-20)
"""Keeps the logarithm of zero finite."""

MASS, LATE, PEAK, KEY_NORM, VALUE_NORM, LAYER_MASS, TOKEN_MASS = range(7)
RARITY, ENTROPY, VARIANCE, POSITION, STATIC_KEY, STATIC_VALUE = range(7, 13)
N_FEATURES = 13


def rarity(counts: NDArray[np.integer], total: int, observed: int) -> Floats:
    """R = -log((c + 1) / (N + V_obs + 1)) of tokens that came c times among ``total`` with
    ``observed`` different ones."""
    share = (counts.astype(np.float64) + 1.0) / (total + observed + 1.0)
    found: Floats = (-np.log(share)).astype(np.float32)
    return found


def entropy(logits: Floats) -> Floats:
    """H = -Σ p log p of the predictions, natural logarithm. logits: (n, n_vocab)."""
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    p = np.exp(shifted)
    total = p.sum(-1, keepdims=True)
    mean = (p * np.maximum(shifted, -1e30)).sum(-1) / total[:, 0]
    found: Floats = (np.log(total[:, 0]) - mean).astype(np.float32)
    return found


def attention_variance(scores: Floats, *, normalised: bool = True) -> Floats:
    """V: the variance of each query's attention over the keys it sees, mean over heads.

    scores: (n_head, n, n_keys) before the softmax, -inf where a key is not seen. normalised:
    scores are brought to mean 0 and variance 1 first; without that, single large scores decide.
    Returns (n,).
    """
    seen = np.isfinite(scores)
    count = np.maximum(seen.sum(-1, keepdims=True), 1)
    x = np.where(seen, scores, 0.0).astype(np.float64)
    if normalised:
        x = np.where(seen, x - x.sum(-1, keepdims=True) / count, 0.0)
        x /= np.sqrt(np.square(x).sum(-1, keepdims=True) / count + 1e-6)
    top = np.where(seen, x, -np.inf).max(-1, keepdims=True)
    p = np.where(seen, np.exp(x - np.where(np.isfinite(top), top, 0.0)), 0.0)
    p /= np.maximum(p.sum(-1, keepdims=True), 1e-300)
    spread = np.where(seen, p - p.sum(-1, keepdims=True) / count, 0.0)
    variance = np.square(spread).sum(-1) / count[..., 0]
    found: Floats = variance.mean(0).astype(np.float32)
    return found


@dataclass(frozen=True, slots=True)
class TokenFeatures:
    """The token-feature cache: rarity, expected entropy and attention variance of every token,
    float32 (n_vocab,)."""

    rarity: Floats
    entropy: Floats
    variance: Floats

    @classmethod
    def load(
        cls, path: Path, *, fingerprint: int | None = None, shape: Shape | None = None
    ) -> TokenFeatures:
        """Raises ControllerFileError when the file is absent, damaged or of another model."""
        file = FeatureFile.open(path, fingerprint=fingerprint, shape=shape)
        parts = (file.rarity, file.entropy, file.variance)
        return cls(*(part.numpy().astype(np.float32) for part in parts))

    @classmethod
    def none(cls, n_vocab: int) -> TokenFeatures:
        """Zeros: nothing is known about any token."""
        zeros = np.zeros(n_vocab, np.float32)
        return cls(zeros, zeros, zeros)

    def of(self, tokens: NDArray[np.integer]) -> Floats:
        """(n, 3): rarity, entropy, variance of tokens (n,)."""
        return np.stack([self.rarity[tokens], self.entropy[tokens], self.variance[tokens]], -1)


@dataclass(slots=True)
class Received:
    """Attention that tokens got from the queries 1 … W behind them, summed over the query heads of
    a KV head: all of it, that of the later half of these queries, and the most from one query.

    Arrays of one shape, float32; the last axis counts tokens.
    """

    mass: Floats
    late: Floats
    peak: Floats

    @classmethod
    def zeros(cls, *shape: int) -> Received:
        return cls(*(np.zeros(shape, np.float32) for _ in range(3)))

    @classmethod
    def of(cls, weights: Floats, distances: NDArray[np.integer], window: int) -> Received:
        """weights: (…, n, m) that n queries give to m keys; distances: (n, m) from key to query."""
        near = (distances >= 1) & (distances <= window)
        late = near & (2 * distances > window)
        counted = np.where(near, weights, np.float32(0.0))
        mass: Floats = counted.sum(-2)
        return cls(mass, np.where(late, weights, np.float32(0.0)).sum(-2), counted.max(-2))

    def at(self, index: Any) -> Received:
        """A copy of some tokens; index: of the last axis."""
        found = (np.array(part[..., index]) for part in (self.mass, self.late, self.peak))
        return Received(*found)

    def put(self, index: Any, other: Received) -> None:
        """Replaces some tokens."""
        self.mass[..., index] = other.mass
        self.late[..., index] = other.late
        self.peak[..., index] = other.peak

    def joined(self, other: Received) -> Received:
        """What tokens got from two groups of queries."""
        peak: Floats = np.maximum(self.peak, other.peak)
        return Received(self.mass + other.mass, self.late + other.late, peak)


@dataclass(frozen=True, slots=True)
class Leaving:
    """Tokens that leave the window. positions, tokens: (n,); received: (L, H, n);
    key_norm, value_norm: (L, H, n), lengths of what is stored; entropy: (n,) measured, or None
    for the expected one."""

    positions: NDArray[np.int64]
    tokens: NDArray[np.int64]
    received: Received
    key_norm: Floats
    value_norm: Floats
    entropy: Floats | None = None


def features_of(
    leaving: Leaving, known: TokenFeatures, static: Floats, window: int, group: int
) -> Floats:
    """(n, L, H, 13) of n tokens, not standardised.

    static: (L, H, 2) the table of sensitivities; group: query heads of a KV head.
    """
    n_layer, n_head, n = leaving.key_norm.shape
    f = np.zeros((n, n_layer, n_head, N_FEATURES), np.float32)
    received, most = leaving.received, np.float32(window * group)
    f[..., MASS] = _log2(received.mass / most).transpose(2, 0, 1)
    f[..., LATE] = _log2(received.late / (most / 2)).transpose(2, 0, 1)
    f[..., PEAK] = _log2(received.peak / np.float32(group)).transpose(2, 0, 1)
    f[..., KEY_NORM] = _log2(leaving.key_norm).transpose(2, 0, 1)
    f[..., VALUE_NORM] = _log2(leaving.value_norm).transpose(2, 0, 1)
    f[..., LAYER_MASS] = f[..., MASS].mean(2, keepdims=True)
    f[..., TOKEN_MASS] = f[..., MASS].mean((1, 2), keepdims=True)
    f[..., RARITY : VARIANCE + 1] = known.of(leaving.tokens)[:, None, None]
    if leaving.entropy is not None:
        measured = np.isfinite(leaving.entropy)
        f[measured, ..., ENTROPY] = leaving.entropy[measured, None, None]
    f[..., POSITION] = np.log2(leaving.positions + 1.0)[:, None, None]
    f[..., STATIC_KEY:] = static
    return f


def _log2(x: Floats) -> Floats:
    found: Floats = np.log2(x + SMALLEST)
    return found
