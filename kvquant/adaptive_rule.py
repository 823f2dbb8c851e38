"""Which width a key or a value gets in the transformers cache: a rule that calibrates itself.

It needs no training and no queries. A cache sees keys and values only, so by default the score of a
vector is the squared length of what is left after the channel means, relative to its head: an
absolute error counts, and at equal bits it grows with that length. Where attention weights are fed,
the share of attention that a token received while it was in the window is added. Scores are log2 of
the loss to be expected from a relative squared error, so thresholds follow from the widths alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from kvquant.adaptive_rows import row_bytes
from kvquant.controller_file import ControllerFile

Tensor = Any

# Squared error of a Gaussian vector relative to its own square, by width.
_ERROR = {2: 0.1188, 3: 0.0375, 4: 0.0115, 8: 3.5e-5, 16: 1e-8}
_STEER_TOKENS = 256
_STEER_GAIN = 2.3
_STEER_LIMIT = 6.0
_SOLVE_STEPS = 30
_SOLVE_RANGE = 40.0
# How far the signals of single tokens spread around what their head adds.
_SPREAD = 1.0


def vector_bits(dim: int, bits: int) -> int:
    """Stored bits of a vector: codes, scale, and at 8 bits the zero point."""
    return 8 * row_bytes(dim, bits)


def thresholds(ladder: tuple[int, ...]) -> list[float]:
    """Scores above which the next width pays; ascending, as the errors of ``ladder`` are convex."""
    slopes = [(_ERROR[a] - _ERROR[b]) / (b - a) for a, b in pairwise(ladder)]
    return [-float(torch.tensor(slope).log2()) for slope in slopes]


@dataclass(frozen=True)
class Weights:
    """What a doubling of each signal adds to the score."""

    key_square: float = 0.25
    value_square: float = 0.25
    mass: float = 0.35


@dataclass(frozen=True)
class Calibration:
    """What a controller file knows of a layer.

    static: (heads, 2) log2 of the sensitivity of key and value; means: (heads, dim) float32 of keys
    and of values; exponents: (heads) int8 of their scales; target: bits that are this layer's part.
    """

    static: Tensor
    means: tuple[Tensor, Tensor]
    exponents: tuple[Tensor, Tensor]
    target: float


def calibrations(file: ControllerFile, ladder: tuple[int, ...], body: float) -> list[Calibration]:
    """Of every layer. body: stored bits per number, over all layers."""
    arrays = {
        name: torch.tensor(file.arrays[name].numpy())
        for name in ("static", "k_mean", "v_mean", "k_exponent", "v_exponent")
    }
    dim = arrays["k_mean"].shape[2]
    cuts = torch.tensor(thresholds(ladder))
    bits = torch.tensor([vector_bits(dim, b) for b in ladder])
    spread = _SPREAD * torch.special.ndtri((torch.arange(16) + 0.5) / 16)

    def share(offset: float) -> Tensor:
        """(layers,) expected bits."""
        tags = torch.bucketize(arrays["static"][..., None] + spread + offset, cuts)
        return bits[tags].double().mean((1, 2, 3)) / dim + 2.0 / dim

    parts = share(_solve(lambda offset: float(share(offset).mean()), body))
    return [
        Calibration(
            arrays["static"][i],
            (arrays["k_mean"][i], arrays["v_mean"][i]),
            (arrays["k_exponent"][i], arrays["v_exponent"][i]),
            float(part),
        )
        for i, part in enumerate(parts)
    ]


@dataclass
class LayerRule:
    """The judge of one layer.

    ladder: the four widths or fewer, ascending; target: stored bits per number that the body of
    this layer shall have on average; static: (heads, 2) float32, what key and value of a head add.
    """

    ladder: tuple[int, ...]
    target: float
    dims: tuple[int, int]
    static: Tensor
    calibration: Calibration | None = None
    weights: Weights = field(default_factory=Weights)
    _reference: Tensor | None = None
    _base: float = 0.0
    _steer: float = 0.0

    def __post_init__(self) -> None:
        self._thresholds = torch.tensor(thresholds(self.ladder))
        self._bits = torch.tensor(
            [[vector_bits(dim, b) for b in self.ladder] for dim in self.dims], dtype=torch.float64
        )

    @property
    def calibrated(self) -> bool:
        """Whether it can judge yet."""
        return self._reference is not None

    def signals(self, keys: Tensor, values: Tensor, mass: Tensor | None) -> Tensor:
        """(n, batch, heads, 3): log2 of the squares of transformed keys and values
        (n, batch, heads, dim), and of the attention received (n, batch, heads), NaN for None."""
        k = keys.square().sum(-1).add_(2.0**-40).log2()
        v = values.square().sum(-1).add_(2.0**-40).log2()
        m = torch.full_like(k, torch.nan) if mass is None else mass.add(2.0**-20).log2()
        return torch.stack([k, v, m], -1)

    def calibrate(self, signals: Tensor) -> None:
        """References and offset from the signals of the last tokens; NaN where a row is padding."""
        reference = signals.flatten(0, 1).nanmean(0).nan_to_num_(0.0)
        self._reference = reference
        scores = self._scores(signals)
        scores = scores[~scores.isnan().any(-1)]
        if scores.numel():
            self._base = _solve(
                lambda offset: self._mean_bits(self._tags(scores, offset)), self.target
            )

    def steer(self, bits_mean: float, n: int) -> None:
        """Makes up for ``bits_mean`` of the first n tokens having missed the target."""
        wanted = _STEER_GAIN * (self.target - bits_mean) * n / _STEER_TOKENS
        self._steer = max(-_STEER_LIMIT, min(_STEER_LIMIT, wanted))

    def judge(self, signals: Tensor) -> Tensor:
        """(n, batch, heads, 2) uint8: index of the width of key and value."""
        return self._tags(self._scores(signals), self._base + self._steer)

    def _scores(self, signals: Tensor) -> Tensor:
        relative = signals - self._reference
        w = self.weights
        attention = w.mass * relative[..., 2].nan_to_num(0.0)
        return self.static + torch.stack(
            [
                w.key_square * relative[..., 0] + attention,
                w.value_square * relative[..., 1] + attention,
            ],
            -1,
        )

    def _tags(self, scores: Tensor, offset: float) -> Tensor:
        return torch.bucketize(scores + offset, self._thresholds.to(scores.device)).to(torch.uint8)

    def _mean_bits(self, tags: Tensor) -> float:
        return self.mean_bits(
            [
                torch.bincount(tags[..., i].flatten().int(), minlength=len(self.ladder))
                for i in range(2)
            ]
        )

    def mean_bits(self, counts: list[Tensor]) -> float:
        """Stored bits per number; counts: of the widths, of keys and of values."""
        bits = sum(float(counts[i].double().cpu() @ self._bits[i]) for i in range(2))
        numbers = sum(int(counts[i].sum()) * self.dims[i] for i in range(2))
        # Four tag bits lie beside each pair.
        return (bits + 4.0 * int(counts[0].sum())) / max(numbers, 1)


def _solve(bits_at: Callable[[float], float], wanted: float) -> float:
    """The offset up to which so many bits are not exceeded."""
    low, high = -_SOLVE_RANGE, _SOLVE_RANGE
    for _ in range(_SOLVE_STEPS):
        middle = (low + high) / 2
        if bits_at(middle) > wanted:
            high = middle
        else:
            low = middle
    return low
