"""Runs every benchmark and writes docs/benchmarks.md.

    .venv/bin/python tests/bench/run_all.py --data DIR --out docs/benchmarks.md

Each benchmark is a command of its own that ends in one line of JSON. Without DIR those that
need the public data are left out and said to be.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import machine

ROOT = Path(__file__).resolve().parents[2]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """title, what it says, its command (DATA and MODEL are filled in), and its table."""

    title: str
    about: str
    command: tuple[str, ...]
    table: Callable[[Result], str]


def rows(header: str, *lines: str) -> str:
    columns = header.count("|") + 1
    return "\n".join([f"| {header} |", "|" + " --- |" * columns, *(f"| {x} |" for x in lines)])


def latency(r: Result) -> str:
    stages = [
        f"{stage} | {v['p50']:.0f} | {v['p95']:.0f} | {v['p99']:.0f}"
        for stage, v in r["ms"].items()
    ]
    total = r["ms"]["total"]["p50"]
    return (
        f"{r['understood']} of {r['n']} commands were understood. Milliseconds; target for the "
        f"median total: 1,300 (ratio {total / 1300:.2f}).\n\n"
        + rows("stage | p50 | p95 | p99", *stages)
    )


def wer(r: Result) -> str:
    return rows(
        "what | measured | target",
        f"word error rate, LibriSpeech test-other ({r['n']} clips, {r['words']} words) | "
        f"{100 * r['wer']:.1f} % | ≤ 15 %",
        f"barista orders with a transcript ({r['commands']} clips) | "
        f"{100 * r['commands_with_text']:.1f} % | ≥ 90 %",
        f"processor seconds per second of sound | {r['cpu_per_second_of_sound']:.3f} | ",
    )


def values(r: Result) -> str:
    lines = [
        f"{model} | {v['n']} | {100 * v['accuracy']:.1f} %"
        for model, v in r["models"].items()
        if v["n"]
    ]
    return rows(
        "specification | rows | right", *lines, f"all | {r['n']} | {100 * r['accuracy']:.1f} %"
    )


def engine(r: Result) -> str:
    lines = []
    for row in r["rows"]:
        speed = row.get("decode_ms_per_token")
        prefill = row.get("prefill_tok_s")
        lines.append(
            f"{row['engine']} | {row['kv']} | {row['depth']} | {row['batch']} | "
            f"{f'{speed:.2f}' if speed else ''} | {f'{prefill:.0f}' if prefill else ''} | "
            f"{row['spread']:.2f}"
        )
    text = f"Instruction set {r['isa']}, {r['threads']} threads.\n\n"
    text += rows(
        "engine | cache | depth | batch | decode ms/token | prefill tokens/s | spread", *lines
    )
    if r.get("ratios"):
        ratios = [
            f"{name} | {ratio:.2f} | {RATIO_TARGETS.get(name.removeprefix('fp16 '), '')}"
            for name, ratio in r["ratios"].items()
        ]
        text += "\n\nMore is better; llama.cpp's best cache setting counts in each case.\n\n"
        text += rows("case | times as fast as llama.cpp | at least", *ratios)
    alone = {x["batch"]: x for x in r["rows"] if x["engine"] == "smolllm" and not x["depth"]}
    if 1 in alone and 4 in alone:
        gain = alone[1]["decode_ms_per_token"] / alone[4]["decode_ms_per_token"]
        text += f"\n\nBatch 4 makes {gain:.2f} × the tokens of batch 1 (at least 2.2)."
    return text


def process(r: Result) -> str:
    lines = [
        f"{c['case']} | {c['smolllm']:.2f} | {'' if c['peer'] is None else c['peer']} | "
        f"{'' if c['ratio'] is None else c['ratio']} | {c['target']}"
        for c in r["cases"]
    ]
    return rows("case | smolllm | llama.cpp | ratio | target", *lines)


def pi5(r: Result) -> str:
    kernels = [
        f"{name} | {k['unit']} | {k['instructions']:.0f} | {k['cycles']:.0f}"
        for name, k in r["kernels"].items()
    ]
    tokens = [
        f"{t['depth']} | {t['megabytes']} | {t['reading_ms']:.1f} | {t['computing_ms']:.1f} | "
        f"{t['overlapped_ms']:.1f} to {t['in_turn_ms']:.1f}"
        for t in r["tokens"]
    ]
    head = "depth | MB read | reading, ms | computing, ms | modelled ms/token"
    return (
        f"Modelled at {r['ghz']} GHz, {r['cores']} cores, {r['gb_s']:.0f} GB/s.\n\n"
        + rows("kernel | unit of work | instructions | cycles", *kernels)
        + "\n\n"
        + rows(head, *tokens)
    )


# What the project asks of each case.
RATIO_TARGETS = {
    "prefill 32": "1.0",
    "prefill 128": "1.0",
    "prefill 512": "1.0",
    "decode depth 0 batch 1": "1.4",
    "decode depth 0 batch 4": "1.5",
    "decode depth 1024 batch 1": "2.3",
    "decode depth 4096 batch 1": "2.5",
    "decode depth 8000 batch 1": "3.0",
}
PEERED = ("Engine", "Engine as a process")

BENCHES = [
    Bench(
        "Latency of a spoken command",
        "From the last voiced sample to the first sample of the answer, sound played in real "
        "time; wake word, voice activity, recognition, understanding, action and voice included.",
        (sys.executable, "tests/bench/bench_latency.py", "--n", "20"),
        latency,
    ),
    Bench(
        "Hearing",
        "Human speech through the whole pipeline, cut by its own end-of-turn detection.",
        (sys.executable, "tests/bench/bench_wer.py", "--data", "DATA"),
        wer,
    ),
    Bench(
        "Values",
        "Numbers, durations, times and dates of a public specification (recognizers-text), "
        "one moment or value a row.",
        (sys.executable, "tests/bench/bench_values.py", "--data", "DATA/recognizers-text"),
        values,
    ),
    Bench(
        "Engine",
        "Speed of the language model alone; medians.",
        (
            sys.executable,
            "-m",
            "kvquant.cli",
            "bench",
            "--model",
            "MODEL",
            "--threads",
            "2",
            "--json",
        ),
        engine,
    ),
    Bench(
        "Engine as a process",
        "Time from starting a process to its first token, peak memory, and decoding while other "
        "programs take every core. Medians; a ratio is ours over llama.cpp's, so less is better.",
        (sys.executable, "tests/bench/bench_engine.py", "--model", "MODEL"),
        process,
    ),
    Bench(
        "Engine on a Raspberry Pi 5, modelled",
        "Not measured: cycles of the inner loops as llvm-mca counts them for Neoverse N1, and the "
        "bytes of a token at an assumed memory speed.",
        (sys.executable, "tests/bench/model_pi5.py"),
        pi5,
    ),
]


def model_path() -> str:
    from assistant.models import path_of

    return str(path_of("smollm2-135m-instruct"))


def run(bench: Bench, data: Path | None, peer: str | None) -> str:
    command = list(bench.command)
    if any("DATA" in part for part in command) and (data is None or not data.is_dir()):
        return "Left out: the public data is not here."
    shown = " ".join(command).replace(sys.executable, ".venv/bin/python")
    if bench.title in PEERED and peer:
        command += ["--peer", peer]
        shown += " --peer LLAMA_BENCH"
    full = [part.replace("DATA", str(data)) for part in command]
    full = [model_path() if part == "MODEL" else part for part in full]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(full, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return f"Failed with exit code {done.returncode}: `{shown}`"
    result = json.loads(done.stdout.splitlines()[-1])
    return f"`{shown}`\n\n{bench.table(result)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peer", help="path of llama.cpp's llama-bench")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--only", help="run the benchmarks whose title contains this")
    args = parser.parse_args()
    about = machine.describe()
    parts = [
        "# Benchmarks",
        "Written by `make bench`; every figure comes from the command above it. Machines are "
        "shared and noisy: compare figures of one run only.",
        f"{datetime.date.today()}, {about['cpu']}, {about['arch']}, {about['cores']} cores, "
        f"Python {about['python']}, load {about['load']} at the start.",
    ]
    for bench in BENCHES:
        if args.only and args.only.lower() not in bench.title.lower():
            continue
        print(f"{bench.title} …", file=sys.stderr, flush=True)
        parts += [f"## {bench.title}", bench.about, run(bench, args.data, args.peer)]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(args.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
