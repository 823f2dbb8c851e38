"""Times of many runs in a few figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def percentiles(ms: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 of times in milliseconds; zeros for none."""
    if not ms:
        return {"p50": 0.0, "p95": 0.0, "p99": 0.0}
    p50, p95, p99 = np.percentile(ms, [50, 95, 99])
    return {"p50": round(float(p50), 2), "p95": round(float(p95), 2), "p99": round(float(p99), 2)}
