"""A folder of recordings with a manifest, as benchmarks read it."""

from __future__ import annotations

import argparse
import json
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.audio.base import SAMPLE_RATE, Pcm


def arguments(data: Path | None, **more: object) -> argparse.Namespace:
    """What the command line hands to a benchmark."""
    given = {"data": data, "set": "own", "limit": None, "noise": None, "snr": 10.0}
    return argparse.Namespace(**{**given, "out": None, "kv": None, "head": None, **more})


def write(path: Path, sound: Pcm, rate: int = SAMPLE_RATE) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(sound.astype("<i2").tobytes())


def folder(path: Path, *clips: tuple[Pcm, Mapping[str, Any]]) -> Path:
    """Writes each sound and its row."""
    path.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (sound, row) in enumerate(clips):
        write(path / f"{number}.wav", sound)
        rows.append({"file": f"{number}.wav", **row})
    (path / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path
