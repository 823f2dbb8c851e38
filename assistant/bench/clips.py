"""Recordings with what is known of each: the rows of manifest.jsonl, and their sound."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.audio.resample import Resampler, to_pcm
from assistant.audio.wavfile import read_sound
from assistant.errors import InputFileError
from assistant.intent.data_sets import numbered_lines

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class Clip:
    """path: the recording; row: its row of the manifest; name: folder and file, for tables."""

    path: Path
    row: Mapping[str, Any]
    name: str


def read_clips(data: Path, limit: int | None = None) -> list[Clip]:
    """Every row of a manifest, of the one in a folder, or of those in the folder's folders.

    ``file`` of a row is relative to its manifest. Raises InputFileError for what cannot be
    read, names no file, or names one that is not there.
    """
    found = [clip for manifest in _manifests(data) for clip in _rows(manifest)][:limit]
    if not found:
        raise InputFileError(
            "bench.no_rows", f"There are no recordings in {data}.", f"{MANIFEST} has no row."
        )
    for clip in found:
        if not clip.path.is_file():
            raise InputFileError("bench.bad_data", f"The recording {clip.path} is not there.")
    return found


def text_of(row: Mapping[str, Any], key: str, place: object) -> str | None:
    """A text of the row, None where there is none. Raises InputFileError for another kind."""
    value = row.get(key)
    if value is None or isinstance(value, str):
        return value
    raise InputFileError("bench.bad_data", f"{key} of {place} is no text: {value!r}.")


def _manifests(data: Path) -> list[Path]:
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise InputFileError("bench.no_data", f"There is no {data}.", "Give a file or a folder.")
    if (data / MANIFEST).is_file():
        return [data / MANIFEST]
    found = sorted(data.glob(f"*/{MANIFEST}"))
    if not found:
        raise InputFileError(
            "bench.no_data",
            f"{data} holds no {MANIFEST}.",
            "Each line of it is an object with the file of a recording.",
        )
    return found


def _rows(manifest: Path) -> list[Clip]:
    clips = []
    for number, line in numbered_lines(manifest):
        try:
            row = json.loads(line)
            name = row["file"]
            if not isinstance(name, str):
                raise TypeError("file must be a text")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputFileError(
                "bench.bad_data",
                f"Line {number} of {manifest} names no recording.",
                'Each line is an object such as {"file": "one.wav", "text": "what is said"}.',
            ) from error
        clips.append(Clip(manifest.parent / name, row, f"{manifest.parent.name}/{name}"))
    return clips


def sound_of(path: Path) -> Pcm:
    """A sound file as 16 kHz mono. Raises InputFileError."""
    sound, rate = read_sound(path)
    if rate == SAMPLE_RATE:
        return sound
    resampler = Resampler(rate, SAMPLE_RATE)
    parts = [resampler.process(sound.astype(np.float32)), resampler.flush()]
    return to_pcm(np.concatenate(parts))


def mixed(sound: Pcm, noise: Pcm, snr: float, name: str, margin: int = 0) -> Pcm:
    """The sound with noise over it; which part of the noise depends on the name only.

    snr: of the mean powers of both over the whole sound, in dB.
    margin: samples of the noise alone before and after the sound.
    """
    begin = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % max(1, len(noise))
    padded = np.pad(sound.astype(np.float64), margin)
    over = np.resize(np.roll(noise.astype(np.float64), -begin), len(padded))
    power = float(np.mean(over**2))
    if power == 0.0:
        return padded.astype(np.int16)
    gain = np.sqrt(float(np.mean(sound.astype(np.float64) ** 2)) / power / 10 ** (snr / 10))
    return to_pcm((padded + gain * over).astype(np.float32))
