"""Runs every benchmark and writes docs/benchmarks.md.

    .venv/bin/python tests/bench/run_all.py --data DIR --out docs/benchmarks.md

Each benchmark is a command of its own that ends in one line of JSON, and has a section in the
file; sections that are not run stay as they are. Without DIR those that need the public data are
left out.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import machine
from engine_tables import Result, engine, process, quality, rows

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Bench:
    """title, what it says, its command (DATA and MODEL are filled in), and its table.

    quick: options that make it take a minute at most.
    """

    title: str
    about: str
    command: tuple[str, ...]
    table: Callable[[Result], str]
    quick: tuple[str, ...] = ()


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


def pi5(r: Result) -> str:
    kernels = [
        f"{name} | {k['unit']} | {k['instructions']:.0f} | {k['cycles']:.0f}"
        for name, k in r["kernels"].items()
    ]
    codes = {t["depth"]: t for t in r["quantized"]}
    tokens = [
        f"{t['depth']} | {modelled(t)} | {modelled(codes.get(t['depth']))}" for t in r["tokens"]
    ]
    head = (
        "depth | FP16 cache: MB read | modelled ms/token | 3.5-bit cache: MB read | "
        "modelled ms/token"
    )
    return (
        f"Modelled at {r['ghz']} GHz, {r['cores']} cores, {r['gb_s']:.0f} GB/s; the range is from "
        "reading and computing overlapped to one after the other.\n\n"
        + rows("kernel | unit of work | instructions | cycles", *kernels)
        + "\n\n"
        + rows(head, *tokens)
    )


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def understood(r: Result) -> str:
    """A row of ``assistant bench``."""
    frames = share(r.get("frame_accuracy"))
    ms = r["ms"]
    return rows(
        "rows | right | with all slots | p50 ms | p95 ms",
        f"{r['n']} | {share(r['accuracy'])} | {frames} | {ms['p50']} | {ms['p95']}",
    )


def modelled(token: Result | None) -> str:
    if token is None:
        return " | "
    return f"{token['megabytes']} | {token['overlapped_ms']:.1f} to {token['in_turn_ms']:.1f}"


PEERED = ("Engine", "Engine as a process")


def python(arguments: str) -> tuple[str, ...]:
    """A command of this interpreter."""
    return (sys.executable, *arguments.split())


BENCHES = [
    Bench(
        "Latency of a spoken command",
        "From the last voiced sample to the first sample of the answer, sound played in real "
        "time; wake word, voice activity, recognition, understanding, action and voice included.",
        python("tests/bench/bench_latency.py --n 20"),
        latency,
        ("--n", "5"),
    ),
    Bench(
        "Hearing",
        "Human speech through the whole pipeline, cut by its own end-of-turn detection.",
        python("tests/bench/bench_wer.py --data DATA"),
        wer,
    ),
    Bench(
        "Values",
        "Numbers, durations, times and dates of a public specification (recognizers-text), "
        "one moment or value a row.",
        python("tests/bench/bench_values.py --data DATA/recognizers-text"),
        values,
    ),
    Bench(
        "Sentences to the home",
        "Home Assistant's own English test sentences through the grammars of the assistant; "
        "intents that belong to own skills are translated by a table.",
        python("-m assistant bench intents --set own --data DATA/home-assistant-intents --json"),
        understood,
    ),
    Bench(
        "Speech to intent",
        "Orders of a coffee maker by more than 50 people, understood from its grammar and example "
        "sentences alone; right is an order with every slot and no other.",
        python("-m assistant bench speech-intent --data DATA/barista-speech --json"),
        understood,
    ),
    Bench(
        "Speech to intent in a kitchen",
        "The same with a kitchen's noise at 10 dB.",
        python(
            "-m assistant bench speech-intent --data DATA/barista-speech --json "
            "--noise DATA/noise-rir/kitchen_a.flac --snr 10"
        ),
        understood,
    ),
    Bench(
        "Engine",
        "Speed of the language model alone, with every kind of KV cache; medians.",
        python(
            "-m kvquant.cli bench --model MODEL --threads 2 --json "
            "--kv fp16,static8,static4,adaptive --batch_depths 0,4096"
        ),
        engine,
        tuple("--depths 0,1024 --prefill_depths 1024 --batch_depths 0 --rounds 1".split()),
    ),
    Bench(
        "Engine as a process",
        "Time from starting a process to its first token, peak memory, and decoding while other "
        "programs take every core. Medians; a ratio is ours over llama.cpp's, so less is better.",
        python("tests/bench/bench_engine.py --model MODEL --kv fp16,static4,adaptive"),
        process,
        tuple("--kv fp16 --rounds 1".split()),
    ),
    Bench(
        "Quality of the KV caches",
        "Against the 16-bit cache, on text that no controller was trained on.",
        python(
            "-m kvquant eval --data DATA --model MODEL --threads 2 --json --windows 4 "
            "--kv fp16,static8,static4,static3,adaptive"
        ),
        quality,
        (
            *"--what kld,ppl --windows 2 --context 512".split(),
            *"--kv fp16,static4,adaptive --budgets 3.5".split(),
        ),
    ),
    Bench(
        "Engine on a Raspberry Pi 5, modelled",
        "Not measured: cycles of the inner loops as llvm-mca counts them for Neoverse N1, and the "
        "bytes of a token at an assumed memory speed.",
        python("tests/bench/model_pi5.py"),
        pi5,
    ),
]


def model_path() -> str:
    from assistant.models import path_of

    return str(path_of("smollm2-135m-instruct"))


def run(bench: Bench, data: Path | None, peer: str | None, *, quick: bool) -> str | None:
    """The text of a section; None where the command failed."""
    command = [*bench.command, *(bench.quick if quick else ())]
    shown = " ".join(command).replace(sys.executable, ".venv/bin/python")
    if bench.title in PEERED and peer:
        command += ["--peer", peer]
        shown += " --peer LLAMA_BENCH"
    full = [part.replace("DATA", str(data)) for part in command]
    full = [model_path() if part == "MODEL" else part for part in full]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    about = machine.describe()
    done = subprocess.run(full, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"  failed with exit code {done.returncode}: {shown}", file=sys.stderr)
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    where = (
        f"{datetime.date.today()}, {about['cpu']}, {about['arch']}, {about['cores']} cores, "
        f"Python {about['python']}, load {about['load']} at the start."
    )
    return f"{bench.about}\n\n`{shown}`\n\n{where}\n\n{bench.table(result)}"


def merged(text: str, found: dict[str, str]) -> str:
    """The file's text with the sections of these titles replaced, new ones at its end."""
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    sections = dict(part.split("\n", 1) for part in parts) | found
    return (
        head.strip()
        + "".join(f"\n\n## {title}\n\n{body.strip()}" for title, body in sections.items())
        + "\n"
    )


HEAD = (
    "# Benchmarks\n\n"
    "Every figure comes from the command above it (`make bench` runs them all; DATA is a folder "
    "with the\npublic data sets). Machines are shared and noisy: compare figures of one run only."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peer", help="path of llama.cpp's llama-bench")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--only", help="run the benchmarks whose title contains this")
    parser.add_argument("--quick", action="store_true", help="some minutes; figures are rough")
    args = parser.parse_args()
    failed = False
    for bench in BENCHES:
        if args.only and args.only.lower() not in bench.title.lower():
            continue
        needs_data = any("DATA" in part for part in bench.command)
        if needs_data and (args.data is None or not args.data.is_dir()):
            print(f"{bench.title}: left out, the public data is not here", file=sys.stderr)
            continue
        print(f"{bench.title} …", file=sys.stderr, flush=True)
        found = run(bench, args.data, args.peer, quick=args.quick)
        if found is None:
            failed = True
            continue
        args.out.parent.mkdir(parents=True, exist_ok=True)
        before = args.out.read_text(encoding="utf-8") if args.out.exists() else HEAD
        # After each one, so that an interrupted run keeps what it has.
        args.out.write_text(merged(before, {bench.title: found}), encoding="utf-8")
    print(args.out)
    return 4 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
