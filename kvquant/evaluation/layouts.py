"""Keys stored after their rotation by position (RoPE) against keys stored before it.

Stored after it, a query is multiplied with the codes as they are. Stored before it, a key has to
be decoded and turned at every step that looks at it, and in return can be moved to another
position. The reference has both; the compiled engine has the one that this measurement is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant import reference
from kvquant.backend import CacheBackend
from kvquant.evaluation.divergence import Truth
from kvquant.evaluation.statistics import interval

LAYOUTS = ("rotated", "pre_rope")
CONTEXT = 384
"""Tokens of the text: the reference is slow."""

_CHUNK = 32
_BLOCK = 32
_STEPS = 7


def measure(
    path: Path,
    tokens: Sequence[int],
    kinds: Sequence[str],
    threads: int,
    progress: Callable[[str, float], None],
) -> list[dict[str, Any]]:
    """A row for each kind and layout; tokens: CONTEXT + 1 of them. Raises KvquantError.

    step_ms: median time of one token over the whole text, layouts in turns; attention_cost: the
    part of it beyond a step over an empty cache, against the layout "rotated".
    """
    ids = np.array(tokens, np.int32)
    exact = reference.load(str(path), threads=threads, kv="fp16").cache(CONTEXT + _STEPS)
    rows = []
    for kind in kinds:
        models = {
            layout: reference.load(str(path), threads=threads, kv=kind, key_layout=layout)
            for layout in LAYOUTS
        }
        caches = {layout: model.cache(CONTEXT + _STEPS) for layout, model in models.items()}
        exact.truncate(0)
        kld: dict[str, list[NDArray[np.float64]]] = {layout: [] for layout in LAYOUTS}
        for at in range(0, CONTEXT, _CHUNK):
            piece = ids[at : at + _CHUNK]
            truth = Truth(exact.forward(piece, at, len(piece)), list(ids[at + 1 :][: len(piece)]))
            for layout, cache in caches.items():
                values = truth.against(cache.forward(piece, at, len(piece)), f"{kind} {layout}")
                if at >= CONTEXT // 2:
                    kld[layout].append(values[0])
            progress(f"{kind}, key layouts", (at + len(piece)) / CONTEXT)
        empty = {layout: model.cache(_STEPS) for layout, model in models.items()}
        bare, full = _times(empty, ids[:1], 0), _times(caches, ids[:1], CONTEXT)
        cost = {layout: max(full[layout] - bare[layout], 1e-9) for layout in LAYOUTS}
        for layout in LAYOUTS:
            scores = np.concatenate(kld[layout])
            low, high = interval(scores[None], _BLOCK)
            rows.append(
                {
                    "kv": kind,
                    "key_layout": layout,
                    "kld": round(float(scores.mean()), 6),
                    "kld_low": round(low, 6),
                    "kld_high": round(high, 6),
                    "step_ms": round(full[layout] * 1e3, 2),
                    "attention_cost": round(cost[layout] / cost[LAYOUTS[0]], 2),
                }
            )
    return rows


def _times(
    caches: Mapping[str, CacheBackend], token: NDArray[np.int32], depth: int
) -> dict[str, float]:
    """Median seconds of a step over caches of this many tokens."""
    seconds: dict[str, list[float]] = {layout: [] for layout in caches}
    for step in range(_STEPS):
        for layout, cache in caches.items():
            start = time.perf_counter()
            cache.forward(token, depth + step, 0)
            seconds[layout].append(time.perf_counter() - start)
    return {layout: float(np.median(s)) for layout, s in seconds.items()}
