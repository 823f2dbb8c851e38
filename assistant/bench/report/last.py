"""The report before, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.bench.report.figures import Figure

TIMES_NOISE = 0.1
"""A time that differs by less than this part says nothing: machines have other things to do."""

BETTER, WORSE, SAME, OTHER = "better", "worse", "about the same", "not comparable"


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure beside its last value.

    last: None where there is none; last_date: when it was measured. verdict: better, worse,
    about the same, not comparable (other data or, for times, another machine); "" without both.
    """

    figure: Figure
    last: float | None = None
    last_date: str = ""
    verdict: str = ""

    @property
    def change(self) -> float | None:
        if self.figure.value is None or self.last is None:
            return None
        return self.figure.value - self.last


def read(path: Path) -> dict[str, Any]:
    """The report in the file; {} where there is none, or something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def compare(figure: Figure, before: Mapping[str, Any], machine: str) -> Compared:
    """The figure against the report ``before``; machine: the name of this one's processor."""
    rows = before.get("figures")
    row = rows.get(figure.key) if isinstance(rows, dict) else None
    if not isinstance(row, dict):
        return Compared(figure)
    # A figure that was left out last time is compared with the time before that.
    prefix = "last_" if row.get("value") is None else ""
    value = row.get("last" if prefix else "value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Compared(figure)
    date, n, cpu = (row.get(f"{prefix}{key}") for key in ("date", "n", "machine"))
    last = float(value)
    verdict = ""
    if figure.value is not None:
        verdict = _verdict(figure, last, same_rows=n == figure.n, same_machine=cpu == machine)
    return Compared(figure, last, date if isinstance(date, str) else "", verdict)


def as_rows(compared: Compared, before: Mapping[str, Any], date: str, machine: str) -> Any:
    """What is kept of a figure for the next report; the counterpart of ``compare``."""
    figure = compared.figure
    rows = before.get("figures")
    old = rows.get(figure.key, {}) if isinstance(rows, dict) else {}
    old = old if isinstance(old, dict) else {}
    prefix = "last_" if old.get("value") is None else ""
    return {
        "title": figure.title,
        "unit": figure.unit,
        "value": figure.value,
        "n": figure.n,
        "date": date,
        "machine": machine,
        "last": compared.last,
        "last_date": compared.last_date,
        "last_n": old.get(f"{prefix}n"),
        "last_machine": old.get(f"{prefix}machine"),
        "change": compared.change,
        "verdict": compared.verdict or None,
    }


def carried(row: Mapping[str, Any]) -> dict[str, Any]:
    """A figure that this report does not have, kept for the next one."""
    if row.get("value") is None:
        return dict(row)
    moved = {f"last_{key}": row.get(key) for key in ("date", "n", "machine")}
    return {**row, "value": None, "last": row["value"], **moved, "change": None, "verdict": None}


def _verdict(figure: Figure, last: float, *, same_rows: bool, same_machine: bool) -> str:
    assert figure.value is not None
    if not same_rows or (figure.timed and not same_machine):
        return OTHER
    difference = figure.value - last
    if figure.timed and abs(difference) <= TIMES_NOISE * abs(last):
        return SAME
    if figure.shown(figure.value) == figure.shown(last):
        return SAME
    return BETTER if (difference > 0) == figure.more_is_better else WORSE
