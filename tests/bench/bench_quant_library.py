"""Speed of the quantization kernels alone, built with the README's line for this machine.

``python tests/bench/bench_quant_library.py [--rows N] [--cols N]`` prints one line of JSON.
quantize, dequantize: million numbers a second. matvec: billion weights a second, and how many times
as fast as numpy's float32 product of the same matrix. One thread; medians of alternating runs after
a warm-up; groups of 64.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before numpy: its product shall have one thread too.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from tests.bench.machine import describe
from tests.native.test_quant_library import Library, build, build_line

GROUP = 64
ROUNDS = 7
ENOUGH_S = 0.02


def seconds(work: Callable[[], Any]) -> float:
    """Of one call, over enough of them to be measured."""
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < ENOUGH_S:
        work()
        calls += 1
    return (time.perf_counter() - start) / calls


def medians(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds by name; all take turns."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in times.items()}


def measure(library: Library, rows: int, cols: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    w = rng.standard_normal((rows, cols), np.float32)
    x = rng.standard_normal(cols, np.float32)
    out = []
    for bits in (2, 3, 4, 8, 16):
        q = library.quantize(w, bits, GROUP)
        works: dict[str, Callable[[], Any]] = {
            "quantize": lambda b=bits, e=q.exponent: library.quantize(w, b, GROUP, e),
            "dequantize": lambda b=bits, q=q: library.dequantize(q, w.shape, b, GROUP),
        }
        if bits in (2, 4):
            works["matvec"] = lambda b=bits, q=q: library.matvec(q, w.shape, b, GROUP, x)
            works["numpy"] = lambda: w @ x
        taken = medians(works)
        back = library.dequantize(q, w.shape, bits, GROUP)
        row: dict[str, Any] = {
            "bits": bits,
            "rms_error": round(float(np.sqrt(np.mean((back - w) ** 2))), 6),
            "quantize_m_per_s": round(w.size / taken["quantize"] / 1e6, 1),
            "dequantize_m_per_s": round(w.size / taken["dequantize"] / 1e6, 1),
        }
        if "matvec" in taken:
            row["matvec_g_per_s"] = round(w.size / taken["matvec"] / 1e9, 2)
            row["matvec_over_numpy_f32"] = round(taken["numpy"] / taken["matvec"], 2)
        out.append(row)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1536)
    parser.add_argument("--cols", type=int, default=576)
    args = parser.parse_args()
    command = build_line(arm=platform.machine() == "aarch64")
    with tempfile.TemporaryDirectory() as folder:
        library = Library(build(Path(folder), command))
        rows = measure(library, args.rows, args.cols)
    result = {
        "what": "quant_library",
        "machine": describe(),
        "build": " ".join(command),
        "threads": 1,
        "rows": args.rows,
        "cols": args.cols,
        "group": GROUP,
        "results": rows,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
