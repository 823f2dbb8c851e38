"""``smolllm bench``: the engine's speed, and llama.cpp's on the same file in alternation.

Both engines are measured in turns, depth by depth, so that a busy minute of the machine hits both.
Figures are medians; ``spread`` is the distance between the quartiles over the median. The peer's
best cache setting counts for each case; from depth 4,096 on, settings that were far from the best
before are left out, and the peer gets one turn with several repetitions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kvquant.bench_cases import DEEP, OWN, Samples, Stage, gains, promising, ratios
from kvquant.bench_own import OwnEngine, longest
from kvquant.bench_peer import Peer
from kvquant.errors import KvquantError, SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from kvquant.kv_options import FULL, LEARNED, add_options, keywords

_PROMPTS = "32,128,512"
_PROMPT_AT_DEPTH = 128
_LONG = 1024
"""From this depth on the peer's turns get fewer and longer."""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="smolllm bench", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = p.add_argument
    add("--model", help="GGUF file; default as for smolllm")
    add("--depths", default="0,1024,4096,8000", help="tokens in the cache when decoding")
    add("--batch", default="1,4", help="sequences decoded together")
    add("--batch_depths", default="0", help="depths of batches of several (0)")
    add("--prompts", default=_PROMPTS, help="lengths of prompts to compute")
    add(
        "--prefill_depths",
        default="4096",
        help=f"tokens in the cache when a prompt of {_PROMPT_AT_DEPTH} comes; none with ''",
    )
    add("--kv", default=FULL, help="kinds of KV cache, with commas")
    add_options(p)
    add("--threads", type=int, default=min(4, os.cpu_count() or 1))
    add("--rounds", type=int, default=3, help="turns of each engine in each case, at most (3)")
    add("--peer", help="path of llama.cpp's llama-bench")
    add("--json", action="store_true", help="print one JSON object")
    return p


def stages(options: argparse.Namespace) -> list[Stage]:
    """What the options ask for, the shallowest depths first. Raises SettingError."""
    depths = _numbers("depths", options.depths, 0)
    batches = _numbers("batch", options.batch, 1)
    batch_depths = _numbers("batch_depths", options.batch_depths, 0)
    prompts = _numbers("prompts", options.prompts, 1)
    prefill = _numbers("prefill_depths", options.prefill_depths, 1)
    found = []
    for depth in sorted({*depths, *prefill, *([0] if prompts else [])}):
        lengths = tuple(prompts) if depth == 0 else (_PROMPT_AT_DEPTH,) * (depth in prefill)
        stage = Stage(depth, lengths, decode=depth in depths and 1 in batches)
        if stage.cases:
            found.append(stage)
    found += [
        Stage(depth, decode=True, batch=n) for n in batches if n > 1 for depth in batch_depths
    ]
    if not found:
        raise SettingError("bench.nothing", "There is nothing to measure.")
    return sorted(found, key=lambda s: s.depth)


def turns(depth: int, rounds: int) -> tuple[int, int]:
    """How often the peer gets its turn behind a depth, and its repetitions in each."""
    if depth >= DEEP:
        return 1, max(2, rounds)
    return (min(rounds, 2), 2) if depth >= _LONG else (rounds, 1)


class Bench:
    """One run of the command."""

    def __init__(self, engines: Sequence[OwnEngine], peer: Peer | None, rounds: int) -> None:
        self._engines = engines
        self._peer = peer
        self._rounds = rounds
        self.samples: list[Samples] = []

    def measure(self, stage: Stage) -> list[Samples]:
        """All settings of one stage, in turns: ours, the peer's, and so on, ours at last."""
        _say(f"depth {stage.depth}" + (f", batch {stage.batch}" if stage.batch > 1 else ""))
        ours = [e.prepare(stage) for e in self._engines if e.measures(stage)]
        settings = {} if self._peer is None else {s.name: s for s in self._peer.settings(stage)}
        if stage.batch > 1 and stage.depth >= DEEP:
            settings = {}
        names = promising(list(settings), stage, self.samples)
        for name in settings.keys() - set(names):
            _say(f"  llama.cpp {name}: left out, too slow before")
        theirs = {
            name: {case: Samples("llama.cpp", name, case) for case in stage.cases}
            for name in names
        }  # fmt: skip
        for run in ours:
            run.run(warm_up=True)
        n, repetitions = turns(stage.depth, self._rounds) if names else (self._rounds - 1, 0)
        for turn in range(n):
            for run in ours:
                run.run()
            for name in names:
                assert self._peer is not None
                _say(f"  llama.cpp {name}, turn {turn + 1} of {n}")
                for case, seconds in self._peer.run(settings[name], stage, repetitions).items():
                    theirs[name][case].seconds += seconds
        for run in ours:
            run.run()
        found = [s for run in ours for s in run.samples.values()]
        found += [s for by_case in theirs.values() for s in by_case.values()]
        self.samples += found
        return found


def run(options: argparse.Namespace, path: str) -> int:
    """Measures and prints. Raises KvquantError."""
    todo = stages(options)
    kinds = list(dict.fromkeys(options.kv.split(",")))
    wanted = [(kind, _settings(options, kind, kinds)) for kind in kinds]
    if LEARNED in kinds:
        wanted.append((LEARNED, {**dict(wanted)[LEARNED], "features": "exact"}))
    if options.rounds < 1:
        raise SettingError("bench.rounds", "There must be at least one round.")
    peer = Peer(options.peer, path, options.threads) if options.peer else None
    params = Hyperparams.from_file(ModelFile.open(path))
    if longest(todo) > params.n_ctx_train:
        raise SettingError("bench.depth", f"The context has {params.n_ctx_train} tokens.")
    engines = []
    try:
        for kind, settings in wanted:
            engines.append(
                OwnEngine(path, params, threads=options.threads, kv=kind, settings=settings)
            )
        bench = Bench(engines, peer, options.rounds)
        for stage in todo:
            found = bench.measure(stage)
            if not options.json:
                for samples in sorted(found, key=lambda s: (s.case.prompt, s.engine != OWN)):
                    _print(samples)
    finally:
        for engine in engines:
            engine.close()
    report: dict[str, Any] = {
        "machine": _machine(),
        "isa": engines[0].isa,
        "threads": options.threads,
        "rows": [s.row() for s in bench.samples],
        "ratios": ratios(bench.samples),
        "gains": gains(bench.samples, FULL),
    }
    if options.json:
        print(json.dumps(report))
        return 0
    for label, value in report["ratios"].items():
        print(f"{label}: {value} x llama.cpp")
    for label, value in report["gains"].items():
        print(f"{label}: {value} x {FULL}")
    return 0


def main(argv: Sequence[str], find_model: Callable[[str | None], str]) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    try:
        return run(options, find_model(options.model))
    except KvquantError as e:
        print(f"smolllm bench: {e}", file=sys.stderr)
        return e.exit_code


def _settings(options: argparse.Namespace, kind: str, kinds: Sequence[str]) -> dict[str, Any]:
    """What was given for quantized caches goes to those of the kinds that have it."""
    mine = argparse.Namespace(**vars(options))
    if kind != LEARNED and LEARNED in kinds:
        mine.controller_path = mine.budget_bits = None
    if kind == FULL and len(kinds) > 1:
        mine.window = mine.sinks = mine.key_layout = None
    return keywords(mine, kind)


def _print(samples: Samples) -> None:
    row = samples.row()
    figure = (
        f"{row['prefill_tok_s']:.0f} tokens/s"
        if samples.case.prompt
        else f"{row['decode_ms_per_token']:.3f} ms/token"
    )
    cache = samples.kv + (f" ({samples.features})" if samples.features else "")
    bits = f", {row['bits_mean']} bits" if row["bits_mean"] not in (None, 16.0) else ""
    print(
        f"{samples.case.name:28} {samples.engine:10} {cache:17} {figure}  "
        f"(spread {row['spread']:.0%}{bits})",
        flush=True,
    )


def _say(text: str) -> None:
    """Progress: a run with a peer takes minutes."""
    print(text, file=sys.stderr, flush=True)


def _numbers(name: str, text: str, low: int) -> list[int]:
    if not text:
        return []
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
