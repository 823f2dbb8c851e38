"""Plots of benchmarks, written as PNG; the assistant's only importer of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assistant.errors import PackageError

_MOST = 60
"""More names cannot be read on one plot; the ones that are confused most are shown."""


def confusion(counts: Mapping[tuple[str, str], int], path: Path, title: str) -> None:
    """How often what was meant (rows) was understood as what (columns).

    counts: (meant, understood) -> sentences. Raises PackageError, OSError.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PackageError(
            "bench.plots",
            "The package matplotlib is not installed.",
            'Install the extra "plots", or leave out --out.',
        ) from error
    names = _names(counts)
    place = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for (meant, got), n in counts.items():
        if meant in place and got in place:
            table[place[meant], place[got]] += n
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    side = max(4.0, 0.24 * len(names) + 2.5)
    figure = Figure(figsize=(side, side), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, column in zip(*np.nonzero(table), strict=True):
        axes.text(
            column, row, f"{table[row, column]:.0f}", ha="center", va="center", fontsize=6,
            color="white" if shares[row, column] > 0.5 else "#222222",
        )  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("understood")
    axes.set_ylabel("meant")
    axes.set_title(title, loc="left", fontsize=10)
    figure.savefig(path, dpi=130)


def _names(counts: Mapping[tuple[str, str], int]) -> list[str]:
    """In order of the alphabet, "none" last."""
    wrong: dict[str, int] = {}
    for (meant, got), n in counts.items():
        for name in (meant, got):
            wrong[name] = wrong.get(name, 0) + (n if meant != got else 0)
    kept = sorted(wrong, key=lambda name: (-wrong[name], name))[:_MOST]
    return sorted(kept, key=lambda name: (name == "none", name))
