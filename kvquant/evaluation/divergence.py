"""How far a cache's predictions are from those over the 16-bit cache, on the same text.

Every token of a window is fed in turn, the way decoding does, to the 16-bit cache and to the
others in lockstep, so no logits are stored. Positions of the window's second half count: there
the cache is long enough to matter and its bits are near those of the whole window.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kvquant.engine import Engine
from kvquant.errors import BackendError
from kvquant.evaluation.statistics import interval
from kvquant.evaluation.windows import Window
from kvquant.scoring import LANES, Logits, Opener, Setting, feed
from kvquant.session import Session

Mode = Literal["decode", "prefill"]
Floats = NDArray[np.float64]

_TOGETHER = 6
"""Quantized caches beside one 16-bit cache; more would only take more memory."""

_BLOCK = 128
"""Positions that are drawn together for an interval."""


class Truth:
    """The predictions over the 16-bit cache at several positions, in double precision."""

    def __init__(self, logits: Logits, targets: Sequence[int]) -> None:
        """logits: (n, n_vocab); targets: the n tokens that came next."""
        self._targets = targets
        self.log_p = _log_softmax(logits, "fp16")
        self.p = np.exp(self.log_p)
        self.nll = -self.log_p[np.arange(len(targets)), targets]
        self.best = logits.argmax(axis=1)

    def against(self, logits: Logits, name: str) -> Floats:
        """(3, n): divergence, negative log-likelihood, and 1 where the likeliest token agrees."""
        log_q = _log_softmax(logits, name)
        kld = (self.p * (self.log_p - log_q)).sum(axis=1)
        nll = -log_q[np.arange(len(self._targets)), self._targets]
        return np.stack([kld, nll, (logits.argmax(axis=1) == self.best).astype(np.float64)])


def _log_softmax(logits: Logits, name: str) -> Floats:
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=1, keepdims=True)
    wide -= np.log(np.exp(wide).sum(axis=1, keepdims=True))
    if not np.isfinite(wide).all():
        raise BackendError("model.numbers", f"The cache {name} gave no usable numbers.")
    return wide


@dataclass(slots=True)
class Divergence:
    """One setting's measurements.

    scores: (3, windows, positions): divergence in nats, its negative log-likelihood, agreement;
    truth: (windows, positions), negative log-likelihood over the 16-bit cache;
    bits, kv_bytes: averages over the full windows.
    """

    setting: Setting
    texts: list[str]
    scores: Floats
    truth: Floats
    bits: float = 0.0
    kv_bytes_per_token: float = 0.0

    @property
    def kld(self) -> Floats:
        """(windows, positions)."""
        values: Floats = self.scores[0]
        return values

    def row(self) -> dict[str, Any]:
        """Its part of a JSON row."""
        low, high = interval(self.kld, _BLOCK)
        quarters = np.array_split(self.kld, 4, axis=1)
        return {
            "bits_mean": round(self.bits, 3),
            "bytes_per_token": round(self.kv_bytes_per_token, 1),
            **self._part(np.ones(len(self.texts), np.bool_)),
            "kld_low": round(low, 6),
            "kld_high": round(high, 6),
            "kld_by_depth": [round(float(q.mean()), 6) for q in quarters],
            "positions": self.truth.size,
            "texts": {
                name: self._part(np.array([t == name for t in self.texts]))
                for name in dict.fromkeys(self.texts)
            },
        }

    def _part(self, chosen: NDArray[np.bool_]) -> dict[str, float]:
        kld, nll, agree = (float(x[chosen].mean()) for x in self.scores)
        return {
            "kld": round(kld, 6),
            "ppl": round(float(np.exp(nll)), 4),
            "ppl_ratio": round(float(np.exp(nll - self.truth[chosen].mean())), 5),
            "top1_agree": round(agree, 5),
        }


def paired(a: Divergence, b: Divergence) -> dict[str, Any]:
    """b against a, measured on the same positions."""
    difference = b.kld - a.kld
    low, high = interval(difference, _BLOCK)
    low_a, high_a = interval(a.kld, _BLOCK)
    low_b, high_b = interval(b.kld, _BLOCK)
    return {
        "difference": round(float(difference.mean()), 6),
        "difference_low": round(low, 6),
        "difference_high": round(high, 6),
        "factor": round(float(b.kld.mean() / a.kld.mean()), 3) if a.kld.any() else None,
        "apart": high_a < low_b or high_b < low_a,
    }


def measure(
    open_engine: Opener,
    settings: Sequence[Setting],
    found: Sequence[Window],
    mode: Mode,
    progress: Callable[[str, float], None],
) -> list[Divergence]:
    """All settings on the same windows, which have one length.

    progress: gets what is going on and which part of it is done. Raises KvquantError.
    """
    context = len(found[0].tokens) - 1
    first = context // 2
    shape = (len(found), context - first)
    texts = [w.text for w in found]
    results = [
        Divergence(s, texts, np.zeros((3, *shape)), np.zeros(shape)) for s in settings
    ]  # fmt: skip
    width = LANES if mode == "decode" else 1
    batches = [range(at, min(at + width, len(found))) for at in range(0, len(found), width)]
    exact = next((r for r in results if r.setting.kv == "fp16"), None)
    others = [r for r in results if r.setting.kv != "fp16"]
    groups = [others[at : at + _TOGETHER] for at in range(0, len(others), _TOGETHER)] or [[]]
    done = 0.0
    whole = len(groups) * len(batches)
    for group in groups:
        names = ", ".join(["fp16", *(r.setting.name for r in group)])
        # The 16-bit cache is its own measure; further groups need it without counting it again.
        columns = [exact, *group]
        exact = None
        with contextlib.ExitStack() as stack:
            engines = [
                stack.enter_context(open_engine(s, context))
                for s in [Setting("fp16"), *(r.setting for r in group)]
            ]
            for lanes in batches:
                tokens = [found[w].tokens for w in lanes]
                for part in _batch(engines, columns, tokens, lanes, first, mode):
                    progress(names, (done + part) / whole)
                done += 1
    return results


def _batch(
    engines: Sequence[Engine],
    columns: Sequence[Divergence | None],
    tokens: Sequence[list[int]],
    lanes: range,
    first: int,
    mode: Mode,
) -> Iterator[float]:
    """Scores these windows, (lanes, context + 1) tokens; yields which part of them is done.

    columns: where each engine's figures go.
    """
    context = len(tokens[0]) - 1
    sessions = [[engine.session() for _ in lanes] for engine in engines]
    steps = _decoded if mode == "decode" else _prefilled
    for at, rows in steps(sessions, tokens):
        # (windows, positions) of these rows: one of the two is 1.
        n = len(rows[0]) // len(lanes)
        begin = max(at, first)
        if at + n > first:
            targets = [ids[p + 1] for ids in tokens for p in range(begin, at + n)]
            truth = Truth(rows[0][begin - at :] if n > 1 else rows[0], targets)
            place = np.s_[lanes.start : lanes.stop, begin - first : at + n - first]
            for result, other in zip(columns, rows, strict=True):
                if result is None:
                    continue
                values = truth.against(other[begin - at :] if n > 1 else other, result.setting.name)
                shape = result.truth[place].shape
                result.truth[place] = truth.nll.reshape(shape)
                result.scores[(slice(None), *place)] = values.reshape(3, *shape)
        yield (at + n) / context
    for result, own in zip(columns, sessions, strict=True):
        if result is None:
            continue
        share = len(lanes) / len(result.texts)
        result.bits += share * float(np.mean([bits_of(s) for s in own]))
        result.kv_bytes_per_token += share * float(np.mean([s.kv_bytes / s.held for s in own]))


def bits_of(session: Session) -> float:
    """Average bits of an element of this session's cache, all counted."""
    return 16 * session.kv_bytes / session.kv_bytes_fp16


def _decoded(
    sessions: Sequence[Sequence[Session]], tokens: Sequence[list[int]]
) -> Iterator[tuple[int, list[Logits]]]:
    """(position, logits of each engine's lanes)."""
    for at in range(len(tokens[0]) - 1):
        now = [ids[at] for ids in tokens]
        yield at, [feed(own, now) for own in sessions]


def _prefilled(
    sessions: Sequence[Sequence[Session]], tokens: Sequence[list[int]]
) -> Iterator[tuple[int, list[Logits]]]:
    """(first position, logits of each engine's chunk) of a single window."""
    (ids,) = tokens
    at = 0
    while at < len(ids) - 1:
        piece = ids[at : min(at + sessions[0][0].chunk, len(ids) - 1)]
        yield at, [own[0].append_rows(piece) for own in sessions]
        at += len(piece)
