"""``assistant doctor``: looks at everything the assistant needs, changes nothing."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assistant import config, service
from assistant.audio.base import Pcm
from assistant.config import Config
from assistant.doctor import home, machine, sound, store
from assistant.doctor.check import Check, Edges
from assistant.doctor.levels import decibel

__all__ = ["Check", "Edges", "command", "run"]

RECORD_S = 5.0

_MISSING = ("sound system", "microphone", "microphone level", "speaker", "packages", "recording")


def run(
    cfg: Config, *, full: bool = False, file: Path | None = None, edges: Edges | None = None
) -> list[Check]:
    """Every check, in the order of the report; records a second of sound, keeps none of it.

    full: compute the checksums of the models. file: the settings file in use.
    """
    edges = edges or Edges()
    running = _running(cfg)
    where = f"{file} is right." if file else "No settings file; the defaults hold."
    return [
        Check("settings", True, where),
        *machine.check(cfg, edges),
        *store.check(cfg, full=full, running=running),
        *home.check(cfg),
        *sound.check(cfg, edges, running),
    ]


def command(cfg: Config, args: argparse.Namespace, edges: Edges | None = None) -> int:
    """``assistant doctor``; the arguments used are config, full, record and json.

    0 when all is well, 3 when something is missing, 4 when something does not work.
    """
    report: dict[str, Any] = {}
    if args.record is not None:
        source = (edges or Edges()).create_source(cfg.audio.input)
        print(f"Recording {RECORD_S:.0f} s, please speak ...", file=sys.stderr)
        meter = None if args.json or not sys.stderr.isatty() else _Meter()
        check, levels = sound.record_to_file(source, args.record, RECORD_S, meter)
        checks = [check]
        report["recording"] = {"file": str(args.record), **dataclasses.asdict(levels)}
    else:
        file = args.config or config.find_file()
        checks = run(cfg, full=args.full, file=file, edges=edges)
    if args.json:
        report["checks"] = [dataclasses.asdict(check) for check in checks]
        print(json.dumps(report, ensure_ascii=False), flush=True)
    else:
        if args.record is not None:
            print(f"{args.record}: {report['recording']['seconds']} s")
        print(text(checks), flush=True)
    return exit_code(checks)


def exit_code(checks: Sequence[Check]) -> int:
    """0 all well, 3 something is missing, 4 something does not work."""
    bad = [check.name for check in checks if not check.ok]
    if not bad:
        return 0
    return 3 if any(n in _MISSING or n.startswith("model ") for n in bad) else 4


def text(checks: Sequence[Check]) -> str:
    """The report for people: one line a check, the hint below it."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        mark = "FAIL" if not check.ok else "note" if check.hint else "ok"
        lines.append(f"{mark:4}  {check.name:{width}}  {check.detail}")
        if check.hint:
            lines.append(f"{'':4}  {'':{width}}  -> {check.hint}")
    bad = sum(not check.ok for check in checks)
    lines.append("All is well." if not bad else f"{bad} of {len(checks)} checks failed.")
    return "\n".join(lines)


def _running(cfg: Config) -> int | None:
    folder = store.state_folder(cfg)
    try:
        return None if folder is None else service.running_process(folder)
    except OSError:
        # A folder of another user: whatever runs there is not ours to tell.
        return None


class _Meter:
    """A bar that follows the loudness of the last 100 ms, on a terminal."""

    def __init__(self) -> None:
        self._parts: list[Pcm] = []

    def __call__(self, frame: Pcm) -> None:
        self._parts.append(frame)
        if len(self._parts) < 10:
            return
        loudest = float(np.abs(np.concatenate(self._parts).astype(np.int32)).max())
        self._parts.clear()
        level = decibel(loudest)
        bar = "#" * max(0, round((level + 72) / 2))
        sys.stderr.write(f"\r{level:6.0f} dB |{bar:36}|\x1b[K")
        sys.stderr.flush()
