"""What each width costs and how large its error is: where a ladder's thresholds lie."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DIM = 64
ERRORS = {2: 0.1190, 3: 0.0375, 4: 0.0116, 8: 3.1e-5, 16: 1e-7}
"""Squared error relative to |x|² of rotated keys and values, measured on the model's own."""

_BESIDE = {2: 8, 3: 8, 4: 8, 8: 16, 16: 0}
"""Bits of scale and zero point of one vector."""
TAG_BITS = 2


def vector_bits(width: int, dim: int = DIM) -> float:
    """Bits a channel that a stored vector takes, its tag included."""
    return width + (_BESIDE[width] + TAG_BITS) / dim


def thresholds(ladder: Sequence[int]) -> list[float]:
    """Where log2(cost) + offset makes the next width worth its bits; ascending."""
    return [
        -math.log2((ERRORS[a] - ERRORS[b]) / (vector_bits(b) - vector_bits(a)))
        for a, b in itertools.pairwise(ladder)
    ]


def tags_of(s: Floats, offset: float, steps: Sequence[float]) -> NDArray[np.uint8]:
    """Class indices of predicted log2 costs, of any shape."""
    return sum(((s + np.float32(offset)) > step).astype(np.uint8) for step in steps)  # type: ignore[return-value]


def mean_bits(tags: NDArray[np.uint8], ladder: Sequence[int]) -> float:
    """Bits a channel of stored tokens, scales and tags included."""
    counts = np.bincount(tags.reshape(-1), minlength=len(ladder))
    return float(counts @ np.array([vector_bits(b) for b in ladder]) / counts.sum())


def offset_for(s: Floats, bits: float, ladder: Sequence[int]) -> float:
    """The offset at which tokens of predicted costs ``s`` take ``bits`` on average."""
    steps = thresholds(ladder)
    low, high = -60.0, 80.0
    for _ in range(36):
        middle = (low + high) / 2
        if mean_bits(tags_of(s, middle, steps), ladder) > bits:
            high = middle
        else:
            low = middle
    return low


def body_bits(budget: float, context: int, window: int, sinks: int) -> float:
    """Bits of the quantized part, so that with sinks and window at 16 bits ``budget`` holds."""
    near = sinks + window
    return (budget * context - 16 * near) / (context - near)
