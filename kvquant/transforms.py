"""What is done to keys, values and queries so that few bits suffice.

Keys and values lose the mean of each channel and are spread by a Walsh-Hadamard transform, so that
no channel stands out. Queries get the same transform, which leaves scores as they were: it is
orthonormal, and a mean taken from all keys shifts all scores of a query alike.
"""

from __future__ import annotations

import numpy as np

from kvquant.vector_format import Floats


def hadamard(x: Floats) -> Floats:
    """Orthonormal Walsh-Hadamard transform (Sylvester's order) over the last axis, in blocks of the
    largest power of two that divides it; its own inverse."""
    dim = x.shape[-1]
    block = dim & -dim
    shape = x.shape
    out = np.asarray(x, np.float32).reshape(-1, block)
    step = 1
    while step < block:
        pairs = out.reshape(-1, block // (2 * step), 2, step)
        a, b = pairs[:, :, 0], pairs[:, :, 1]
        out = np.stack([a + b, a - b], axis=2).reshape(-1, block)
        step *= 2
    scaled: Floats = out * np.float32(block**-0.5)
    return scaled.reshape(shape)


def forth(x: Floats, mean: Floats) -> Floats:
    """Into the space that is stored: without the mean, transformed."""
    return hadamard(x - mean)


def back(x: Floats, mean: Floats) -> Floats:
    """Out of the space that is stored."""
    spread: Floats = hadamard(x) + mean
    return spread


def to_halves(x: Floats) -> Floats:
    """From channels whose RoPE partners are neighbours (GGUF) to those where channel i meets
    i + dim / 2 (Hugging Face, and what caches and controllers use)."""
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)


def rotate(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """RoPE where channel i meets i + dim / 2. cos, sin: (…, dim / 2) of each vector's position."""
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
