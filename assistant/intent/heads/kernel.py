"""An expert that remembers what it learnt from: near a sentence that it knows it is sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

DIMENSIONS = 192
"""Of the states' directions in which sentences differ most; more tell little."""
REACH = 0.5
RIDGE = 0.1


class Kernel:
    """Ridge regression, one label against the rest, on likeness to each row that was learnt."""

    def __init__(
        self,
        axes: NDArray[np.float16],
        points: NDArray[np.int8],
        scales: Floats,
        weights: NDArray[np.float16],
    ) -> None:
        """axes: (width, dimensions); points: (rows, dimensions), in units of ``scales``;
        weights: (rows, labels)."""
        self.axes = axes
        self.points = points
        self.scales = scales
        self.weights = weights
        self._points = points.astype(np.float32) * scales
        self._axes = axes.astype(np.float32)
        self._weights = weights.astype(np.float32)

    @classmethod
    def fit(cls, rows: Floats, labels: NDArray[np.int64], n_labels: int) -> Kernel:
        """rows: scaled (n, width); labels: (n,)."""
        width = rows.shape[1]
        kept = min(DIMENSIONS, width)
        spread = rows.T @ rows / np.float32(len(rows))
        axes = np.linalg.eigh(spread)[1][:, width - kept :].astype(np.float16)
        places = rows @ axes.astype(np.float32)
        scales = np.abs(places).max(axis=0, initial=1e-6) / np.float32(127)
        points = np.rint(places / scales).astype(np.int8)
        known = cls(axes, points, scales, np.zeros((len(rows), n_labels), np.float16))
        alike = known.likeness(known._points)
        alike[np.diag_indices(len(rows))] += RIDGE
        wanted = np.zeros((len(rows), n_labels), np.float32)
        wanted[np.arange(len(rows)), labels] = 2
        weights = np.linalg.solve(alike, wanted)
        return cls(axes, points, scales, weights.astype(np.float16))

    def likeness(self, places: Floats) -> Floats:
        """(n, rows) in 0 … 1 for (n, dimensions)."""
        far = (places**2).sum(axis=1)[:, None] + (self._points**2).sum(axis=1)
        far -= 2 * (places @ self._points.T)
        result: Floats = np.exp(np.maximum(far, 0) * np.float32(-REACH / len(self.axes)))
        return result

    def margins(self, scaled: Floats) -> Floats:
        """(..., labels) of scaled states (..., width): about 1 for what is meant, else -1."""
        flat = scaled.reshape(-1, scaled.shape[-1])
        found: Floats = self.likeness(flat @ self._axes) @ self._weights - 1
        return found.reshape(*scaled.shape[:-1], -1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``of_arrays`` makes an expert of."""
        return {
            "kernel_axes": self.axes,
            "kernel_points": self.points,
            "kernel_scales": self.scales,
            "kernel_weights": self.weights,
        }

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], width: int, n_labels: int
    ) -> Kernel | None:
        """None where none was learnt. Raises ValueError, KeyError for what does not fit."""
        if "kernel_points" not in arrays:
            return None
        rows, kept = arrays["kernel_points"].shape
        shapes = {
            "kernel_axes": (width, kept),
            "kernel_scales": (kept,),
            "kernel_weights": (rows, n_labels),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        return cls(
            arrays["kernel_axes"],
            arrays["kernel_points"],
            arrays["kernel_scales"],
            arrays["kernel_weights"],
        )
