"""Trains a head on one part of each public set and scores it on the other, as its user would.

    .venv/bin/python tests/bench/bench_heads.py --data DIR [--sets clinc150,snips] [--keep DIR]

Which part a row belongs to depends on its text alone. Of a set with rows for validation half of
those are scored, with the out-of-scope ones; else a tenth of all. Each training takes a quarter of
an hour. Ends in one line of JSON.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SETS = ("clinc150", "hwu64", "snips")
ROOT = Path(__file__).resolve().parents[2]

Row = dict[str, Any]


def rows(folder: Path) -> Iterator[Row]:
    """Every row of a set."""
    for path in sorted(folder.glob("*.jsonl*")):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def divided(found: list[Row]) -> tuple[list[Row], list[Row]]:
    """(for training, for scoring)."""
    held = [row for row in found if str(row.get("split", "")).endswith("val")]
    parts, candidates = (2, held) if held else (10, found)
    scored = [row for row in candidates if _number(row["text"]) % parts == 0]
    taken = {id(row) for row in scored}
    return [row for row in found if id(row) not in taken], scored


def _number(text: str) -> int:
    return int(hashlib.sha256(text.strip().lower().encode()).hexdigest()[:8], 16)


def command(*arguments: str) -> str:
    """Its standard output. Raises CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def write(path: Path, found: list[Row]) -> Path:
    lines = [json.dumps(row, ensure_ascii=False) for row in found]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure(name: str, data: Path, folder: Path) -> Row:
    """The row of ``assistant bench intents``, and how many rows were trained on."""
    train, scored = divided(list(rows(data / name)))
    head = folder / f"{name}.head"
    learnt = write(folder / f"{name}-train.jsonl", train)
    test = write(folder / f"{name}-test.jsonl", scored)
    command("assistant.intent.train", "--set", name, "--data", str(learnt), "--out", str(head))
    printed = command(
        *("assistant", "bench", "intents", "--set", name, "--head", str(head)),
        *("--data", str(test), "--json"),
    )
    return {**json.loads(printed), "trained": len(train)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--keep", type=Path, help="folder where heads and parts are left")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assistant-heads-") as folder:
        place = args.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        found = [measure(name, args.data.resolve(), place) for name in args.sets.split(",")]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
