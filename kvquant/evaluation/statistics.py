"""Intervals for means of measurements that come in runs and are not independent within them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 4000
_SEED = 20240601


def interval(values: NDArray[np.float64], block: int) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of (sequences, positions).

    Runs of ``block`` positions of one sequence are drawn whole, since neighbours are alike.
    """
    n, length = values.shape
    block = min(block, length)
    whole = length - length % block
    runs = values[:, :whole].reshape(n * (whole // block), block).mean(axis=1)
    if len(runs) < 2:
        return float(values.mean()), float(values.mean())
    random = np.random.default_rng(_SEED)
    drawn = random.integers(0, len(runs), (_RESAMPLES, len(runs)))
    low, high = np.quantile(runs[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)
