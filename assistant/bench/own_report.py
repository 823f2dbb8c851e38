"""Tables and plots of how the own intents are understood, as files."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assistant.bench import plots
from assistant.bench.own_plain import NONE, Verdict

INTENTS, CONFUSIONS, LATENCY = "intents", "confusions", "latency"
PLOT = "confusion.png"


def write(row: Mapping[str, Any], verdicts: Sequence[Verdict], out: Path) -> list[Path]:
    """intents, confusions and latency as .csv and .md, and the plot; returns the files.

    Raises OSError when the folder cannot be written, PackageError without matplotlib; the
    tables are written before that.
    """
    out.mkdir(parents=True, exist_ok=True)
    counts = Counter((v.row.intent, v.got) for v in verdicts)
    files = _table(out / INTENTS, *_by_intent(counts))
    wrong = sorted(((n, *pair) for pair, n in counts.items() if pair[0] != pair[1]), reverse=True)
    files += _table(
        out / CONFUSIONS,
        ("meant", "understood", "sentences"),
        [(meant, got, n) for n, meant, got in wrong],
    )
    files += _table(
        out / LATENCY,
        ("by", "sentences", "p50 ms", "p95 ms", "p99 ms"),
        [
            (source, row["by_source"][source], ms["p50"], ms["p95"], ms["p99"])
            for source, ms in row["ms_by_source"].items()
        ],
    )
    path = out / PLOT
    plots.confusion(counts, path, f"{row['n']} sentences, as they were understood")
    return [*files, path]


def _by_intent(counts: Mapping[tuple[str, str], int]) -> tuple[tuple[str, ...], list[Any]]:
    """Right, missed and taken for another of each intent; and how often it was wrongly found."""
    names = sorted({name for pair in counts for name in pair} - {NONE})
    rows = []
    for name in [*names, NONE]:
        meant = {got: n for (truth, got), n in counts.items() if truth == name}
        found = {truth: n for (truth, got), n in counts.items() if got == name}
        n, right = sum(meant.values()), meant.get(name, 0)
        recall = f"{right / n:.3f}" if n else ""
        precision = f"{right / sum(found.values()):.3f}" if found else ""
        missed = meant.get(NONE, 0) if name != NONE else 0
        rows.append((name, n, right, missed, n - right - missed, recall, precision))
    head = ("intent", "sentences", "right", "left to talk", "taken for another", "recall",
            "precision")  # fmt: skip
    return head, rows


def _table(stem: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Path]:
    as_csv, as_markdown = stem.with_suffix(".csv"), stem.with_suffix(".md")
    with as_csv.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
    as_markdown.write_text(text + "\n", encoding="utf-8")
    return [as_csv, as_markdown]
