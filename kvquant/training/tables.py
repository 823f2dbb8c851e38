"""From calibrated windows to tables: static costs, scales of features, exponents, examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kvquant.controller_file import N_FEATURES
from kvquant.training.calibrate import N_SEEN, Sample
from kvquant.training.forward import Span
from kvquant.training.ladder import DIM
from kvquant.training.network import Examples
from kvquant.training.table import TokenTable

_HEADROOM = 4.0
"""Scales may be so many times larger than any that calibration met."""
_POSITION = 10
_FLATTEST = 0.05
"""A feature that varies less (standard deviation) is not blown up further."""


@dataclass(frozen=True, slots=True)
class Tables:
    """k_exponent, v_exponent: (L, H); static: (L, H, 2); f_mean, f_scale: (L, H, 13)."""

    k_exponent: Tensor
    v_exponent: Tensor
    static: Tensor
    f_mean: Tensor
    f_scale: Tensor


def judged(sample: Sample, span: Span) -> slice:
    """Tokens of a window that leave the FP16 part and are read afterwards."""
    return slice(span.sinks, len(sample.tokens) - span.window - 1)


def raw_features(sample: Sample, static: Tensor, words: TokenTable, at: slice) -> Tensor:
    """All 13 features before standardisation, (L, H, n, 13)."""
    seen = sample.features[:, :, at].float()
    n_layer, n_head, n, _ = seen.shape
    tokens = sample.tokens[at].numpy()
    of_token = [
        torch.from_numpy(values[tokens]) for values in (words.rarity, words.entropy, words.variance)
    ]
    of_token.append(torch.log2(torch.arange(at.start, at.start + n).float() + 1))
    parts = [seen, *(x.expand(n_layer, n_head, n)[..., None] for x in of_token)]
    parts.append(static[:, :, None].expand(n_layer, n_head, n, 2))
    whole = torch.cat(parts, -1)
    assert whole.shape[-1] == N_FEATURES, whole.shape
    return whole


def static_costs(samples: Sequence[Sample], span: Span) -> Tensor:
    """log2 of the mean cost per reading query, (L, H, 2).

    The arithmetic mean: the expected loss is linear in the cost, and its large values matter.
    """
    total = torch.stack([s.cost[:, :, judged(s, span)].sum(2) for s in samples]).sum(0)
    reads = sum(float(s.reads[judged(s, span)].sum()) for s in samples)
    return torch.log2(total / reads + 1e-30)


def make_tables(samples: Sequence[Sample], words: TokenTable, span: Span) -> Tables:
    static = static_costs(samples, span)
    features = torch.cat([raw_features(s, static, words, judged(s, span)) for s in samples], 2)
    mean, spread = features.mean(2), features.std(2)
    for j in range(N_SEEN, N_FEATURES):
        # The same for every head: of tokens, or one number a head.
        mean[..., j] = features[..., j].mean()
        spread[..., j] = features[..., j].std()
    scale = 1 / spread.clamp_min(_FLATTEST)
    # Positions beyond the trained length must not lead anywhere.
    scale[..., _POSITION] = 0
    longest = torch.stack([s.features[..., 3:5].amax(2) for s in samples]).amax(0).float()
    exponents = [_exponent(longest[..., i]) for i in range(2)]
    return Tables(exponents[0], exponents[1], static, mean, scale)


def _exponent(longest: Tensor) -> Tensor:
    """longest: log2 of the largest |x|, (L, H). Two bits need the largest scale, rms / 2."""
    largest = torch.exp2(longest) / math.sqrt(DIM) * 0.5 * _HEADROOM
    return (torch.ceil(torch.log2(largest)) - 16).clamp(-100, 100).to(torch.int8)


def examples(samples: Sequence[Sample], tables: Tables, words: TokenTable, span: Span) -> Examples:
    features, cost, weight = [], [], []
    for s in samples:
        at = judged(s, span)
        raw = raw_features(s, tables.static, words, at)
        features.append(((raw - tables.f_mean[:, :, None]) * tables.f_scale[:, :, None]).half())
        reads = s.reads[at]
        cost.append(s.cost[:, :, at] / reads[:, None] * torch.exp2(-tables.static)[:, :, None])
        weight.append(reads)
    reads = torch.cat(weight)
    return Examples(torch.cat(features, 2), torch.cat(cost, 2), reads / reads.mean())
