"""What the vocabulary file says of each token: rarity, expected entropy and variance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

PRIOR = 8.0
"""Seen so often, a token's own mean weighs as much as the mean of all."""


@dataclass(frozen=True, slots=True)
class TokenTable:
    """Each (n_vocab,). rarity: -log((c + 1) / (N + V_obs + 1)), natural, of c occurrences among N
    tokens, V_obs different ones; entropy: of the prediction after the token, natural; variance:
    of attention on layer-normalised scores in the last layer, in squared mean weights."""

    rarity: Floats
    entropy: Floats
    variance: Floats
    count: int
    observed: int


def token_table(
    n_vocab: int, text: Sequence[int], seen: Iterable[tuple[Floats, Floats, Floats]]
) -> TokenTable:
    """text: what is counted; seen: (tokens, entropy, variance) of each calibrated window."""
    counts = np.bincount(np.asarray(text, np.int64), minlength=n_vocab)
    observed = int((counts > 0).sum())
    rarity = -np.log((counts + 1) / (len(text) + observed + 1))
    parts = [np.concatenate(x) for x in zip(*seen, strict=True)]
    tokens = parts[0].astype(np.int64)
    n = np.bincount(tokens, minlength=n_vocab)
    means = []
    for values in parts[1:]:
        total = np.bincount(tokens, values.astype(np.float64), n_vocab)
        means.append((total + PRIOR * values.mean()) / (n + PRIOR))
    entropy, variance = (m.astype(np.float32) for m in means)
    return TokenTable(rarity.astype(np.float32), entropy, variance, len(text), observed)
