"""``smolllm bench``: the engine's speed, and llama.cpp's on the same file in alternation.

Both engines are measured in turns, case by case, so that a busy minute of the machine hits both.
Figures are medians; ``spread`` is the distance between the quartiles over the median. The peer's
best cache setting counts for each case.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.backend import ModelBackend, load_backend
from kvquant.bench_peer import Peer
from kvquant.engine import KV_KINDS
from kvquant.errors import KvquantError, SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

_OWN = "smolllm"
_STEPS = 24
_PROMPTS = "32,128,512"


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure.

    prompt: tokens of a prompt computed at ``depth``; 0 measures decoding instead.
    batch: sequences that decode together, each at ``depth``.
    """

    depth: int
    batch: int = 1
    prompt: int = 0

    @property
    def name(self) -> str:
        if self.prompt:
            return f"prefill {self.prompt}"
        return f"decode depth {self.depth} batch {self.batch}"


@dataclass(slots=True)
class Samples:
    """Seconds of each step (decode) or each prompt (prefill) in one setting."""

    engine: str
    kv: str
    seconds: list[float] = field(default_factory=list)

    def row(self, case: Case) -> dict[str, Any]:
        median = float(np.median(self.seconds))
        low, high = np.quantile(self.seconds, [0.25, 0.75])
        per_token = median / case.batch
        return {
            "engine": self.engine,
            "kv": self.kv,
            "depth": case.depth,
            "batch": case.batch,
            "prompt": case.prompt,
            "prefill_tok_s": round(case.prompt / median, 1) if case.prompt else None,
            "decode_ms_per_token": None if case.prompt else round(per_token * 1e3, 4),
            "spread": round(float(high - low) / median, 3),
        }


class OwnEngine:
    """Times the backend directly: no sampling, no text, as llama-bench does."""

    def __init__(self, backend: ModelBackend, n_vocab: int, kv: str) -> None:
        self._backend = backend
        self._kv = kv
        self._random = np.random.default_rng(0)
        self._n_vocab = n_vocab

    def prepare(self, case: Case) -> Callable[[], list[float]]:
        """Fills the caches of a case; the returned function measures one round of it."""
        n_ctx = case.depth + max(case.prompt, _STEPS + 8)
        caches = [self._backend.cache(n_ctx) for _ in range(case.batch)]
        for cache in caches:
            filled = self._tokens(case.depth)
            for at in range(0, case.depth, self._backend.prefill_chunk):
                cache.forward(filled[at : at + self._backend.prefill_chunk], at, 0)
        tokens = self._tokens(case.prompt or case.batch)

        def prompt() -> list[float]:
            chunk = self._backend.prefill_chunk
            start = time.perf_counter()
            for at in range(0, case.prompt, chunk):
                part = tokens[at : at + chunk]
                caches[0].forward(part, case.depth + at, int(at + len(part) == case.prompt))
            return [time.perf_counter() - start]

        def one() -> list[float]:
            seconds = []
            for i in range(_STEPS):
                start = time.perf_counter()
                caches[0].forward(tokens, case.depth + i, 1)
                seconds.append(time.perf_counter() - start)
            return seconds

        def several() -> list[float]:
            from kvquant import _native

            seconds = []
            for cache in caches:
                cache.truncate(case.depth)
            native_caches = [c for c in caches if isinstance(c, _native.Cache)]
            for _ in range(_STEPS):
                start = time.perf_counter()
                _native.step(native_caches, tokens)
                seconds.append(time.perf_counter() - start)
            return seconds

        if case.prompt:
            return prompt
        return several if case.batch > 1 else one

    def _tokens(self, n: int) -> NDArray[np.int32]:
        return self._random.integers(0, self._n_vocab, n).astype(np.int32)


def measure(own: OwnEngine, kv: str, case: Case, rounds: int, peer: Peer | None) -> list[Samples]:
    """All settings of one case, in turns: ours, then each of the peer's, ``rounds`` times."""
    ours = Samples(_OWN, kv)
    theirs = {s: Samples("llama.cpp", s.name) for s in (peer.settings(case.batch) if peer else [])}
    run = own.prepare(case)
    run()  # warm-up
    for _ in range(rounds):
        ours.seconds += run()
        for setting, samples in theirs.items():
            assert peer is not None
            samples.seconds += peer.run(setting, case.depth, case.batch, case.prompt)
    return [ours, *theirs.values()]


def ratio(rows: Sequence[dict[str, Any]]) -> float | None:
    """How many times faster ours is than the peer's best; rows of one case."""
    key = "prefill_tok_s" if rows[0]["prompt"] else "decode_ms_per_token"
    ours = [r[key] for r in rows if r["engine"] == _OWN]
    theirs = [r[key] for r in rows if r["engine"] != _OWN]
    if not theirs:
        return None
    if rows[0]["prompt"]:
        return round(float(ours[0] / max(theirs)), 3)
    return round(float(min(theirs) / ours[0]), 3)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="smolllm bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    p.add_argument("--model", help="GGUF file; default as for smolllm")
    p.add_argument("--depths", default="0,1024,4096,8000", help="tokens in the cache when decoding")
    p.add_argument("--batch", default="1,4", help="sequences decoded together, at the first depth")
    p.add_argument("--prompts", default=_PROMPTS, help="lengths of prompts to compute")
    p.add_argument("--kv", default="fp16", help="kinds of KV cache")
    p.add_argument("--threads", type=int, default=min(4, os.cpu_count() or 1))
    p.add_argument("--rounds", type=int, default=5, help="turns of each engine in each case (5)")
    p.add_argument("--peer", help="path of llama.cpp's llama-bench")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    return p


def run(options: argparse.Namespace, path: str) -> int:
    """Measures and prints. Raises KvquantError."""
    depths = _numbers("depths", options.depths, 0)
    batches = _numbers("batch", options.batch, 1)
    prompts = _numbers("prompts", options.prompts, 1) if options.prompts else []
    if options.rounds < 1:
        raise SettingError("bench.rounds", "There must be at least one round.")
    for kv in options.kv.split(","):
        if kv not in KV_KINDS:
            raise SettingError("kv.unavailable", f"There is no KV cache {kv!r} yet.")
    peer = Peer(options.peer, path, options.threads) if options.peer else None
    params = Hyperparams.from_file(ModelFile.open(path))
    report: dict[str, Any] = {
        "machine": _machine(), "isa": "", "threads": options.threads, "rows": [], "ratios": {},
    }  # fmt: skip
    cases = [Case(0, prompt=n) for n in prompts]
    cases += [Case(depth, batch) for depth in depths for batch in batches
              if batch == 1 or depth == depths[0]]  # fmt: skip
    for kv in options.kv.split(","):
        name, backend = load_backend("auto", path, threads=options.threads, kv=kv)
        report["isa"] = backend.isa
        own = OwnEngine(backend, params.n_vocab, kv)
        for case in cases:
            if case.depth + max(case.prompt, _STEPS + 8) > params.n_ctx_train:
                raise SettingError("bench.depth", f"Depth {case.depth} is beyond the context.")
            if case.batch > 1 and name != "native":
                continue
            rows = [s.row(case) for s in measure(own, kv, case, options.rounds, peer)]
            report["rows"] += rows
            if (value := ratio(rows)) is not None:
                report["ratios"][f"{kv} {case.name}"] = value
            if not options.json:
                _print(case, rows)
        backend.close()
    if options.json:
        print(json.dumps(report))
    else:
        for label, value in report["ratios"].items():
            print(f"{label}: {value} x llama.cpp")
    return 0


def main(argv: Sequence[str], find_model: Callable[[str | None], str]) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    try:
        return run(options, find_model(options.model))
    except KvquantError as e:
        print(f"smolllm bench: {e}", file=sys.stderr)
        return e.exit_code


def _print(case: Case, rows: Sequence[dict[str, Any]]) -> None:
    for r in rows:
        figure = (
            f"{r['prefill_tok_s']:.0f} tokens/s"
            if case.prompt
            else f"{r['decode_ms_per_token']:.3f} ms/token"
        )
        print(f"{case.name:28} {r['engine']:10} {r['kv']:14} {figure}  (spread {r['spread']:.0%})")


def _numbers(name: str, text: str, low: int) -> list[int]:
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < low:
        raise SettingError(
            "bench.numbers", f"--{name} takes whole numbers from {low}, with commas."
        )
    return values


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else model}, {os.cpu_count()} CPUs, {platform.system()}"
