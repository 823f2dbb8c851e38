"""Keys stored after their rotation by position (RoPE) against keys stored before it.

Stored after it, a query is multiplied with the codes as they are. Stored before it, a key has to
be decoded and turned at every step that looks at it, and in return can be moved to another
position unchanged. This measurement is what the default rests on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kvquant.evaluation.divergence import Divergence, Mode, paired
from kvquant.evaluation.divergence import measure as divergences
from kvquant.evaluation.windows import Window
from kvquant.kv_settings import KEY_LAYOUTS
from kvquant.scoring import Opener, Setting
from kvquant.session import Session

_STEPS = 15
_LEAST = 1e-9


def measure(
    open_engine: Opener,
    settings: Sequence[Setting],
    text: Sequence[Window],
    mode: Mode,
    progress: Callable[[str, float], None],
) -> list[dict[str, Any]]:
    """A row for each setting of a quantized cache and each layout. Raises KvquantError.

    step_ms: median time of one token over the first window, layouts in turns; attention_cost: the
    part of it beyond a step over an empty cache, against the layout "rotated"; factor: of the
    divergence, against the same, with the difference's interval.
    """
    pairs = [[replace(s, key_layout=layout) for layout in KEY_LAYOUTS] for s in settings]
    each = [Setting("fp16"), *(s for pair in pairs for s in pair)]
    _, *found = divergences(open_engine, each, text, mode, progress)
    rows = []
    for i, pair in enumerate(pairs):
        progress(f"{settings[i].name}, steps", i / len(pairs))
        own = found[2 * i : 2 * i + 2]
        bare, full = _times(open_engine, pair, text[0].tokens)
        cost = [max(f - b, _LEAST) for f, b in zip(full, bare, strict=True)]
        rows += [
            {
                **_figures(one),
                **_against(own[0], one),
                "step_ms": round(seconds * 1e3, 2),
                "attention_cost": round(part / cost[0], 2),
            }
            for one, seconds, part in zip(own, full, cost, strict=True)
        ]
    return rows


def _figures(found: Divergence) -> dict[str, Any]:
    row = found.row()
    names = ("bits_mean", "kld", "kld_low", "kld_high", "ppl_ratio", "top1_agree")
    return {
        "kv": found.setting.kv,
        "budget": found.setting.budget,
        "key_layout": found.setting.key_layout,
        **{name: row[name] for name in names},
    }


def _against(rotated: Divergence, other: Divergence) -> dict[str, Any]:
    pair = paired(rotated, other)
    return {name: pair[name] for name in ("factor", "difference_low", "difference_high")}


def _times(
    open_engine: Opener, pair: Sequence[Setting], tokens: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Median seconds of a step over an empty cache, and over one that holds the text."""
    depth = len(tokens) - 1
    engines = [open_engine(s, depth + 1) for s in pair]
    try:
        sessions = [engine.session() for engine in engines]
        bare = _steps(sessions, tokens[0], 0)
        for session in sessions:
            session.prefill(tokens[:depth])
        return bare, _steps(sessions, tokens[depth], depth)
    finally:
        for engine in engines:
            engine.close()


def _steps(sessions: Sequence[Session], token: int, depth: int) -> list[float]:
    seconds: list[list[float]] = [[] for _ in sessions]
    for _ in range(_STEPS):
        for session, own in zip(sessions, seconds, strict=True):
            start = time.perf_counter()
            session.steps.append([token], depth, last=False)
            own.append(time.perf_counter() - start)
    return [float(np.median(own)) for own in seconds]
