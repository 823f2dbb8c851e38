"""The engine as whole processes: first token, peak memory, and with every core busy.

    python tests/bench/bench_engine.py --model FILE.gguf [--peer LLAMA_BENCH]

With --peer, llama.cpp's llama-bench runs the same work in turn with ours. It prints its own timings
but the figures of a process are the whole process's: started, loaded, computed, ended. Ends in one
line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
PROMPT, DEPTH, STEPS = 212, 4096, 24

# As the engine is used: tokens are ready, text is not asked for.
OURS = """
import sys, time
import numpy as np
from kvquant import _native
model, threads, prompt, steps = sys.argv[1], *map(int, sys.argv[2:])
backend = _native.load(model, threads=threads)
cache = backend.cache(prompt + steps + 1)
tokens = np.arange(100, 100 + prompt, dtype=np.int32)
for at in range(0, prompt, backend.prefill_chunk):
    part = tokens[at : at + backend.prefill_chunk]
    cache.forward(part, at, int(at + len(part) == prompt))
seconds = []
for i in range(steps):
    start = time.perf_counter()
    cache.forward(tokens[:1], prompt + i, 1)
    seconds.append(time.perf_counter() - start)
if seconds:
    print(sum(seconds) / steps)
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """seconds: of the whole process; peak: resident bytes; out: what it printed."""

    seconds: float
    peak: int
    out: str


def run(command: list[str]) -> Ran:
    """Raises CalledProcessError: a program that crashes looks like a fast one."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Ran(seconds, usage.ru_maxrss * 1024, out)


class Engines:
    """Both programs on one model."""

    def __init__(self, model: str, peer: str | None) -> None:
        self.model = model
        self.peer = peer

    def ours(self, threads: int, prompt: int, steps: int) -> Ran:
        return run([sys.executable, "-c", OURS, self.model, str(threads), str(prompt), str(steps)])

    def theirs(self, flash: str, threads: int, prompt: int, steps: int, depth: int) -> Ran:
        assert self.peer is not None
        return run(
            [self.peer, "-m", self.model, "-t", str(threads), "-p", str(prompt), "-n", str(steps),
             "-d", str(depth), "-r", "1", "--no-warmup", "-fa", flash, "-o", "json"]
        )  # fmt: skip

    def alternate(
        self, ours: Callable[[], float], theirs: Callable[[str], float]
    ) -> tuple[float, float | None]:
        """Medians in turns; llama.cpp's better one with and without flash attention."""
        mine: list[float] = []
        others: dict[str, list[float]] = {"0": [], "1": []} if self.peer else {}
        for _ in range(ROUNDS):
            mine.append(ours())
            for flash, values in others.items():
                values.append(theirs(flash))
        best = min((statistics.median(v) for v in others.values()), default=None)
        return statistics.median(mine), best


def case(name: str, ours: float, peer: float | None, target: str) -> dict[str, object]:
    return {
        "case": name,
        "smolllm": round(ours, 3),
        "peer": None if peer is None else round(peer, 3),
        "ratio": None if peer is None else round(ours / peer, 3),
        "target": target,
    }


def step_ms(ran: Ran) -> float:
    return float(ran.out) * 1e3


def peer_step_ms(ran: Ran) -> float:
    return float(json.loads(ran.out)[-1]["avg_ns"]) / 1e6 / STEPS


def busy(engines: Engines) -> list[dict[str, object]]:
    """Decoding while as many other processes as there are cores do nothing but compute."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        one = statistics.median(step_ms(engines.ours(1, 8, STEPS)) for _ in range(ROUNDS))
        two, peer = engines.alternate(
            lambda: step_ms(engines.ours(2, 8, STEPS)),
            lambda flash: peer_step_ms(engines.theirs(flash, 2, 0, STEPS, 0)),
        )
    finally:
        for other in others:
            other.kill()
            other.wait()
    name = "every core busy, ms/token"
    return [
        case(f"{name}, 1 thread", one, None, ""),
        case(f"{name}, 2 threads ({two / one:.2f} × 1 thread, at most 2)", two, peer, "≤ 0.1"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer", help="path of llama.cpp's llama-bench")
    args = parser.parse_args()
    engines = Engines(args.model, args.peer)
    engines.ours(2, PROMPT, 0)  # the file into memory
    first = engines.alternate(
        lambda: engines.ours(2, PROMPT, 0).seconds,
        lambda flash: engines.theirs(flash, 2, PROMPT, 0, 0).seconds,
    )
    peak = engines.alternate(
        lambda: engines.ours(2, DEPTH, 1).peak / 1e6,
        lambda flash: engines.theirs(flash, 2, 0, 1, DEPTH).peak / 1e6,
    )
    cases = [
        case(f"start to first token of {PROMPT}, s", *first, "≤ 0.6"),
        case(f"peak resident memory at {DEPTH}, MB", *peak, "≤ 0.75"),
        *busy(engines),
    ]
    print(json.dumps({"threads": 2, "cases": cases}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
