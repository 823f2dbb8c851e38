"""The cache's vector format in torch: what a vector is after it was stored and read again.

The rules are those of ``kvquant.quantizer``; here many vectors go through them at once.
"""

from __future__ import annotations

import torch
from torch import Tensor

WIDTHS = (2, 3, 4, 8, 16)
SCALE_BITS = {2: 8, 3: 8, 4: 8, 5: 8, 6: 8, 8: 16, 16: 0}
"""Bits beside the codes of one vector: the scale and, of 8 bits, the zero point."""

_RMS_FACTOR = {2: 0.498, 3: 0.293, 4: 0.1675, 5: 0.0940, 6: 0.0524}
_BELOW, _ABOVE = 7, 8
"""Scale codes that the search tries on either side of the one that suits the RMS."""


def scale_of(code: Tensor, exponent: Tensor) -> Tensor:
    """The mini float: 2^(exponent + code / 16) (1 + (code % 16) / 16)."""
    power = exponent.float() + torch.div(code, 16, rounding_mode="floor")
    return torch.exp2(power) * (1.0 + torch.remainder(code, 16) / 16.0)


def _code_near(scale: Tensor, exponent: Tensor) -> Tensor:
    """The code whose scale is nearest, as a float tensor of whole numbers."""
    m, e = torch.frexp(scale.clamp_min(1e-30))
    # frexp gives m in [0.5, 1): scale = 2 m 2^(e - 1).
    code = 16.0 * (e.float() - 1.0 - exponent.float()) + torch.round(16.0 * (2.0 * m - 1.0))
    return code.clamp(0, 255)


def fake_quant(x: Tensor, bits: int, exponent: Tensor) -> Tensor:
    """x: (..., D) vectors; exponent: broadcasts against x without its last axis.

    Returns the vectors as the cache gives them back.
    """
    if bits == 16:
        return x.clamp(-65504.0, 65504.0).half().float()
    if bits == 8:
        return _eight_bits(x, exponent)
    top = float(2**bits - 1)
    rms = x.square().mean(-1).sqrt()
    centre = _code_near(rms * _RMS_FACTOR[bits], exponent).clamp(_BELOW, 255 - _ABOVE)
    best_error = torch.full_like(rms, torch.inf)
    best = torch.zeros_like(x)
    for step in range(-_BELOW, _ABOVE + 1):
        s = scale_of(centre + step, exponent).unsqueeze(-1)
        y = s * (2.0 * torch.round((x / s + top) * 0.5).clamp_(0, top) - top)
        error = (x - y).square_().sum(-1)
        better = error < best_error
        best_error = torch.where(better, error, best_error)
        best = torch.where(better.unsqueeze(-1), y, best)
    return best


def _eight_bits(x: Tensor, exponent: Tensor) -> Tensor:
    low, high = x.amin(-1).clamp_max(0), x.amax(-1).clamp_min(0)
    need = (high - low) / 255.0
    code = _code_near(need, exponent)
    code = torch.where(scale_of(code, exponent) < need, code + 1, code).clamp(0, 255)
    s = scale_of(code, exponent).unsqueeze(-1)
    zero = torch.round(-low.unsqueeze(-1) / s).clamp(0, 255)
    return s * ((torch.round(x / s) + zero).clamp(0, 255) - zero)


def hadamard(x: Tensor) -> Tensor:
    """Orthonormal Walsh-Hadamard over blocks of the largest power of two that divides D."""
    d = x.shape[-1]
    n = d & -d
    return (x.unflatten(-1, (d // n, n)) @ _matrix(n).to(x)).flatten(-2)


_MATRICES: dict[int, Tensor] = {}


def _matrix(n: int) -> Tensor:
    if n not in _MATRICES:
        h = torch.ones(1, 1)
        while len(h) < n:
            h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
        _MATRICES[n] = h / n**0.5
    return _MATRICES[n]
