"""Is the attention-variance feature a number that a controller can rely on?

The feature of a token is the variance of its attention over what came before, averaged over the
heads. On raw scores it depends on their scale, which differs between layers and models and grows
with outliers; on scores that are layer-normalised first it does not. Both are computed by the
reference for every layer, in single and in half precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant import reference
from kvquant.features import attention_variance

_MOST = 384
"""Tokens that are looked at: scores are a square of them for every head."""

_FIRST = 8
"""Tokens left out: with hardly anything to attend to, a variance says nothing."""

_FEW = 32
"""Texts with fewer tokens are not judged."""


def stability(path: Path, tokens: Sequence[int], threads: int) -> dict[str, Any]:
    """Figures with and without normalisation, and a verdict. Raises KvquantError."""
    if len(tokens) < _FEW:
        return {"n_tokens": len(tokens), "verdict": "The text is too short to judge the feature."}
    used = np.array(tokens[:_MOST], np.int32)
    model = reference.load(str(path), threads=threads, kv="fp16")
    cache = model.cache(len(used))
    values: dict[str, list[NDArray[np.float32]]] = {"raw": [], "normalised": []}

    def watch(layer: int, scores: NDArray[np.float32]) -> None:
        for name, found in values.items():
            with np.errstate(all="ignore"):
                found.append(attention_variance(scores, normalised=name == "normalised")[_FIRST:])

    cache.watch = watch
    cache.forward(used, 0, 0)
    model.close()
    report: dict[str, Any] = {
        "n_tokens": len(used),
        **{name: spread(np.stack(found)) for name, found in values.items()},
    }
    report["verdict"] = verdict(report["raw"], report["normalised"])
    return report


def spread(values: NDArray[np.float32]) -> dict[str, Any]:
    """values: (layers, tokens).

    range: of the finite ones; half_lost: the part that half precision cannot tell from zero or
    infinity; layers_ratio: the largest layer's average over the smallest one's; tokens_ratio: the
    99th percentile over the first, within the last layer.
    """
    finite = np.isfinite(values)
    safe = np.where(finite, values, 0).astype(np.float64)
    means = safe.sum(axis=1) / np.maximum(1, finite.sum(axis=1))
    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    smallest = np.finfo(np.float16).tiny
    low, high = np.quantile(safe[-1], [0.01, 0.99])
    shown = safe[finite] if finite.any() else np.zeros(1)
    return {
        "range": [_short(shown.min()), _short(shown.max())],
        "non_finite": _short(1 - finite.mean()),
        "half_lost": _short((~np.isfinite(half) | (half < smallest)).mean()),
        "layers_ratio": _ratio(means.max(), means.min()),
        "tokens_ratio": _ratio(high, low),
    }


def verdict(raw: dict[str, Any], normalised: dict[str, Any]) -> str:
    """One line."""
    bad = normalised["non_finite"] > 0
    figures = (
        f"{normalised['range'][0]:.2g} to {normalised['range'][1]:.2g}, layers differ "
        f"{_times(normalised)} (raw scores: {raw['range'][0]:.2g} to {raw['range'][1]:.2g}, "
        f"{_times(raw)})"
    )
    if bad:
        return (
            f"Attention variance is unusable, {normalised['non_finite']:.1%} no numbers: {figures}"
        )
    return f"Attention variance on normalised scores is finite: {figures}."


def _times(side: dict[str, Any]) -> str:
    ratio = side["layers_ratio"]
    return "without bound" if ratio is None else f"× {ratio:.3g}"


def _ratio(high: float, low: float) -> float | None:
    return _short(high / low) if low > 0 else None


def _short(value: float) -> float:
    return float(f"{value:.4g}")
