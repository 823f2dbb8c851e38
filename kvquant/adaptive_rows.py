"""Vectors of the cache packed into bytes, in torch: the formats, and a list of packed rows.

A row is one head's key or value of one token: its codes, then the scale byte, then at 8 bits the
zero point. The numbers are those of ``kvquant.quantizer``; how codes lie in a row is private to
this cache: codes of 2 and 4 bits lie one after the other from the lowest bit, 3-bit codes are such
a plane of their low two bits and one of their top bits. 16 bits are halves.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

Tensor = Any

WIDTHS = (2, 3, 4, 8, 16)
LARGEST_HALF = 65504.0
# Best scale of a Gaussian vector over its root mean square.
_CENTRE = {2: 0.498, 3: 0.293, 4: 0.1675}
_BELOW, _ABOVE = 7, 8
# Rows that are encoded at once: what the search for scales needs stays within some megabytes.
_ENCODE_ROWS = 8192


def hadamard(dim: int, device: Any) -> Tensor:
    """(dim, dim) float32: orthonormal Walsh-Hadamard over blocks of the largest power of two that
    divides dim; symmetric and its own inverse."""
    block = dim & -dim
    matrix = torch.ones(1, 1)
    while matrix.shape[0] < block:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return torch.block_diag(*[matrix * block**-0.5] * (dim // block)).to(device)


def clean(x: Tensor) -> Tensor:
    """float32 within the range of halves: NaN is 0."""
    return (
        x.float().nan_to_num(0.0, LARGEST_HALF, -LARGEST_HALF).clamp_(-LARGEST_HALF, LARGEST_HALF)
    )


def row_bytes(dim: int, bits: int) -> int:
    """Bytes of a vector of ``dim`` numbers."""
    if bits == 16:
        return 2 * dim
    return -(-dim // 8) * bits + (2 if bits == 8 else 1)


def scale_values(codes: Tensor, exponent: Tensor) -> Tensor:
    """float32 of scale bytes 16 e + m: 2^(exponent + e) * (1 + m / 16)."""
    codes = codes.to(torch.int32)
    return torch.ldexp(1.0 + (codes & 15).float() / 16.0, exponent + (codes >> 4))


def exponent_for(largest: Tensor) -> Tensor:
    """int32: the exponent whose scales reach from far below to 16 times ``largest`` (> 0)."""
    return (torch.frexp(largest.float().clamp(min=1e-30))[1].to(torch.int32) - 12).clamp(-100, 80)


def encode(x: Tensor, bits: int, exponent: Tensor) -> Tensor:
    """(n, row_bytes) uint8 of ``x`` (n, dim) clean float32; exponent: (n) int32, one for each."""
    parts = [
        _encode(x[a : a + _ENCODE_ROWS], bits, exponent[a : a + _ENCODE_ROWS])
        for a in range(0, x.shape[0], _ENCODE_ROWS)
    ]
    if not parts:
        return torch.empty(0, row_bytes(x.shape[1], bits), dtype=torch.uint8, device=x.device)
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def decode(rows: Tensor, bits: int, dim: int, exponent: Tensor) -> Tensor:
    """(n, dim) float32: what ``encode`` packed."""
    if bits == 16:
        return rows.view(torch.float16).float()
    body = -(-dim // 8) * bits
    s = scale_values(rows[:, body], exponent)[:, None]
    if bits == 8:
        return (rows[:, :dim].float() - rows[:, body + 1 :].float()) * s
    return _levels_of(rows[:, :body], bits)[:, :dim] * s


def _encode(x: Tensor, bits: int, exponent: Tensor) -> Tensor:
    if bits == 16:
        return x.half().contiguous().view(torch.uint8).reshape(x.shape[0], -1)
    if bits == 8:
        low, high = x.amin(1).clamp(max=0.0), x.amax(1).clamp(min=0.0)
        code = _scale_above((high - low) / 255.0, exponent)
        s = scale_values(code, exponent)
        zero = torch.round(-low / s).clamp_(0, 255)
        codes = torch.round(x / s[:, None] + zero[:, None]).clamp_(0, 255).to(torch.uint8)
        return torch.cat([_pack(codes, 8), code[:, None], zero.to(torch.uint8)[:, None]], 1)
    code = _best_scale(x, bits, exponent)
    codes = _levels(x, bits, scale_values(code, exponent)).to(torch.uint8)
    return torch.cat([_pack(codes, bits), code[:, None]], 1)


def _levels(x: Tensor, bits: int, s: Tensor) -> Tensor:
    top = float((1 << bits) - 1)
    return torch.round((x / s[:, None]).add_(top).mul_(0.5)).clamp_(0.0, top)


def _best_scale(x: Tensor, bits: int, exponent: Tensor) -> Tensor:
    """(n) uint8: of sixteen scales around that of a Gaussian the one with the smallest error."""
    rms = x.double().square().mean(1).sqrt()
    centre = _nearest_scale(_CENTRE[bits] * rms, exponent).clamp(_BELOW, 255 - _ABOVE)
    best = torch.zeros_like(centre)
    least = torch.full(centre.shape, float("inf"), device=x.device)
    for step in range(-_BELOW, _ABOVE + 1):
        code = centre + step
        s = scale_values(code, exponent)
        levels = _levels(x, bits, s).mul_(2.0).sub_(float((1 << bits) - 1))
        # The squared error without the term that all candidates share.
        error = s * (s * levels.square().sum(1) - 2.0 * (x * levels).sum(1))
        better = error < least
        least = torch.where(better, error, least)
        best = torch.where(better, code, best)
    # All codes of a vector of zeros have the smallest scale, not the least bad of sixteen.
    return torch.where(rms == 0, torch.zeros_like(best), best).to(torch.uint8)


def _nearest_scale(s: Tensor, exponent: Tensor) -> Tensor:
    mantissa, power = torch.frexp(s)
    code = 16 * (power - 1 - exponent) + torch.round((2.0 * mantissa - 1.0) * 16.0).to(torch.int32)
    return torch.where(s > 0, code, torch.zeros_like(code)).clamp(0, 255)


def _scale_above(s: Tensor, exponent: Tensor) -> Tensor:
    mantissa, power = torch.frexp(s)
    code = 16 * (power - 1 - exponent) + torch.ceil((2.0 * mantissa - 1.0) * 16.0).to(torch.int32)
    return torch.where(s > 0, code, torch.zeros_like(code)).clamp(0, 255).to(torch.uint8)


def _pack(codes: Tensor, bits: int) -> Tensor:
    """(n, bytes) of (n, dim) uint8 codes; a short last part of the vector is filled with zeros."""
    short = -codes.shape[1] % 8
    if short:
        codes = torch.nn.functional.pad(codes, (0, short))
    if bits == 8:
        return codes
    if bits == 3:
        return torch.cat([_planes(codes & 3, 2), _planes(codes >> 2, 1)], 1)
    return _planes(codes, bits)


def _planes(codes: Tensor, width: int) -> Tensor:
    parts = codes.view(codes.shape[0], -1, 8 // width).unbind(-1)
    packed = parts[0].clone()
    for f, part in enumerate(parts[1:], 1):
        packed |= part << (f * width)
    return packed


def _levels_of(rows: Tensor, bits: int) -> Tensor:
    """(n, numbers) float32: levels 2c - (2^bits - 1), looked up byte by byte."""
    top = float((1 << bits) - 1)
    if bits != 3:
        return _look_up(rows, bits, 2.0, -top)
    low = rows.shape[1] * 2 // 3
    return _look_up(rows[:, :low], 2, 2.0, -top) + _look_up(rows[:, low:], 1, 8.0, 0.0)


def _look_up(packed: Tensor, width: int, factor: float, add: float) -> Tensor:
    table = _table(width).to(packed.device) * factor + add
    return torch.nn.functional.embedding(packed.int(), table).flatten(1)


@cache
def _table(width: int) -> Tensor:
    """(256, 8 / width) float32: the codes in every byte."""
    shifts = torch.arange(0, 8, width)
    return ((torch.arange(256)[:, None] >> shifts) & ((1 << width) - 1)).float()


class Rows:
    """A list of packed rows of one width, in a buffer that grows by an eighth."""

    def __init__(self, width: int, device: Any) -> None:
        self._buffer = torch.empty(0, width, dtype=torch.uint8, device=device)
        self.count = 0

    @property
    def rows(self) -> Tensor:
        """(count, row_bytes) uint8, a view."""
        return self._buffer[: self.count]

    @property
    def bytes_stored(self) -> int:
        return self.count * int(self._buffer.shape[1])

    @property
    def bytes_held(self) -> int:
        """Of the buffer, spare rows included."""
        return int(self._buffer.numel())

    def append(self, rows: Tensor) -> None:
        end = self.count + rows.shape[0]
        if end > self._buffer.shape[0]:
            grown = torch.empty(
                max(end, self.count + self.count // 8 + 16),
                self._buffer.shape[1],
                dtype=torch.uint8,
                device=self._buffer.device,
            )
            grown[: self.count] = self.rows
            self._buffer = grown
        self._buffer[self.count : end] = rows
        self.count = end

    def keep(self, index: Tensor) -> None:
        """Only these rows, in this order; a row may be named more than once."""
        self._buffer = self.rows.index_select(0, index)
        self.count = int(index.shape[0])
