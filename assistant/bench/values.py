"""``assistant bench values``: how many values of a public specification are read right.

The data are JSON lines in the form of the Recognizers-Text specifications: model, input,
context and results. See ``specification`` for how a row is judged.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from assistant.bench.latency import percentiles
from assistant.bench.specification import JUDGES, Row, judge
from assistant.config import Config
from assistant.errors import InputFileError

_NEEDED = ("model", "input", "results")


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``. Raises InputFileError for data that cannot be read."""
    return score(islice(read_rows(args.data), args.limit)) | {"set": args.set}


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of one JSON-lines file, or of all of them in a folder (.jsonl, .jsonl.gz)."""
    if not path.exists():
        raise InputFileError("bench.no_data", f"There is no {path}.", "Give a file or a folder.")
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    if not files:
        raise InputFileError(
            "bench.no_data", f"{path} holds no .jsonl file.", "Give a file or a folder of them."
        )
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        try:
            with opener(file, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield _checked(json.loads(line), file, number)
        except (OSError, ValueError) as error:
            raise InputFileError(
                "bench.bad_data",
                f"{file} cannot be read: {error}.",
                "It should have one JSON object a line.",
            ) from error


def _checked(row: Any, file: Path, number: int) -> Row:
    if not isinstance(row, dict) or any(key not in row for key in _NEEDED):
        raise InputFileError(
            "bench.bad_data",
            f"Line {number} of {file} is no row of a specification.",
            f"Each needs {', '.join(_NEEDED)}.",
        )
    return row


def score(rows: Iterable[Row], *, show: bool = False) -> dict[str, Any]:
    """The figures of all rows; ``show`` lists the rows that are wrong on stderr.

    outside: rows of models that the specification does not have, which cannot be judged; all
    others are, and what the assistant cannot read is wrong.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    outside: dict[str, Counter[str]] = defaultdict(Counter)
    took: list[float] = []
    for row in rows:
        model = row["model"]
        if model not in JUDGES:
            outside[model]["model"] += 1
            continue
        started = time.perf_counter()
        right = judge(row)
        took.append((time.perf_counter() - started) * 1000)
        counts[model][0] += 1
        counts[model][1] += right
        if show and not right:
            print(model, repr(row["input"]), file=sys.stderr)
    total, good = (sum(tally[k] for tally in counts.values()) for k in (0, 1))
    return {
        "what": "values",
        "set": "own",
        "n": total,
        "accuracy": round(good / total, 4) if total else None,
        "models": {
            model: {"n": n, "accuracy": round(right / n, 4)}
            for model, (n, right) in sorted(counts.items())
        },
        "outside": {model: dict(reasons) for model, reasons in sorted(outside.items())},
        "kv": None,
        "ms": percentiles(took),
    }


def table(row: dict[str, Any]) -> str:
    """The row for people."""
    lines = [f"{'model':<20} {'rows':>6} {'right':>8}"]
    for model, figures in row["models"].items():
        lines.append(f"{model:<20} {figures['n']:>6} {100 * figures['accuracy']:>6.1f} %")
    if row["n"]:
        lines.append(f"{'all':<20} {row['n']:>6} {100 * row['accuracy']:>6.1f} %")
    ms = row["ms"]
    lines.append(f"milliseconds a sentence: p50 {ms['p50']}, p95 {ms['p95']}, p99 {ms['p99']}")
    for model, reasons in row["outside"].items():
        kinds = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        lines.append(f"not judged: {model}: {kinds}")
    return "\n".join(lines)
