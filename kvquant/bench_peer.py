"""llama.cpp as the peer of a benchmark: runs its llama-bench and reads what it measured."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvquant.bench_cases import STEPS, Case, Stage
from kvquant.errors import BackendError, SettingError

_TIMEOUT_S = 1800
_BATCHED = "llama-batched-bench"


@dataclass(frozen=True, slots=True)
class PeerSetting:
    """A cache type of llama.cpp, with or without its flash attention."""

    kv: str
    flash: bool

    @property
    def name(self) -> str:
        return f"{self.kv} fa={int(self.flash)}"

    def options(self) -> list[str]:
        return ["-ctk", self.kv, "-ctv", self.kv, "-fa", "1" if self.flash else "0"]


SETTINGS = (
    PeerSetting("f16", False),
    PeerSetting("f16", True),
    PeerSetting("q8_0", True),
    PeerSetting("q4_0", True),
)
"""Those that are its fastest, or its smallest, in one case or another."""


class Peer:
    """One llama-bench and, for batches, the llama-batched-bench beside it."""

    def __init__(self, bench: str, model: str, threads: int) -> None:
        """Raises SettingError when there is no such program."""
        self._bench = Path(bench)
        if not os.access(self._bench, os.X_OK) or self._bench.is_dir():
            raise SettingError("bench.peer", f"{bench} is not a program that can be run.")
        self._model = model
        self._threads = threads

    def settings(self, stage: Stage) -> list[PeerSetting]:
        """Those that it can measure in a stage."""
        if stage.batch > 1 and not self._bench.with_name(_BATCHED).exists():
            return []
        return list(SETTINGS)

    def run(self, setting: PeerSetting, stage: Stage, repetitions: int) -> dict[Case, list[float]]:
        """Seconds of each step or prompt of every case, in one process.

        The tokens of the depth are computed once by that process, however many repetitions follow.
        A program that crashes in the middle looks like a fast one, so its exit code decides.
        Raises BackendError when it fails.
        """
        if stage.batch > 1:
            return {Case(stage.depth, stage.batch): [self._batch(setting, stage)]}
        prompts = ",".join(map(str, stage.prompts)) or "0"
        lines = self._call(
            [str(self._bench), "-m", self._model, "-t", str(self._threads), "-p", prompts,
             "-n", str(STEPS if stage.decode else 0), "-d", str(stage.depth),
             "-r", str(repetitions), "-o", "json", *setting.options()]
        )  # fmt: skip
        found = {}
        for result in json.loads(lines):
            case = Case(stage.depth, prompt=result["n_prompt"])
            tokens = 1 if case.prompt else STEPS
            found[case] = [ns / 1e9 / tokens for ns in result["samples_ns"]]
        if found.keys() != set(stage.cases) or not all(found.values()):
            raise BackendError("bench.peer", "The peer did not measure what it was asked to.")
        return found

    def _batch(self, setting: PeerSetting, stage: Stage) -> float:
        prompt = max(stage.depth, 1)
        context = stage.batch * (prompt + STEPS)
        lines = self._call(
            [str(self._bench.with_name(_BATCHED)), "-m", self._model, "-t", str(self._threads),
             "-c", str(context), "-npp", str(prompt), "-ntg", str(STEPS),
             "-npl", str(stage.batch), "--output-format", "jsonl", *setting.options()]
        )  # fmt: skip
        found: list[dict[str, Any]] = [
            json.loads(line) for line in lines.splitlines() if line.startswith("{")
        ]
        if not found:
            raise BackendError("bench.peer", "The peer printed no measurement.")
        return float(found[-1]["t_tg"]) / STEPS

    def _call(self, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise BackendError("bench.peer", f"The peer could not be run: {e}.") from e
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise BackendError(
                "bench.peer",
                f"The peer ended with code {done.returncode}: {last:.200}.",
                "A llama.cpp built by GCC 12 crashes where AMX is used; build it without AMX.",
            )
        return done.stdout
