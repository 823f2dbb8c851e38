"""Real sound for tests: recordings where they are present, speech of our own voice, noise."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr

from assistant import models
from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, Pcm
from assistant.errors import ModelError

ROOT = Path(__file__).resolve().parents[2]


def data_dir(name: str) -> Path:
    """Folder of a public data set; skips the test when it is not there."""
    root = Path(os.environ.get("ASSISTANT_DATA", ROOT.parent / "shared" / "data"))
    if not (root / name / "manifest.jsonl").is_file():
        pytest.skip(f"the data set {name} is not present")
    return root / name


@functools.cache
def rows(name: str) -> list[dict[str, Any]]:
    """Manifest rows of a data set."""
    text = (data_dir(name) / "manifest.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read(path: Path) -> Pcm:
    """A recording as 16 kHz mono int16."""
    soundfile = pytest.importorskip("soundfile")
    samples, rate = soundfile.read(path, dtype="int16", always_2d=True)
    mono = samples[:, 0]
    if rate != SAMPLE_RATE:
        mono = soxr.resample(mono, rate, SAMPLE_RATE)
    return np.ascontiguousarray(mono, dtype=np.int16)


def recording(name: str, row: dict[str, Any]) -> Pcm:
    return read(data_dir(name) / row["file"])


def bundled(name: str) -> Pcm:
    """A recording from the speech recogniser's package, cut to its first 30 s."""
    try:
        package = importlib.metadata.distribution("moonshine-voice")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("moonshine-voice, which has the recordings, is not installed")
    path = Path(str(package.locate_file(f"moonshine_voice/assets/{name}")))
    if not path.is_file():
        pytest.skip(f"moonshine-voice does not have {name}")
    return read(path)[: 30 * SAMPLE_RATE]


def model(name: str) -> Path:
    """Path of a fetched model; skips the test when it was not fetched."""
    try:
        return models.path_of(name)
    except ModelError as error:
        pytest.skip(str(error))


@functools.cache
def _voice() -> Any:
    piper = pytest.importorskip("piper")
    return piper.PiperVoice.load(str(model("en_US-joe-medium")))


@functools.cache
def spoken(text: str, speed: float = 1.0) -> Pcm:
    """The text in the assistant's default voice, at -6 dBFS peak."""
    from piper import SynthesisConfig

    # Without the voice's random variation every run of a test hears the same sound.
    config = SynthesisConfig(length_scale=1.0 / speed, noise_scale=0.0, noise_w_scale=0.0)
    chunks = list(_voice().synthesize(text, config))
    sound = np.concatenate([c.audio_int16_array for c in chunks]).astype(np.float32)
    sound = soxr.resample(sound, chunks[0].sample_rate, SAMPLE_RATE)
    return (sound * (16384.0 / np.abs(sound).max())).astype(np.int16)


def silence(seconds: float) -> Pcm:
    return np.zeros(int(seconds * SAMPLE_RATE), dtype=np.int16)


def noise(seconds: float, rms: float, kind: str = "white", seed: int = 7) -> Pcm:
    """kind: white, fan (low-pass), or hum (50 Hz and harmonics); rms: in int16 steps."""
    n = int(seconds * SAMPLE_RATE)
    if kind == "hum":
        t = np.arange(n) / SAMPLE_RATE
        sound = sum(np.sin(2 * np.pi * 50 * k * t) / k for k in range(1, 8))
    else:
        sound = np.random.default_rng(seed).standard_normal(n)
        if kind == "fan":
            sound = np.convolve(sound, np.ones(40) / 40, "same")
    sound = np.asarray(sound) * (rms / np.std(sound))
    return np.clip(sound, -32768, 32767).astype(np.int16)


def join(parts: Sequence[Pcm], floor_rms: float = 0.0) -> Pcm:
    """The parts one after the other over faint noise."""
    sound = np.concatenate(list(parts)).astype(np.float32)
    if floor_rms:
        sound += np.random.default_rng(3).standard_normal(len(sound)) * floor_rms
    return np.clip(sound, -32768, 32767).astype(np.int16)


def mixed(sound: Pcm, background: Pcm, snr_db: float) -> Pcm:
    """``sound`` with ``background`` (repeated as needed) at a signal-to-noise ratio."""
    back = np.resize(background, len(sound)).astype(np.float32)
    loud = sound.astype(np.float32)
    gain = np.sqrt((loud**2).mean() / (back**2).mean()) * 10 ** (-snr_db / 20)
    return np.clip(loud + gain * back, -32768, 32767).astype(np.int16)


def frames(sound: Pcm) -> list[Pcm]:
    """The sound in frames of 10 ms, the rest dropped."""
    n = len(sound) // FRAME_SAMPLES
    return list(sound[: n * FRAME_SAMPLES].reshape(n, FRAME_SAMPLES))
