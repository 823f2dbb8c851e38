"""Scores the assistant's whole understanding on labelled sentences of its own intents.

A row is {"text", "intent"} and, where values count, {"slots"}: as ``assistant log label``
writes it. Each sentence goes the way it goes in the assistant: skills, home, heads.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.assembly import Assembly
from assistant.bench.latency import percentiles
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.intent.base import Intent
from assistant.intent.data_sets import numbered_lines
from assistant.skills import free_slots

NONE = "none"
"""What stands for no intent in tables."""

_NO_INTENT = frozenset(["oos", NONE, "dialogue.talk", "dialogue.none"])


@dataclass(frozen=True, slots=True)
class Row:
    """intent: NONE for talk; slots: None where they do not count."""

    text: str
    intent: str
    slots: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """found: None when it is left to talk; ms: what that took."""

    row: Row
    found: Intent | None
    ms: float

    @property
    def got(self) -> str:
        return NONE if self.found is None else self.found.name

    @property
    def source(self) -> str:
        return NONE if self.found is None else self.found.source

    @property
    def right(self) -> bool:
        return self.got == self.row.intent


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSON-lines file, or of all of them in a folder. Raises InputFileError."""
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    rows = [_row(file, *numbered) for file in files for numbered in numbered_lines(file)]
    if not rows:
        raise InputFileError("bench.no_rows", f"There are no labelled sentences in {path}.")
    return rows


def score(
    cfg: Config, rows: Sequence[Row], *, head: Path | None = None, kv: str | None = None
) -> tuple[dict[str, Any], list[Verdict]]:
    """The row for ``--json``, and what it counts.

    accuracy: of the rows in scope; oos_recall: part of the others that is left to talk;
    oos_rejected_in_scope: the same of the rows in scope; wrong_action: part of all rows for
    which another intent than the right one is acted on; by_source: how many each part of
    the understanding took.

    Raises what the assistant raises when its parts are missing.
    """
    mode = kv or cfg.llm.kv.mode
    with tempfile.TemporaryDirectory(prefix="assistant-bench-") as folder:
        assembly = Assembly(_private(cfg, Path(folder), head, mode))
        try:
            assembly.load(sound=False)
            now = assembly.clock.now()
            verdicts = [_verdict(assembly, row) for row in rows]
        finally:
            assembly.close()
    return {**figures(verdicts, now), "kv": mode}, verdicts


def figures(verdicts: Sequence[Verdict], now: Any) -> dict[str, Any]:
    """The counts of ``score``; now: for values that name a time."""
    scope = [v for v in verdicts if v.row.intent != NONE]
    beyond = [v for v in verdicts if v.row.intent == NONE]
    valued = [v for v in scope if v.row.slots is not None]
    wrong = [v for v in verdicts if v.found is not None and not v.right]
    by_intent: dict[str, list[int]] = {}
    for verdict in scope:
        count = by_intent.setdefault(verdict.row.intent, [0, 0])
        count[0] += verdict.right
        count[1] += 1
    return {
        "what": "intents",
        "set": "own",
        "n": len(verdicts),
        "accuracy": _part(sum(v.right for v in scope), len(scope)),
        "oos_recall": _part(sum(v.right for v in beyond), len(beyond)),
        "oos_rejected_in_scope": _part(sum(v.found is None for v in scope), len(scope)),
        "slot_f1": None,
        "frame_accuracy": _part(sum(_whole(v, now) for v in valued), len(valued)),
        "wrong_action": _part(len(wrong), len(verdicts)),
        "by_source": dict(sorted(Counter(v.source for v in verdicts).items())),
        "by_intent": dict(sorted(by_intent.items())),
        "ms": percentiles([v.ms for v in verdicts]),
        "ms_by_source": {
            source: percentiles([v.ms for v in verdicts if v.source == source])
            for source in sorted({v.source for v in verdicts})
        },
        "wrong": [
            {"text": v.row.text, "intent": v.row.intent, "got": v.got, "source": v.source}
            for v in verdicts
            if not v.right
        ],
    }


def table(row: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [f"own intents: {row['n']} sentences, cache {row['kv']}"]
    for key, text in (
        ("accuracy", "right, in scope"),
        ("oos_rejected_in_scope", "in scope, left to talk"),
        ("oos_recall", "talk, left to talk"),
        ("wrong_action", "another intent acted on"),
        ("frame_accuracy", "intent and values right"),
    ):
        if row[key] is not None:
            lines.append(f"  {text:26} {row[key]:7.1%}")
    for source, count in row["by_source"].items():
        ms = row["ms_by_source"][source]
        lines.append(f"  {source:10} {count:6}   p50 {ms['p50']} ms, p95 {ms['p95']} ms")
    weak = sorted(row["by_intent"].items(), key=lambda item: item[1][0] / item[1][1])
    lines += [f"  {intent:36} {right} of {n}" for intent, (right, n) in weak[:10] if right < n]
    return "\n".join(lines)


def _verdict(assembly: Assembly, row: Row) -> Verdict:
    started = time.perf_counter()
    found = assembly.understander.understand(row.text)
    return Verdict(row, found, (time.perf_counter() - started) * 1000)


def _whole(verdict: Verdict, now: Any) -> bool:
    if not verdict.right or verdict.found is None:
        return False
    slots = free_slots.read(verdict.found, now, {}).slots
    return {k: _plain(v) for k, v in slots.items()} == {
        k: _plain(v) for k, v in (verdict.row.slots or {}).items()
    }


def _plain(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _private(cfg: Config, folder: Path, head: Path | None, kv: str) -> Config:
    """The same with a state of its own and no log."""
    understand = {"head": str(head)} if head is not None else {}
    return cfg.model_copy(
        update={
            "service": cfg.service.model_copy(update={"state_dir": str(folder)}),
            "privacy": cfg.privacy.model_copy(update={"keep_log": ""}),
            "understand": cfg.understand.model_copy(update=understand),
            "llm": cfg.llm.model_copy(update={"kv": cfg.llm.kv.model_copy(update={"mode": kv})}),
        }
    )


def _row(file: Path, number: int, line: str) -> Row:
    try:
        content = json.loads(line)
        text, intent, slots = content["text"], content["intent"], content.get("slots")
        if not isinstance(text, str) or not isinstance(intent, str | None):
            raise TypeError("text and intent must be text")
        if slots is not None and not isinstance(slots, dict):
            raise TypeError("slots must be an object")
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise InputFileError(
            "bench.bad_data",
            f"Line {number} of {file} is no labelled sentence: {e}.",
            'Each line is an object such as {"text": "set a timer", "intent": "timer.set"}.',
        ) from e
    name = intent or NONE
    return Row(text, NONE if name in _NO_INTENT else name, slots)


def _part(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None
