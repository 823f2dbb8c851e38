"""``assistant bench speech-intent``: from the sound of commands to their intents and slots.

The data are a folder with ``manifest.jsonl`` (file, intent, slots; text where the words are
known) and either a grammar with slots (see ``slot_grammar``) or sentence files of our own.
A clip is right when its intent, every slot, and no other slot comes out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from assistant import asr
from assistant.asr.cleanup import words_of
from assistant.asr.sentences import Sentences
from assistant.bench.clips import mixed, sound_of
from assistant.bench.latency import percentiles
from assistant.bench.slot_grammar import SlotGrammar
from assistant.bench.word_errors import word_errors
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.intent.base import Intent

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """What can be said, and what is made of it."""

    sentences: Sentences | None
    phrases: tuple[str, ...]
    understand: Callable[[str], Intent | None]


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``; with ``--out`` each clip goes to speech-intent.jsonl there.

    Raises InputFileError for data that cannot be read, ModelError, PackageError.
    """
    folder = args.data if args.data.is_dir() else args.data.parent
    rows = list(islice(read_rows(folder / "manifest.jsonl"), args.limit))
    task = read_task(cfg, folder)
    noise = sound_of(args.noise) if args.noise else None
    models = cfg.service.models_dir
    recognizer = asr.create(cfg.asr, Path(models).expanduser() if models else None)
    recognizer.load()
    recognizer.expect(task.sentences if cfg.asr.bias == "sentences" else None)
    vocabulary = task.phrases if cfg.asr.bias != "off" else ()
    score = _Score()
    for row in rows:
        sound = sound_of(folder / row["file"])
        if noise is not None:
            sound = mixed(sound, noise, args.snr, row["file"])
        began, cpu = time.perf_counter(), time.process_time()
        recognizer.start(vocabulary)
        recognizer.feed(sound)
        text = recognizer.finish().text
        intent = task.understand(text)
        score.took.append(1000 * (time.perf_counter() - began))
        score.cpu.append(1000 * (time.process_time() - cpu))
        score.add(row, text, intent)
    recognizer.close()
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(clip, ensure_ascii=False) for clip in score.clips]
        (args.out / "speech-intent.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "what": "speech-intent",
        "set": args.set,
        **score.figures(),
        "kv": args.kv or cfg.llm.kv.mode,
        "asr": cfg.asr.backend,
        "bias": cfg.asr.bias,
        "noise": args.noise.name if args.noise else None,
        "snr": args.snr if args.noise else None,
    }


def table(row: dict[str, Any]) -> str:
    """The row for people."""
    noise = f", {row['noise']} at {row['snr']:g} dB" if row["noise"] else ""
    lines = [
        f"{row['n']} clips, {row['asr']}, bias {row['bias']}{noise}",
        f"  every slot right   {row['accuracy']:7.1%}",
        f"  slots found        {row['slot_recall']:7.1%}",
        f"  found slots right  {row['slot_precision']:7.1%}",
    ]
    if row["wer"] is not None:
        lines.append(f"  word error rate    {row['wer']:7.1%}")
    ms = row["ms"]
    lines.append(f"  ms a clip          p50 {ms['p50']:.0f}, p95 {ms['p95']:.0f}")
    lines.append(f"  CPU ms a clip      {row['cpu_ms']:.0f}")
    return "\n".join(lines)


class _Score:
    """Counts clips, slots and words."""

    def __init__(self) -> None:
        self.clips: list[dict[str, Any]] = []
        self.took: list[float] = []
        self.cpu: list[float] = []
        self._right = self._wanted = self._found = self._found_right = 0
        self._errors = self._words = 0

    def add(self, row: Row, text: str, intent: Intent | None) -> None:
        wanted = row["slots"].items()
        found = (intent.slots if intent else {}).items()
        right = intent is not None and intent.name == row["intent"] and wanted == found
        self._right += right
        self._wanted += len(wanted)
        self._found += len(found)
        self._found_right += len(wanted & found)
        if row.get("text"):
            reference = words_of(row["text"].replace("-", " "))
            self._errors += word_errors(reference, words_of(text.replace("-", " ")))
            self._words += len(reference)
        self.clips.append(
            {
                "file": row["file"],
                "right": right,
                "heard": text,
                "intent": intent.name if intent else None,
                "slots": dict(found),
                "wanted": row["slots"],
            }
        )

    def figures(self) -> dict[str, Any]:
        n = len(self.clips)
        return {
            "n": n,
            "accuracy": round(self._right / max(1, n), 4),
            "slot_recall": round(self._found_right / max(1, self._wanted), 4),
            "slot_precision": round(self._found_right / max(1, self._found), 4),
            "wer": round(self._errors / self._words, 4) if self._words else None,
            "ms": percentiles(self.took),
            "cpu_ms": round(float(np.mean(self.cpu or [0.0])), 1),
        }


def read_rows(path: Path) -> list[Row]:
    """Raises InputFileError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        assert all(isinstance(r["file"], str) and isinstance(r["slots"], dict) for r in rows)
        assert all(isinstance(r["intent"], str) for r in rows)
    except OSError as error:
        raise InputFileError(
            "bench.bad_data", f"{path} cannot be read: {error.strerror}."
        ) from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise InputFileError(
            "bench.bad_data",
            f"{path} cannot be read: {error!r}.",
            "It needs one JSON object a line, with file, intent and slots.",
        ) from error
    return rows


def read_task(cfg: Config, folder: Path) -> Task:
    """The grammar that lies in the folder. Raises InputFileError, IntentError."""
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputFileError("bench.bad_grammar", f"{path} is no YAML: {error}") from error
        if isinstance(content, dict) and "context" in content:
            grammar = SlotGrammar.read(path)
            return Task(grammar.sentences, grammar.phrases, grammar.understand)
        if isinstance(content, dict) and "intents" in content:
            return _own_sentences(cfg, folder)
    raise InputFileError(
        "bench.no_grammar",
        f"{folder} holds no grammar.",
        "Put a .yaml file with context: or with intents: beside manifest.jsonl.",
    )


def _own_sentences(cfg: Config, folder: Path) -> Task:
    from assistant.intent.grammar import Grammar
    from assistant.intent.repair import repaired

    grammar = Grammar([folder], cfg.understand)
    grammar.load()
    templates, lists = grammar.spoken()
    phrases = tuple(dict.fromkeys(p for values in lists.values() for p in values))
    return Task(
        Sentences(templates, lists, alone=True),
        phrases,
        lambda text: grammar.understand(repaired(text, phrases, grammar.understand)),
    )
