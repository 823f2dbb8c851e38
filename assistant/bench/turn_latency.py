"""``assistant bench latency``: from the last voiced sample to the first sample of the answer.

Sound is played at the pace of real speech, and the answer goes to a speaker that takes as long as
a real one. Without data the assistant's own voice says the wake word and timer commands. The data
are sentences (text, intent), which it says likewise, or recordings with ``manifest.jsonl`` (file,
and intent where it is known), which are heard without a wake word.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.assembly import Assembly
from assistant.audio.base import SAMPLE_RATE
from assistant.audio.wav_sink import write_wav
from assistant.bench import own_plain
from assistant.bench.clips import MANIFEST, read_clips, text_of
from assistant.bench.latency import percentiles
from assistant.bench.private import private
from assistant.config import Config
from assistant.demo import speak
from assistant.errors import UsageError
from assistant.hear import hear
from assistant.report import Record
from assistant.timing import STAGES

COMMANDS = (
    "Set a timer for ten minutes.",
    "Set a timer for one and a half hours.",
    "Start a twenty minute timer.",
    "Set a timer for half an hour called laundry.",
    "Set a five minute timer.",
    "Start a timer for ninety seconds.",
    "Set a timer for two hours and fifteen minutes.",
    "Set a pasta timer for eight minutes.",
    "Timer for three minutes.",
    "Please set a timer for forty five minutes.",
)
ROUNDS = 2
"""How often each of them is said."""

_NO_INTENT = frozenset([own_plain.NONE, "dialogue.talk", "dialogue.none"])


@dataclass(frozen=True, slots=True)
class Case:
    """text: said by the own voice; path: a recording instead; intent: None where any is right."""

    text: str
    path: Path | None
    intent: str | None


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``.

    accuracy: share of the commands that were understood; unheard: no turn came of them.
    ms: of the turns that were understood, in all; stages: by stage, as in ``assistant hear``.

    Raises InputFileError, UsageError, and what the assistant raises without its models.
    """
    cases = _cases(args.data, args.limit)
    spoken = any(case.path is None for case in cases)
    if spoken and not cfg.wake.words:
        raise UsageError("bench.wake", "There is no wake word in wake.words to say.")
    found: list[tuple[Case, Record | None]] = []
    with tempfile.TemporaryDirectory(prefix="assistant-bench-") as folder:
        # An open microphone after the answer would only make each turn longer.
        quiet = private(cfg, Path(folder), args.kv, turn={"followup_ms": 0})
        assembly = Assembly(quiet)
        try:
            assembly.load()
            for number, case in enumerate(cases):
                path = case.path
                if path is None:
                    path = Path(folder) / f"{number}.wav"
                    sound = speak(assembly, cfg.wake.words[0], case.text)
                    write_wav(path, sound, SAMPLE_RATE)
                found.append((case, _turn(assembly, path, use_wake=case.path is None)))
        finally:
            assembly.close()
    return {
        "what": "latency",
        "set": args.set,
        **figures(found),
        "kv": args.kv or cfg.llm.kv.mode,
        "asr": cfg.asr.backend,
        "spoken_by_itself": spoken,
    }


def figures(found: Sequence[tuple[Case, Record | None]]) -> dict[str, Any]:
    """The counts of ``run``: what was said, and the record of its turn, None for no turn."""
    right = [r for case, r in found if r is not None and _right(case, r)]
    times = {s: [r["ms"][s] for r in right if r["ms"].get(s) is not None] for s in STAGES}
    return {
        "n": len(found),
        "accuracy": round(len(right) / len(found), 4) if found else None,
        "understood": len(right),
        "unheard": sum(r is None for _, r in found),
        "misheard": [r["transcript"] for case, r in found if r is not None and not _right(case, r)],
        "ms": percentiles(times["total"]) if times["total"] else None,
        "stages": {stage: percentiles(values) for stage, values in times.items() if values},
    }


def table(row: Mapping[str, Any]) -> str:
    """The row for people."""
    lines = [f"{row['understood']} of {row['n']} commands were understood, cache {row['kv']}"]
    lines.append(f"  {'ms':12} {'p50':>8} {'p95':>8} {'p99':>8}")
    for stage, ms in row["stages"].items():
        lines.append(f"  {stage:12} {ms['p50']:8.0f} {ms['p95']:8.0f} {ms['p99']:8.0f}")
    lines += [f'  misheard: "{text}"' for text in row["misheard"]]
    return "\n".join(lines)


def _cases(data: Path | None, limit: int | None) -> list[Case]:
    if data is None:
        return [Case(text, None, "timer.set") for text in COMMANDS * ROUNDS][:limit]
    if data.name == MANIFEST or (data / MANIFEST).is_file():
        return [
            Case("", clip.path, text_of(clip.row, "intent", clip.name))
            for clip in read_clips(data, limit)
        ]
    return [Case(row.text, None, row.intent) for row in own_plain.read_rows(data)[:limit]]


def _right(case: Case, record: Record) -> bool:
    got = record["intent"] or own_plain.NONE
    if case.intent is None:
        return True
    return got == case.intent or {got, case.intent} <= _NO_INTENT


def _turn(assembly: Assembly, path: Path, *, use_wake: bool) -> Record | None:
    """The first turn that came of it."""
    records: list[Record] = []
    hear(
        assembly,
        [path],
        use_wake=use_wake,
        realtime=True,
        channel=0,
        audio_dir=None,
        done=records.append,
        stop=threading.Event(),
    )
    return next((r for r in records if r["transcript"]), None)
