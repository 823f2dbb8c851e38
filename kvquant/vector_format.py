"""How one vector of numbers becomes codes and a scale byte: the measure of every kernel.

    2, 3, 4 bits   value = s (2c - (2^bits - 1))     no level is zero
    8 bits         value = s (c - z)                 c and the zero point z in 0 … 255
    16 bits        IEEE half, no scale

s is one byte 16e + m that stands for 2^(exponent + e) (1 + m / 16); the exponent is shared by many
vectors. NaN is stored as 0; what lies beyond ±65504, infinities too, as ±65504.

Error of Gaussian vectors of 64 numbers, squared and relative to their square, on average: 0.113
(2 bits), 0.033 (3), 0.009 (4), 3e-5 (8), 4e-8 (16). No number within the outermost levels is off
by more than s (2 to 4 bits) or s / 2 (8 bits).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import SettingError

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Codes = NDArray[Any]
"""Unpacked: uint8, at 16 bits uint16."""

WIDTHS = (2, 3, 4, 8, 16)
LARGEST_HALF = 65504.0
DEFAULT_EXPONENT = -11
MAX_EXPONENT = 100

_CENTRE = {2: 0.498, 3: 0.293, 4: 0.1675}
"""Best scale of a Gaussian vector over its root mean square."""
_BELOW, _ABOVE = 7, 8
"""Scale codes tried on either side of the centre: within half a per cent of trying all of them."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Encoded vectors, codes not yet packed.

    codes: (…, n) uint8; at 16 bits uint16, the halves' bits. scales: (…) uint8, unused at 16 bits;
    zeros: (…) uint8, used at 8 bits.
    """

    bits: int
    codes: Codes
    scales: Bytes
    zeros: Bytes


def check_width(bits: int) -> int:
    """The width itself. Raises SettingError for one that does not exist."""
    whole = isinstance(bits, int | np.integer) and not isinstance(bits, bool)
    if not whole or bits not in WIDTHS:
        raise SettingError("quantizer.width", f"A width is one of {WIDTHS} bits, not {bits!r:.40}.")
    return int(bits)


def vector_bytes(n: int, bits: int) -> int:
    """Stored bytes of a vector of n numbers: packed codes, scale, zero point."""
    return row_bytes(n, bits) + {8: 2, 16: 0}.get(bits, 1)


def row_bytes(n: int, bits: int) -> int:
    """Bytes of n packed codes."""
    return -(-n * bits // 8)


def tame(x: NDArray[np.generic]) -> Floats:
    """As float32, within the range of halves."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.asarray(x).astype(np.float32)
    numbers = np.nan_to_num(numbers, nan=0.0, posinf=LARGEST_HALF, neginf=-LARGEST_HALF)
    return np.clip(numbers, -LARGEST_HALF, LARGEST_HALF)


def halves(x: NDArray[np.generic]) -> NDArray[np.float16]:
    """Rounded to halves, saturating."""
    return tame(x).astype(np.float16)


def scale_of(codes: NDArray[np.integer], exponent: NDArray[np.integer] | int) -> Floats:
    """What scale bytes stand for, exactly."""
    wide = codes.astype(np.int32)
    mantissa = np.float32(1.0) + (wide & 15).astype(np.float32) / np.float32(16.0)
    scales: Floats = np.ldexp(mantissa, (wide >> 4) + exponent)
    return scales


def nearest_scale(s: Doubles, exponent: NDArray[np.integer] | int) -> Ints:
    """Codes of the nearest scales, the smaller of two; not clamped. s >= 0."""
    return _scale_code(s, exponent, 0.5)


def scale_above(s: Doubles, exponent: NDArray[np.integer] | int) -> Ints:
    """Codes of the smallest scales that are at least s; not clamped. s >= 0."""
    return _scale_code(s, exponent, 0.0)


def _scale_code(s: Doubles, exponent: NDArray[np.integer] | int, less: float) -> Ints:
    mantissa, power = np.frexp(s)
    steps = np.ceil((2.0 * mantissa - 1.0) * 16.0 - less).astype(np.int64)
    codes: Ints = 16 * (power.astype(np.int64) - 1 - exponent) + steps
    return np.where(s > 0, codes, 0)


def scale_wanted(x: Floats, bits: int) -> Doubles:
    """(…): the scale that vectors (…, n) of tame numbers ask for before the search."""
    if bits == 8:
        return _span(x) / 255.0
    squares = np.square(x, dtype=np.float64).sum(-1)
    wanted: Doubles = _CENTRE[bits] * np.sqrt(squares / x.shape[-1])
    return wanted


def exponent_for(wanted: float, bits: int) -> int:
    """The smallest exponent whose scales reach the largest scale that is wanted."""
    spare = 0 if bits == 8 else _ABOVE
    # At the exponent 0; each step of the exponent takes 16 from it.
    code = int(scale_above(np.array(wanted), 0)) + spare if wanted > 0 else -(2**30)
    return min(max(-((255 - code) // 16), -MAX_EXPONENT), MAX_EXPONENT)


def encode(x: NDArray[np.generic], bits: int, exponent: NDArray[np.integer] | int) -> Vectors:
    """Vectors (…, n), n >= 1; exponent: one, or one for each, (…).

    Raises SettingError for a width that does not exist.
    """
    bits = check_width(bits)
    numbers = tame(x)
    none = np.zeros(numbers.shape[:-1], np.uint8)
    if bits == 16:
        return Vectors(bits, numbers.astype(np.float16).view(np.uint16), none, none)
    if bits == 8:
        return _encode_bytes(numbers, exponent)
    scales = _best_scale(numbers, bits, exponent)
    codes = _codes(numbers, bits, scale_of(scales, exponent)).astype(np.uint8)
    return Vectors(bits, codes, scales, none)


def decode(vectors: Vectors, exponent: NDArray[np.integer] | int) -> Floats:
    """The numbers back, (…, n)."""
    if vectors.bits == 16:
        return vectors.codes.astype(np.uint16).view(np.float16).astype(np.float32)
    s = scale_of(vectors.scales, exponent)[..., None]
    codes = vectors.codes.astype(np.float32)
    if vectors.bits == 8:
        return s * (codes - vectors.zeros[..., None].astype(np.float32))
    return s * (np.float32(2.0) * codes - np.float32(2**vectors.bits - 1))


def pack(codes: Codes, bits: int) -> Bytes:
    """(…, row_bytes) of codes (…, n): one after the other, the lowest bit first."""
    if bits == 16:
        return np.ascontiguousarray(codes).view(np.uint8).reshape(*codes.shape[:-1], -1)
    if bits == 8:
        return codes.astype(np.uint8)
    single = (codes[..., None] >> np.arange(bits, dtype=np.uint8)) & 1
    flat = single.reshape(*codes.shape[:-1], codes.shape[-1] * bits)
    return np.packbits(flat, axis=-1, bitorder="little")


def unpack(packed: Bytes, bits: int, n: int) -> Codes:
    """(…, n) codes of (…, row_bytes)."""
    if bits == 16:
        return np.ascontiguousarray(packed).view(np.uint16)
    if bits == 8:
        return packed
    single = np.unpackbits(packed, axis=-1, count=n * bits, bitorder="little")
    weights = (1 << np.arange(bits)).astype(np.uint8)
    codes: Bytes = single.reshape(*packed.shape[:-1], n, bits) @ weights
    return codes


def _span(x: Floats) -> Doubles:
    low, high = np.minimum(x.min(-1), 0), np.maximum(x.max(-1), 0)
    span: Doubles = high.astype(np.float64) - low.astype(np.float64)
    return span


def _encode_bytes(x: Floats, exponent: NDArray[np.integer] | int) -> Vectors:
    scales = np.clip(scale_above(_span(x) / 255.0, exponent), 0, 255).astype(np.uint8)
    s = scale_of(scales, exponent)
    zeros = np.clip(np.rint(-np.minimum(x.min(-1), 0) / s), 0, 255)
    codes = np.clip(np.rint(x / s[..., None] + zeros[..., None]), 0, 255)
    return Vectors(8, codes.astype(np.uint8), scales, zeros.astype(np.uint8))


def _codes(x: Floats, bits: int, s: Floats) -> Floats:
    top = np.float32(2**bits - 1)
    steps = np.rint((x / s[..., None] + top) * np.float32(0.5))
    codes: Floats = np.clip(steps, np.float32(0.0), top)
    return codes


def _best_scale(x: Floats, bits: int, exponent: NDArray[np.integer] | int) -> Bytes:
    """Of the scales around that of a Gaussian the one with the smallest squared error; of two the
    smaller. Zeros take the smallest scale there is."""
    wanted = scale_wanted(x, bits)
    centre = np.clip(nearest_scale(wanted, exponent), _BELOW, 255 - _ABOVE)
    best = np.zeros(centre.shape, np.int64)
    least = np.full(centre.shape, np.inf)
    top = np.float32(2**bits - 1)
    for step in range(-_BELOW, _ABOVE + 1):
        code = centre + step
        s = scale_of(code, exponent)
        levels = (2 * _codes(x, bits, s) - top).astype(np.float64)
        # The squared error less what all candidates share.
        wide = s.astype(np.float64)
        error = wide * (wide * np.square(levels).sum(-1) - 2.0 * (x * levels).sum(-1))
        better = error < least
        best, least = np.where(better, code, best), np.where(better, error, least)
    return np.where(wanted > 0, best, 0).astype(np.uint8)
