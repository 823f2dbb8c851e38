"""What the model does with each token's keys and values, and what an error in them would cost.

The cost of a stored vector x is the rise of the mean KL divergence of the next token per unit of
relative squared error. To second order it is half the squared gradient of the log-likelihood of
a token drawn from the model itself (Fisher information), times |x|²/D because the rotation
spreads an error evenly. Only what flows through reads of the *stored* copy counts: queries
beyond the window, of tokens that are no sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kvquant.training.forward import Model, Probe, Span, attend_mixed

N_SEEN = 7
"""Features 0-6, which come from keys, values and attention."""
_TINY = 2.0**-20
_CHUNK = 256
"""Positions whose logits are held at once."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One window of T tokens.

    features: (L, H, T, 7) float16; cost: (L, H, T, 2) of keys and values, summed over the queries
    of the window; reads: (T,) how many queries read the stored copy of a token;
    entropy, variance: (T,) of the prediction after a token and of its attention.
    """

    tokens: Tensor
    features: Tensor
    cost: Tensor
    reads: Tensor
    entropy: Tensor
    variance: Tensor


@dataclass(frozen=True, slots=True)
class Means:
    """Channel means (L, H, D): of keys after RoPE and before it, and of values."""

    k: Tensor
    k_pre: Tensor
    v: Tensor

    @classmethod
    def over(cls, parts: Sequence[Means]) -> Means:
        """Of several windows of the same length."""
        names = ("k", "k_pre", "v")
        return cls(*(torch.stack([getattr(m, x) for m in parts]).mean(0) for x in names))


def channel_means(model: Model, tokens: Tensor, span: Span) -> Means:
    """Of one window; its sinks, which are unlike all others and stay in FP16, do not count."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []

    def attend(i: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kinds = (k, model.turn(k, back=True), v)
        a, b, c = (x[:, span.sinks :].mean(1) for x in kinds)
        found.append((a, b, c))
        return attend_mixed(q, (k, v), (k, v), span, _ignore)

    with torch.no_grad():
        model.hidden(tokens, attend)
    return Means(*(torch.stack(x) for x in zip(*found, strict=True)))


def sample(model: Model, tokens: Tensor, means: Means, span: Span, seed: int) -> Sample:
    """Runs a window forth and back. seed: of the tokens that are drawn."""
    p = model.params
    t = len(tokens)
    watch = Watch(model, t, span)
    squares = torch.zeros(2, p.n_layer, p.n_kv_head, t)
    norms = torch.zeros(2, p.n_layer, p.n_kv_head, t)

    def attend(i: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        for total, x, mean in zip(norms, (k, v), (means.k, means.v), strict=True):
            total[i] = (x.detach() - mean[i][:, None]).square().sum(-1)
        return Probe.apply(q, k, v, span, watch.of(i), (squares[0, i], squares[1, i]))

    # The first layer's input must ask for a gradient; the weights themselves stay as they are.
    with torch.enable_grad():
        hidden = model.hidden(tokens, attend, grad=True)
        with torch.no_grad():
            gradient, entropy = _likelihood(model, hidden, torch.Generator().manual_seed(seed))
        hidden.backward(gradient)
    reads = (t - 1 - span.window - torch.arange(t)).clamp_min(0).float()
    reads[: span.sinks] = 0
    return Sample(
        tokens=tokens,
        features=seen_features(watch, norms, p.n_head // p.n_kv_head).half(),
        cost=(0.5 / p.head_dim * squares * norms).permute(1, 2, 3, 0).contiguous(),
        reads=reads,
        entropy=entropy,
        variance=watch.variance,
    )


class Watch:
    """Attention that tokens draw while they are in the window, and how peaked attention is.

    mass, late, peak: (L, H, T), summed over the query heads of a group; variance: (T,).
    """

    def __init__(self, model: Model, t: int, span: Span) -> None:
        p = model.params
        self.mass, self.late, self.peak = torch.zeros(3, p.n_layer, p.n_kv_head, t)
        self.variance = torch.zeros(t)
        self._last = p.n_layer - 1
        self.span = span

    def of(self, layer: int) -> _LayerWatch:
        return _LayerWatch(self, layer, layer == self._last)


@dataclass(frozen=True, slots=True)
class _LayerWatch:
    watch: Watch
    layer: int
    last: bool

    def __call__(self, first: int, p: Tensor) -> None:
        w, i = self.watch, self.layer
        p = p.detach()
        total = p.sum(1)
        queries = torch.arange(first, first + p.shape[2])
        for distance in range(1, w.span.window + 1):
            keys = queries - distance
            rows = torch.nonzero(keys >= 0)[:, 0]
            if not len(rows):
                continue
            at = slice(int(keys[rows[0]]), int(keys[rows[-1]]) + 1)
            drawn = total[:, rows, keys[rows]]
            w.mass[i, :, at] += drawn
            if distance > w.span.window // 2:
                w.late[i, :, at] += drawn
            w.peak[i, :, at] = torch.maximum(w.peak[i, :, at], drawn)
        if self.last:
            w.variance[queries] = attention_variance(p, queries)


def attention_variance(p: Tensor, queries: Tensor) -> Tensor:
    """Mean over heads of the variance of attention on layer-normalised scores, (queries,).

    In units of the squared mean weight, so that it does not depend on how many keys there are.
    p: (H, G, queries, keys) probabilities, keys after a query 0.
    """
    n = (queries + 1).float()
    seen = torch.arange(p.shape[-1]) <= queries[:, None]
    # The softmax's own shift drops out of the normalisation.
    scores = p.clamp_min(1e-30).log().masked_fill(~seen, 0)
    mean = scores.sum(-1) / n
    scores = scores - mean[..., None]
    spread = ((scores.square() * seen).sum(-1) / n).sqrt()
    scores = scores / (spread[..., None] + 1e-3)
    a = torch.softmax(scores.masked_fill(~seen, -torch.inf), -1)
    return (a.square().sum(-1) * n - 1.0).mean((0, 1))


def seen_features(watch: Watch, norms: Tensor, group: int) -> Tensor:
    """Features 0-6, (L, H, T, 7). norms: squared lengths of k' and v', (2, L, H, T)."""
    w = watch.span.window
    mass = torch.log2(watch.mass / (w * group) + _TINY)
    return torch.stack(
        [
            mass,
            torch.log2(watch.late / (w / 2 * group) + _TINY),
            torch.log2(watch.peak / group + _TINY),
            torch.log2(norms[0].sqrt() + _TINY),
            torch.log2(norms[1].sqrt() + _TINY),
            mass.mean(1, keepdim=True).expand_as(mass),
            mass.mean((0, 1), keepdim=True).expand_as(mass),
        ],
        -1,
    )


def _likelihood(model: Model, hidden: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Gradient of the log-likelihood of drawn tokens in the hidden states, and the entropy."""
    gradient, entropy = torch.empty_like(hidden), torch.empty(len(hidden))
    for a in range(0, len(hidden), _CHUNK):
        log_p = torch.log_softmax(hidden[a : a + _CHUNK] @ model.head.T, -1)
        p = log_p.exp()
        entropy[a : a + _CHUNK] = -(p * log_p).sum(-1)
        drawn = torch.multinomial(p, 1, generator=draw)[:, 0]
        gradient[a : a + _CHUNK] = model.head[drawn] - p @ model.head
    return gradient, entropy


def _ignore(first: int, p: Tensor) -> None:
    """Nobody watches."""
