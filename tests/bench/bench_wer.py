"""Word error rate on human speech through the whole pipeline, and how many commands give text.

    .venv/bin/python tests/bench/bench_wer.py --data DIR

DIR holds ``librispeech`` and ``barista-speech`` (each with a manifest.jsonl). Each clip is
the microphone of one run without a wake word; the transcripts of its turns are joined.
Ends in one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import machine

from assistant import config
from assistant.assembly import Assembly
from assistant.hear import hear
from assistant.report import Record


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower().replace("-", " "))


def errors(reference: list[str], heard: list[str]) -> int:
    """Substitutions, deletions and insertions between two word sequences."""
    row = list(range(len(heard) + 1))
    for i, r in enumerate(reference, start=1):
        diagonal, row[0] = row[0], i
        for j, h in enumerate(heard, start=1):
            best = min(diagonal + (r != h), row[j] + 1, row[j - 1] + 1)
            diagonal, row[j] = row[j], best
    return row[-1]


def transcribe(assembly: Assembly, path: Path) -> tuple[str, float]:
    records: list[Record] = []
    begin = time.process_time()
    hear(
        assembly,
        [path],
        use_wake=False,
        realtime=False,
        channel=0,
        audio_dir=None,
        done=records.append,
        stop=threading.Event(),
    )
    return " ".join(r["transcript"] for r in records), time.process_time() - begin


def rows(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Only hearing is measured: no talk, no voice.
        quiet = (f"service.state_dir={folder}", "llm.enabled=false", "tts.backend=none")
        assembly = Assembly(config.load(None, (*args.overrides, *quiet)))
        assembly.load()
        wrong = total = 0
        spoken = [r for r in rows(args.data / "librispeech") if r["text"]][: args.limit]
        for row in spoken:
            heard, _ = transcribe(assembly, args.data / "librispeech" / str(row["file"]))
            reference = words(str(row["text"]))
            wrong += errors(reference, words(heard))
            total += len(reference)
        orders = rows(args.data / "barista-speech")[: args.limit]
        some = cpu = seconds = 0.0
        for row in orders:
            heard, used = transcribe(assembly, args.data / "barista-speech" / str(row["file"]))
            some += bool(words(heard))
            cpu += used
            seconds += float(str(row["seconds"]))
        assembly.close()
    result = {
        "what": "wer",
        "set": "librispeech, barista-speech",
        "n": len(spoken),
        "words": total,
        "wer": round(wrong / max(1, total), 4),
        "commands": len(orders),
        "commands_with_text": round(some / max(1, len(orders)), 4),
        "cpu_per_second_of_sound": round(cpu / max(1.0, seconds), 3),
        "machine": machine.describe(),
    }
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
