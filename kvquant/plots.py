"""Plots of quality and of precision, written as PNG; the only importer of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import PackageMissingError, SettingError

PUBLISHED = (
    ("llama.cpp q4_0, rotated", 4.5, 0.046),
    ("llama.cpp q4_0", 4.5, 0.109),
    ("llama.cpp q4_1", 5.0, 0.047),
    ("llama.cpp q8_0", 8.5, 0.0006),
)
"""(cache, bits, divergence) of llama.cpp's cache types on this model, measured apart from us: their
own texts and context lengths, so only the order of magnitude compares."""

_INK, _PALE = "#222222", "#9a9a9a"
_COLOURS = ("#c23b22", "#2a6f97", "#6a994e", "#8e5ea2", "#e09f3e", "#3d405b", "#1b998b", "#7f4f24")


def quality(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Divergence against bits: rows with kld, bits_mean, kv and policy; kinds are joined by lines.

    Raises PackageMissingError, SettingError when the file cannot be written.
    """
    figure, axes = _figure(path, 8.5, 5.4)
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("kld"):
            name = str(row["policy"]) if row["kv"] == "adaptive" else "one width for all"
            kinds.setdefault(name, []).append(row)
    # The learned one last, so that it lies on top.
    for i, name in enumerate(sorted(kinds, key=lambda k: k == "adaptive")):
        colour = _COLOURS[0] if name == "adaptive" else _COLOURS[1 + i % (len(_COLOURS) - 1)]
        points = sorted(kinds[name], key=lambda r: r["bits_mean"])
        x = [r["bits_mean"] for r in points]
        y = [r["kld"] for r in points]
        spread = [
            [max(0.0, r["kld"] - r.get("kld_low", r["kld"])) for r in points],
            [max(0.0, r.get("kld_high", r["kld"]) - r["kld"]) for r in points],
        ]
        axes.errorbar(
            x, y, yerr=spread, color=colour, marker="o", ms=5 + (name == "adaptive"),
            lw=1.2 + (name == "adaptive"), capsize=2, label=name,
        )  # fmt: skip
    for i, (name, bits, kld) in enumerate(PUBLISHED):
        label = "llama.cpp (measured elsewhere)" if i == 0 else None
        axes.plot(bits, kld, marker="x", ms=8, mew=2, ls="", color=_PALE, label=label)
        axes.annotate(
            name.removeprefix("llama.cpp "), (bits, kld), xytext=(0, 8), ha="center",
            textcoords="offset points", color=_PALE, fontsize=9,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("bits per element, all counted")
    axes.set_ylabel("KL divergence from the 16-bit cache, nats")
    axes.set_title(title, loc="left", fontsize=11, color=_INK)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    _save(figure, path)


def precision(
    bits: NDArray[np.float64],
    path: Path,
    title: str,
    stretches: Sequence[tuple[int, int, float]],
) -> None:
    """How many bits each token got in each layer, and along the text.

    bits: (tokens, layers), averages over heads, keys and values; stretches: (first token, one
    past the last, average bits). Raises as ``quality`` does.
    """
    # Tokens in 16 bits are left blank: they would take the whole scale of colours.
    bits = np.where(bits < 16, bits, np.nan)
    from_layers = bits.T
    n = bits.shape[0]
    columns = max(1, -(-n // 1600))
    if columns > 1:
        whole = n - n % columns
        from_layers = from_layers[:, :whole].reshape(bits.shape[1], -1, columns).mean(axis=2)
    figure, (top, bottom) = _figure(path, 10, 6, rows=2, heights=(2, 1))
    image = top.imshow(
        from_layers, aspect="auto", interpolation="nearest", cmap="viridis",
        extent=(0, n, bits.shape[1] - 0.5, -0.5),
    )  # fmt: skip
    figure.colorbar(image, ax=top, label="bits", pad=0.01)
    top.set_ylabel("layer")
    top.set_title(title, loc="left", fontsize=11, color=_INK)
    middle = [(a + b) / 2 for a, b, _ in stretches]
    bottom.plot(np.arange(n), bits.mean(axis=1), color=_COLOURS[1], lw=0.4, alpha=0.6)
    bottom.plot(
        middle,
        [mean for _, _, mean in stretches],
        color=_COLOURS[0],
        marker="o",
        lw=1.5,
        label="stretches",
    )
    bottom.set_xlim(0, n)
    bottom.set_xlabel("token")
    bottom.set_ylabel("bits of a token")
    bottom.legend(frameon=False, fontsize=9)
    bottom.grid(visible=True, alpha=0.3)
    _save(figure, path)


def _figure(path: Path, width: float, height: float, rows: int = 1, heights: Any = None) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as e:
        raise PackageMissingError(
            "plot.package",
            f"{path.name} cannot be drawn: the package matplotlib is not installed.",
            'Install the extra "plots": pip install "pi-voice-assistant[plots]".',
        ) from e
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    ratios = {"height_ratios": heights} if heights else {}
    return figure, figure.subplots(rows, 1, **ratios)


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=130, format="png")
    except OSError as e:
        raise SettingError(
            "plot.file", f"{path} cannot be written: {e.strerror or e}."
        ) from e  # fmt: skip
