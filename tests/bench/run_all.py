"""Runs every benchmark and writes docs/benchmarks.md.

    .venv/bin/python tests/bench/run_all.py --data DIR --out docs/benchmarks.md

Each benchmark is a command of its own that ends in one line of JSON, and has a section in the
file. Of a section only what stands between the two marks is replaced, at its end where there are
none yet: what was written by hand stays. Without DIR those that need the public data are left out.
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
from assistant_tables import (
    facts,
    grammar,
    heads,
    kernels,
    latency,
    phrased,
    pi5,
    understood,
    values,
    wake,
    wer,
)
from engine_tables import Result, engine, process, quality

ROOT = Path(__file__).resolve().parents[2]


BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def last_line(text: str) -> Result:
    """What a benchmark prints; a list of rows stands under "rows"."""
    result = json.loads(text.splitlines()[-1])
    return result if isinstance(result, dict) else {"rows": result}


def summary(text: str) -> Result:
    """The last line of pytest, without its ornaments."""
    return {"summary": text.splitlines()[-1].strip("= ")}


@dataclass(frozen=True, slots=True)
class Bench:
    """title, what it says, its command (DATA and MODEL are filled in), and its table.

    quick: options that make it take a minute at most; long: left out in a quick run.
    read: the result in what the command prints.
    """

    title: str
    about: str
    command: tuple[str, ...]
    table: Callable[[Result], str]
    quick: tuple[str, ...] = ()
    long: bool = False
    read: Callable[[str], Result] = last_line


PEERED = ("Engine", "Engine as a process")


def python(arguments: str) -> tuple[str, ...]:
    """A command of this interpreter."""
    return (sys.executable, *arguments.split())


BENCHES = [
    Bench(
        "Latency of a spoken command",
        "From the last voiced sample to the first sample of the answer, sound played in real "
        "time; wake word, voice activity, recognition, understanding, action and voice included.",
        python("-m assistant bench latency --json"),
        latency,
        ("--limit", "5"),
    ),
    Bench(
        "Hearing",
        "Human speech through the whole pipeline, cut by its own end-of-turn detection.",
        python("-m assistant bench wer --data DATA/librispeech --json"),
        wer,
        ("--limit", "10"),
    ),
    Bench(
        "Hearing of orders",
        "The same for orders to a coffee maker, of which no words are known.",
        python("-m assistant bench wer --data DATA/barista-speech --json"),
        wer,
        ("--limit", "10"),
    ),
    Bench(
        "Wake word",
        "Recordings of wake words by people, without and with a kitchen's noise at 10 dB, and of "
        "other short phrases.",
        python(
            "-m assistant bench wake --data DATA/wake-words --json "
            "--noise DATA/noise-rir/kitchen_a.flac --snr 10"
        ),
        wake,
    ),
    Bench(
        "False wakes on speech",
        "People who read books.",
        python("-m assistant bench wake --data DATA/librispeech --json"),
        wake,
    ),
    Bench(
        "False wakes on noise",
        "A kitchen, music, machines, quiet rooms.",
        python("-m assistant bench wake --data DATA/noise-rir --json"),
        wake,
    ),
    Bench(
        "Values",
        "Numbers, durations, times and dates of a public specification (recognizers-text), "
        "one moment or value a row.",
        python("-m assistant bench values --data DATA/recognizers-text --json"),
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
        "Time of the sentences of the skills",
        "All sentences of the intent tests and lines of talk, each the median of five, warm.",
        python("tests/bench/bench_grammar.py"),
        grammar,
        ("--repeats", "1"),
    ),
    Bench(
        "Free phrasing by heads on the language model",
        "A head per data set, trained on one part of the rows and measured on the other.",
        python("tests/bench/bench_heads.py --data DATA"),
        heads,
        long=True,
    ),
    Bench(
        "Free phrasing of the own intents",
        "Sentences of public sets that ask for what it can do, and talk; the shipped head was "
        "trained on none of them.",
        python("tests/bench/bench_own_intents.py --data DATA --seed 7"),
        phrased,
        ("--per", "1"),
    ),
    Bench(
        "Speech to intent",
        "Orders of a coffee maker by more than 50 people, understood from its grammar and example "
        "sentences alone; right is an order with every slot and no other.",
        python("-m assistant bench speech-intent --data DATA/barista-speech --json"),
        understood,
        ("--limit", "10"),
    ),
    Bench(
        "Speech to intent in a kitchen",
        "The same with a kitchen's noise at 10 dB.",
        python(
            "-m assistant bench speech-intent --data DATA/barista-speech --json "
            "--noise DATA/noise-rir/kitchen_a.flac --snr 10"
        ),
        understood,
        ("--limit", "10"),
    ),
    Bench(
        "Facts",
        "Questions that the model should answer, cannot know, or that are about the present, in a "
        "conversation of their own each.",
        python("tests/bench/bench_facts.py --half held"),
        facts,
        long=True,
    ),
    Bench(
        "Facts without the check",
        "The same with what it is not sure of told too.",
        python("tests/bench/bench_facts.py --half held --set dialogue.double_check=false"),
        facts,
        long=True,
    ),
    Bench(
        "Correctness of the engine",
        "Against the numpy float32 reference and transformers.",
        python("-m pytest -q tests/kvquant/test_against_transformers.py"),
        lambda r: f"{r['summary']}.",
        long=True,
        read=summary,
    ),
    Bench(
        "Quantization kernels alone",
        "The file of the quantization kernels, built by the README's line for this machine.",
        python("tests/bench/bench_quant_library.py"),
        kernels,
        tuple("--rows 256 --cols 256".split()),
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
        "Ways to choose the bits",
        "The adaptive cache with other policies at the same bits, text fed as prompts.",
        python(
            "-m kvquant eval --data DATA --model MODEL --threads 2 --json --windows 3 "
            "--what kld,ppl --kv static4,static3,adaptive --budgets 3,3.5 --mode prefill "
            "--policies adaptive,rule,static_table,article,entropy,rarity,variance,random"
        ),
        quality,
        long=True,
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
    result = bench.read(done.stdout)
    where = (
        f"{datetime.date.today()}, {about['cpu']}, {about['arch']}, {about['cores']} cores, "
        f"Python {about['python']}, load {about['load']} at the start."
    )
    return f"{bench.about}\n\n`{shown}`\n\n{where}\n\n{bench.table(result)}"


def merged(text: str, found: dict[str, str]) -> str:
    """The file's text with what was measured in the sections of these titles, new ones at its end.

    Only what is between the marks of a section is replaced.
    """
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    sections = dict(part.split("\n", 1) for part in parts)
    for title, body in found.items():
        block = f"{BEGIN}\n\n{body.strip()}\n\n{END}"
        before, begin, rest = sections.get(title, "").partition(BEGIN)
        after = rest.partition(END)[2] if begin else ""
        kept = [part.strip() for part in (before, block, after)]
        sections[title] = "\n\n".join(part for part in kept if part)
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
        if bench.long and args.quick:
            print(f"{bench.title}: left out, it takes long", file=sys.stderr)
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
