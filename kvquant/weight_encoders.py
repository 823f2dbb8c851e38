"""float32 weights to the number formats of GGUF: the way back of ``weight_formats``.

Every encoder takes float32 (n, weights per block) without NaN or infinities and returns the raw
blocks, uint8 (n, bytes per block), rounded as ggml's reference does, bit for bit. The error of
a weight, with the scale d of its block, is at most

    Q8_0  0.5 d,  d = largest magnitude / 127
    Q4_0  1.0 d,  d = largest magnitude / 8: the other sign ends at 7, not at 8
    Q4_1  0.5 d,  d = (largest - smallest) / 15

and 2^-11 of the largest magnitude more (for Q4_1 16/15 of the range), as d and the smallest weight
are stored as halves.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def _inverse(scale: Floats) -> Floats:
    """1 / scale, and 0 where the scale is 0 or so small that its inverse overflows."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse: Floats = np.float32(1.0) / scale
    inverse[~np.isfinite(inverse)] = 0.0
    return inverse


def _to_nearest(x: Floats) -> Floats:
    """Halves go away from zero; 0.5 - 2^-25 does not, as it would by adding a half."""
    magnitude = np.abs(x)
    whole = np.floor(magnitude)
    rounded: Floats = np.copysign(whole + np.floor(2 * (magnitude - whole)), x)
    return rounded


def _halves(x: Floats) -> Bytes:
    """(n, k) as IEEE halves, (n, 2 k) bytes; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(x.astype("<f2")).view(np.uint8)


def _packed(codes: NDArray[np.uint8]) -> Bytes:
    """(n, 32) values 0 … 15 to (n, 16) bytes: the first half in the low nibbles."""
    return codes[:, :16] | (codes[:, 16:] << np.uint8(4))


def _f32(x: Floats) -> Bytes:
    return np.ascontiguousarray(x.astype("<f4", copy=False)).view(np.uint8)


def _bf16(x: Floats) -> Bytes:
    """To the nearest, ties to even."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16
    return np.ascontiguousarray(rounded.astype("<u2")).view(np.uint8)


def _q8_0(x: Floats) -> Bytes:
    scale = np.abs(x).max(axis=1, keepdims=True) / np.float32(127.0)
    codes = _to_nearest(x * _inverse(scale)).astype(np.int8)
    return np.concatenate([_halves(scale), codes.view(np.uint8)], axis=1)


def _q4_0(x: Floats) -> Bytes:
    """The weight of the largest magnitude falls on the code -8, whatever its sign."""
    largest = np.take_along_axis(x, np.abs(x).argmax(axis=1)[:, None], axis=1)
    scale = largest / np.float32(-8.0)
    codes = np.minimum(np.trunc(x * _inverse(scale) + np.float32(8.5)), 15).astype(np.uint8)
    return np.concatenate([_halves(scale), _packed(codes)], axis=1)


def _q4_1(x: Floats) -> Bytes:
    low = x.min(axis=1, keepdims=True)
    scale = (x.max(axis=1, keepdims=True) - low) / np.float32(15.0)
    codes = np.minimum(np.trunc((x - low) * _inverse(scale) + np.float32(0.5)), 15)
    return np.concatenate([_halves(scale), _halves(low), _packed(codes.astype(np.uint8))], axis=1)


ENCODERS: dict[str, Callable[[Floats], Bytes]] = {
    "F32": _f32,
    "F16": _halves,
    "BF16": _bf16,
    "Q8_0": _q8_0,
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
}
"""By the name of the format in ``weight_formats``."""

LARGEST: dict[str, float] = {"F32": np.inf, "BF16": 3.38e38} | dict.fromkeys(
    ("F16", "Q8_0", "Q4_0", "Q4_1"), 65_504.0
)
"""The magnitude up to which a format holds any weights; of halves, for scales are halves."""
