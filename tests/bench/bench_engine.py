"""The engine as whole processes: first token, peak memory, and with every core busy.

    python tests/bench/bench_engine.py --model FILE.gguf [--peer LLAMA_BENCH] [--kv fp16,adaptive]

Ours is the command that users run, ``smolllm``: interpreter, settings, tokenizer and text included.
With --peer, llama.cpp's llama-bench does the same work in turn with it; it neither tokenizes nor
writes text. Ends in one line of JSON.

First token: from starting the process to its end, with a prompt of 212 tokens and one new token.
Peak memory: resident bytes of the process with 4,096 tokens in the cache. llama.cpp touches all of
its cache when it makes it, so its llama-batched-bench is given that context but only a short
prompt, which is quick and, if anything, too small. Busy: as many other processes as there are
cores do nothing but compute; milliseconds per decoded token, at normal priority whatever the rest
was run at. A peer that has not made its few tokens in a minute is counted as if it just had.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROMPT, DEPTH, STEPS = 212, 4096, 64
PEER_STEPS = 4
"""llama.cpp may need seconds for each when the cores are shared."""
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Ran:
    """seconds: of the whole process; peak: resident bytes; out: what it printed."""

    seconds: float
    peak: int
    out: str


def run(command: list[str], patience_s: float = 600.0) -> Ran:
    """Raises CalledProcessError: a program that crashes looks like a fast one; TimeoutError."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    # As after an installation: modules are not compiled anew by every process.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    late = threading.Event()
    watch = threading.Timer(patience_s, lambda: (late.set(), process.kill()))
    watch.start()
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    watch.cancel()
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if late.is_set():
        raise TimeoutError
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Ran(seconds, usage.ru_maxrss * 1024, out)


class Engines:
    """Both programs on one model."""

    def __init__(self, model: str, peer: str | None, rounds: int) -> None:
        self.model = model
        self.peer = peer
        self.rounds = rounds

    def ours(
        self, threads: int, prompt: int, new: int, kv: str = "fp16"
    ) -> tuple[Ran, dict[str, Any]]:
        """smolllm with a prompt of so many tokens: one word, which is one token, again and again.

        Returns its report too.
        """
        ran = run(
            [sys.executable, "-m", "kvquant.cli", "--model", self.model, "--threads", str(threads),
             "--prompt", "the" + " the" * (prompt - 1), "--n", str(new), "--kv_quant", kv,
             "--max_seq_len", str(prompt + new + 8), "--json"]
        )  # fmt: skip
        report = json.loads(ran.out)
        if report["prompt_tokens"] != prompt or report["new_tokens"] > new:
            raise ValueError(f"the prompt has {report['prompt_tokens']} tokens, not {prompt}")
        return ran, report

    def theirs(
        self, flash: str, *options: str, program: str = "llama-bench", patience_s: float = 600.0
    ) -> Ran:
        assert self.peer is not None
        path = str(Path(self.peer).with_name(program))
        return run([path, "-m", self.model, "-fa", flash, *options], patience_s)

    def alternate(
        self, ours: Callable[[], float], theirs: Callable[[str], float], rounds: int
    ) -> tuple[float, float | None]:
        """Medians in turns; llama.cpp's better one with and without flash attention."""
        mine: list[float] = []
        others: dict[str, list[float]] = {"0": [], "1": []} if self.peer else {}
        for _ in range(rounds):
            mine.append(ours())
            for flash, values in others.items():
                values.append(theirs(flash))
        best = min((statistics.median(v) for v in others.values()), default=None)
        return statistics.median(mine), best


def case(name: str, ours: float, peer: float | None, target: str) -> dict[str, object]:
    """ratio: ours over the peer's, so less is better."""
    return {
        "case": name,
        "smolllm": round(ours, 3),
        "peer": None if peer is None else round(peer, 3),
        "ratio": None if peer is None else round(ours / peer, 3),
        "target": target,
    }


def first_token(engines: Engines) -> list[dict[str, object]]:
    engines.ours(2, PROMPT, 1)  # the file and the modules into memory
    found = engines.alternate(
        lambda: engines.ours(2, PROMPT, 1)[0].seconds,
        lambda flash: (
            engines.theirs(
                flash,
                "-t",
                "2",
                "-p",
                "0",
                "-n",
                "0",
                "-pg",
                f"{PROMPT},1",
                "-r",
                "1",
                "--no-warmup",
            ).seconds
        ),
        engines.rounds,
    )
    return [case(f"start to first token of {PROMPT}, s", *found, "≤ 0.6")]


def memory(engines: Engines, kinds: list[str]) -> list[dict[str, object]]:
    def peer_peak(flash: str) -> float:
        options = ("-t", "2", "-c", str(DEPTH + 8), "-npp", "128", "-ntg", "1", "-npl", "1")
        return engines.theirs(flash, *options, program="llama-batched-bench").peak / 1e6

    found = []
    for kv in kinds:
        peak = engines.alternate(
            lambda kv=kv: engines.ours(2, DEPTH, 1, kv)[0].peak / 1e6, peer_peak, 1
        )  # fmt: skip
        found.append(case(f"peak resident memory at {DEPTH}, {kv} cache, MB", *peak, "≤ 0.75"))
    return found


def busy(engines: Engines) -> list[dict[str, object]]:
    """Decoding while as many other processes as there are cores do nothing but compute."""

    def step_ms(threads: int) -> float:
        return float(engines.ours(threads, 8, STEPS)[1]["decode_ms_per_token"])

    def peer_step_ms(flash: str) -> float:
        options = ("-t", "2", "-p", "0", "-n", str(PEER_STEPS), "-r", "1", "--no-warmup")
        try:
            ran = engines.theirs(flash, *options, "-o", "json", patience_s=PATIENCE_S)
        except TimeoutError:
            return PATIENCE_S * 1e3 / PEER_STEPS
        return float(json.loads(ran.out)[-1]["avg_ns"]) / 1e6 / PEER_STEPS

    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        one = statistics.median(step_ms(1) for _ in range(engines.rounds))
        two, peer = engines.alternate(
            lambda: step_ms(2), peer_step_ms, max(1, engines.rounds // 2)
        )  # fmt: skip
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer", help="path of llama.cpp's llama-bench")
    parser.add_argument("--kv", default="fp16", help="kinds of KV cache for the peak memory")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    parser.add_argument(
        "--only", help="what begins with this: first token, peak memory, busy cores"
    )
    args = parser.parse_args()
    engines = Engines(args.model, args.peer, args.rounds)
    cases = []
    for name, measure in (
        ("first token", lambda: first_token(engines)),
        ("peak memory", lambda: memory(engines, args.kv.split(","))),
        ("busy cores", lambda: busy(engines)),
    ):
        if args.only and not name.startswith(args.only):
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        cases += measure()
    print(json.dumps({"threads": 2, "cases": cases}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
