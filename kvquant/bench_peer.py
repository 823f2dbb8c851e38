"""llama.cpp as the peer of a benchmark: runs its llama-bench and reads what it measured."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvquant.errors import BackendError, SettingError

_TIMEOUT_S = 1800
_NEW_TOKENS = 24
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


class Peer:
    """One llama-bench and, for batches, the llama-batched-bench beside it."""

    def __init__(self, bench: str, model: str, threads: int) -> None:
        """Raises SettingError when there is no such program."""
        self._bench = Path(bench)
        if not os.access(self._bench, os.X_OK) or self._bench.is_dir():
            raise SettingError("bench.peer", f"{bench} is not a program that can be run.")
        self._model = model
        self._threads = threads

    def settings(self, batch: int) -> list[PeerSetting]:
        """Its settings that are fastest in one case or another; none where it cannot measure."""
        if batch > 1 and not self._bench.with_name(_BATCHED).exists():
            return []
        return [PeerSetting("f16", False), PeerSetting("f16", True), PeerSetting("q8_0", True)]

    def run(self, setting: PeerSetting, depth: int, batch: int, prompt: int) -> list[float]:
        """Seconds of each step or prompt. Raises BackendError when the program fails.

        A program that crashes in the middle looks like a fast one, so its exit code decides.
        """
        if batch > 1:
            return self._batch(setting, depth, batch)
        lines = self._call(
            [str(self._bench), "-m", self._model, "-t", str(self._threads), "-d", str(depth),
             "-p", str(prompt), "-n", "0" if prompt else str(_NEW_TOKENS), "-r", "1",
             "-o", "json", *setting.options()]
        )  # fmt: skip
        results = json.loads(lines)
        if len(results) != 1 or not results[0].get("samples_ns"):
            raise BackendError("bench.peer", "The peer printed no measurement.")
        tokens = 1 if prompt else _NEW_TOKENS
        return [ns / 1e9 / tokens for ns in results[0]["samples_ns"]]

    def _batch(self, setting: PeerSetting, depth: int, batch: int) -> list[float]:
        prompt = max(depth, 1)
        context = batch * (prompt + _NEW_TOKENS)
        lines = self._call(
            [str(self._bench.with_name(_BATCHED)), "-m", self._model, "-t", str(self._threads),
             "-c", str(context), "-npp", str(prompt), "-ntg", str(_NEW_TOKENS),
             "-npl", str(batch), "--output-format", "jsonl", *setting.options()]
        )  # fmt: skip
        found: list[dict[str, Any]] = [
            json.loads(line) for line in lines.splitlines() if line.startswith("{")
        ]
        if not found:
            raise BackendError("bench.peer", "The peer printed no measurement.")
        return [found[-1]["t_tg"] / _NEW_TOKENS]

    def _call(self, command: list[str]) -> str:
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
