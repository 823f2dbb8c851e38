"""How often a trained head understands the sentences of a public set, and how fast."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistant.bench.latency import percentiles
from assistant.config import Config, KvConfig
from assistant.errors import UsageError
from assistant.intent import data_sets
from assistant.intent.heads.example import OUT_OF_SCOPE, Example
from assistant.intent.heads.fit_tagger import Score
from assistant.intent.heads.head import Head, Meaning
from assistant.intent.heads.reader import Reader
from assistant.models import path_of

_WARM_UP = 5


def score(
    cfg: Config, name: str, head_path: Path | None, data: Path, limit: int | None, kv: str | None
) -> dict[str, Any]:
    """The row for ``--json``; every row of the data is scored, whatever its split.

    accuracy: of the rows in scope, by the best intent in scope, before anything is rejected.
    oos_recall: part of the rows out of scope that the head's threshold rejects;
    oos_rejected_in_scope: the same of the rows in scope. frame_accuracy: intent and all values
    right, of the rows in scope. What the data have no rows or values for is None.

    Raises UsageError without a head or for a head of another set, ModelError, InputFileError,
    LlmError.
    """
    if head_path is None:
        raise UsageError(
            "bench.head",
            f"A head for {name} is needed.",
            f"Train it: python -m assistant.intent.train --set {name} --data DIR --out FILE.head",
        )
    examples = data_sets.read(data)[:limit]
    head = Head.load(head_path)
    if head.name != name:
        raise UsageError("bench.head", f"{head_path} was trained for {head.name}, not for {name}.")
    mode = kv or cfg.llm.kv.mode
    reader = _reader(cfg, head, cfg.llm.kv.model_copy(update={"mode": mode}))
    try:
        head.check(reader)
        for example in examples[:_WARM_UP]:
            head.read(example.text, reader)
        meanings, ms = [], []
        for example in examples:
            start = time.perf_counter()
            meanings.append(head.read(example.text, reader))
            ms.append((time.perf_counter() - start) * 1000)
    finally:
        reader.close()
    return {
        "what": "intents",
        "set": name,
        **figures(examples, meanings, head.threshold),
        "ms": percentiles(ms),
        "kv": mode,
    }


def figures(
    examples: Sequence[Example], meanings: Sequence[Meaning], threshold: float
) -> dict[str, Any]:
    """The counts of ``score``; and by_intent: (right, n) of each in scope, in its row's order."""
    scope = [(e, m) for e, m in zip(examples, meanings, strict=True) if e.intent != OUT_OF_SCOPE]
    beyond = [m for e, m in zip(examples, meanings, strict=True) if e.intent == OUT_OF_SCOPE]
    values = Score()
    by_intent: dict[str, list[int]] = {}
    frames = 0
    for example, meaning in scope:
        right = example.intent == meaning.intent
        values.add(meaning.marks, example.marks)
        frames += right and set(meaning.marks) == set(example.marks)
        row = by_intent.setdefault(example.intent, [0, 0])
        row[0] += right
        row[1] += 1
    tagged = any(example.marks for example in examples)
    return {
        "n": len(examples),
        "accuracy": _part(sum(right for right, _ in by_intent.values()), len(scope)),
        "oos_recall": _part(sum(m.score < threshold for m in beyond), len(beyond)),
        "oos_rejected_in_scope": _part(sum(m.score < threshold for _, m in scope), len(scope)),
        "slot_f1": round(values.f1, 4) if tagged else None,
        "frame_accuracy": _part(frames, len(scope)),
        "by_intent": dict(sorted(by_intent.items())),
    }


def table(row: dict[str, Any]) -> str:
    """The figures for people, the weakest intents first."""
    lines = [f"{row['set']}: {row['n']} sentences, cache {row['kv']}"]
    for key, text in (
        ("accuracy", "intent right, in scope"),
        ("oos_recall", "out of scope, rejected"),
        ("oos_rejected_in_scope", "in scope, rejected"),
        ("slot_f1", "values, F1"),
        ("frame_accuracy", "intent and values right"),
    ):
        if row[key] is not None:
            lines.append(f"  {text:26} {row[key]:7.1%}")
    ms = row["ms"]
    lines.append(f"  milliseconds p50 {ms['p50']}, p95 {ms['p95']}, p99 {ms['p99']}")
    weak = sorted(row["by_intent"].items(), key=lambda item: item[1][0] / item[1][1])
    for intent, (right, n) in weak[:10]:
        lines.append(f"  {intent:40} {right} of {n}")
    return "\n".join(lines)


def _reader(cfg: Config, head: Head, kv: KvConfig) -> Reader:
    models = Path(cfg.service.models_dir).expanduser() if cfg.service.models_dir else None
    settings: dict[str, Any] = {"kv": kv.mode}
    if kv.mode != "fp16":
        settings |= {"window": kv.window, "sinks": kv.sinks}
    if kv.mode == "adaptive":
        settings |= {"budget_bits": kv.budget_bits, "controller": kv.controller}
    return Reader.load(
        path_of(cfg.llm.model, models), head.setup.prefix, threads=cfg.llm.threads, **settings
    )


def _part(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None
