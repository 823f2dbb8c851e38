"""The rows of all measurements together, comparisons between them, and the table of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvquant.evaluation.divergence import Divergence, paired
from kvquant.scoring import Setting

_NEAR = 0.25
"""Bits; caches that differ by more are not compared."""

_KEYS = (
    "bits_mean", "bytes_per_token", "kld", "kld_low", "kld_high", "ppl", "ppl_ratio",
    "hellaswag", "top1_agree", "needle",
)  # fmt: skip

_HEAD = ("cache", "bits", "KL", "95 % interval", "ppl ratio", "top-1", "HellaSwag", "needle")


def empty_row(setting: Setting) -> dict[str, Any]:
    """A row with every key; what is not measured stays None."""
    adaptive = setting.kv == "adaptive"
    return {
        "kv": setting.kv,
        "policy": (setting.policy or "adaptive") if adaptive else None,
        "budget": setting.budget if adaptive else None,
        **dict.fromkeys(_KEYS),
    }


def comparisons(found: Sequence[Divergence]) -> list[dict[str, Any]]:
    """Each cache that a learned policy fills against the others of nearly the same bits.

    difference: of the mean divergences, other minus adaptive; its interval is of the paired
    differences. apart: the two intervals of the means do not overlap.
    """
    pairs = []
    for a in found:
        if a.setting.kv != "adaptive" or a.setting.policy not in (None, "adaptive"):
            continue
        for b in found:
            if b is not a and abs(a.bits - b.bits) <= _NEAR:
                pairs.append(
                    {
                        "adaptive": a.setting.name,
                        "other": b.setting.name,
                        "bits": [round(a.bits, 3), round(b.bits, 3)],
                        **paired(a, b),
                    }
                )
    return pairs


def table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    """Aligned columns; only those that have a figure."""
    cells = [
        [
            name,
            _number(row["bits_mean"], ".2f"),
            _number(row["kld"], ".5f"),
            "" if row["kld_low"] is None else f"{row['kld_low']:.5f} – {row['kld_high']:.5f}",
            _number(row["ppl_ratio"], ".4f"),
            _number(row["top1_agree"], ".1%"),
            _hellaswag(row),
            _number(row["needle"], ".0%"),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    kept = [i for i in range(len(_HEAD)) if any(line[i] for line in cells)]
    lines = [[_HEAD[i] for i in kept], *([line[i] for i in kept] for line in cells)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(kept))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _hellaswag(row: dict[str, Any]) -> str:
    if row["hellaswag"] is None:
        return ""
    detail = row["hellaswag_detail"]
    return (
        f"{row['hellaswag']:.1%} ({detail['difference']:+.2f} points, "
        f"{detail['bits_mean']:.2f} bits)"
    )


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
