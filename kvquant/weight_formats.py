"""The number formats of GGUF weights, and how each becomes float32.

A row of weights is a run of blocks. Every function takes the raw blocks, uint8 (n, bytes per
block), and returns float32 (n, weights per block). In the packed formats the low nibbles of a
run of bytes hold its first half and the high nibbles its second half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """block: weights in a block; nbytes: bytes of a block."""

    name: str
    block: int
    nbytes: int
    dequantize: Callable[[Bytes], Floats]


def _half(raw: Bytes) -> Floats:
    """IEEE halves, two bytes each, as float32 with one column per half."""
    return np.ascontiguousarray(raw).view("<f2").astype(np.float32)


def _nibbles(raw: Bytes) -> NDArray[np.uint8]:
    """(n, b) bytes to (n, 2 b) values 0 … 15: all low nibbles, then all high ones."""
    return np.concatenate([raw & 15, raw >> 4], axis=1)


def _f32(raw: Bytes) -> Floats:
    return np.ascontiguousarray(raw).view("<f4").astype(np.float32)


def _bf16(raw: Bytes) -> Floats:
    wide = np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16
    return wide.view(np.float32)


def _q4_0(raw: Bytes) -> Floats:
    return _half(raw[:, :2]) * (_nibbles(raw[:, 2:]).astype(np.float32) - 8.0)


def _q4_1(raw: Bytes) -> Floats:
    scale, low = _half(raw[:, 0:2]), _half(raw[:, 2:4])
    return scale * _nibbles(raw[:, 4:]).astype(np.float32) + low


def _q8_0(raw: Bytes) -> Floats:
    codes = np.ascontiguousarray(raw[:, 2:]).view(np.int8)
    return _half(raw[:, :2]) * codes.astype(np.float32)


def _q4_k(raw: Bytes) -> Floats:
    """256 weights: 8 groups of 32, each with a 6-bit scale and a 6-bit minimum.

    The first four scales and minimums lie in the low six bits of bytes 0-3 and 4-7; the others
    have their low nibbles in bytes 8-11 and their top two bits in the top bits of bytes 0-7.
    """
    n = len(raw)
    s = raw[:, 4:16]
    scales = np.concatenate([s[:, 0:4] & 63, (s[:, 8:12] & 15) | ((s[:, 0:4] >> 6) << 4)], axis=1)
    lows = np.concatenate([s[:, 4:8] & 63, (s[:, 8:12] >> 4) | ((s[:, 4:8] >> 6) << 4)], axis=1)
    d = (_half(raw[:, 0:2]) * scales.astype(np.float32))[:, :, None]
    m = (_half(raw[:, 2:4]) * lows.astype(np.float32))[:, :, None]
    codes = _nibbles(raw[:, 16:].reshape(-1, 32)).reshape(n, 8, 32).astype(np.float32)
    return (d * codes - m).reshape(n, 256)


def _q6_k(raw: Bytes) -> Floats:
    """256 weights in two halves of 128: four low bits in ``ql``, two high bits in ``qh``,
    an int8 scale for every 16 weights."""
    n = len(raw)
    low = _nibbles(raw[:, :128].reshape(-1, 64)).reshape(n, 2, 4, 32)
    high = raw[:, 128:192].reshape(n, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None]
    codes = (low | ((high & 3) << 4)).reshape(n, 16, 16).astype(np.float32) - 32.0
    scales = np.ascontiguousarray(raw[:, 192:208]).view(np.int8).astype(np.float32)
    return ((_half(raw[:, 208:210]) * scales)[:, :, None] * codes).reshape(n, 256)


FORMATS: dict[int, WeightFormat] = {
    0: WeightFormat("F32", 1, 4, _f32),
    1: WeightFormat("F16", 1, 2, _half),
    2: WeightFormat("Q4_0", 32, 18, _q4_0),
    3: WeightFormat("Q4_1", 32, 20, _q4_1),
    8: WeightFormat("Q8_0", 32, 34, _q8_0),
    12: WeightFormat("Q4_K", 256, 144, _q4_k),
    14: WeightFormat("Q6_K", 256, 210, _q6_k),
    30: WeightFormat("BF16", 1, 2, _bf16),
}
"""By the type number in the file."""
