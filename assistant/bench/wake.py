"""``assistant bench wake``: missed wake words, and false wakes on speech and noise.

The data are recordings with ``manifest.jsonl``: those with a ``phrase`` that is a wake word must
wake by that word, once; those with another phrase, and all without one, must not wake. Measured are
the wake words of the settings and all known ones whose phrase occurs in the data.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistant import wake
from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, Pcm
from assistant.bench.clips import Clip, mixed, read_clips, sound_of, text_of
from assistant.bench.latency import percentiles
from assistant.config import Config
from assistant.errors import UsageError
from assistant.wake.base import WakeDetector

MARGIN_S = 1.0
"""Seconds of quiet before and after each recording, in which a detector settles."""

HISS = 12.0
"""Standard deviation of the quiet in 16-bit steps: no room is digitally silent."""


@dataclass(slots=True)
class Tally:
    """Of one wake word.

    said, missed, twice: recordings of it, those that did not wake, and those that woke more
    than once. noisy_missed: of the same with noise over them, None without noise.
    others, others_woke: recordings of other phrases. hours, false: of all without a phrase.
    """

    said: int = 0
    missed: int = 0
    twice: int = 0
    noisy_missed: int | None = None
    others: int = 0
    others_woke: int = 0
    hours: float = 0.0
    false: int = 0


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``.

    n: recordings; accuracy: share of (recording, wake word) pairs that did what they should;
    miss_rate, noisy_miss_rate: of all recordings of a measured word, without and with --noise;
    false_wakes_per_hour: over hours of speech and noise without a phrase, times words; None
    where there are none. ms: one second of sound. words: the counts of each, see Tally.

    Raises InputFileError, UsageError, ConfigError, ModelError, PackageError.
    """
    clips = read_clips(args.data, args.limit)
    phrases = [_name(text_of(clip.row, "phrase", clip.name)) for clip in clips]
    names = _words(cfg, phrases)
    noise = sound_of(args.noise) if args.noise else None
    models = cfg.service.models_dir
    tallies: dict[str, Tally] = {}
    took: list[float] = []
    for name in names:
        own = cfg.wake.model_copy(update={"words": (name,)})
        detector = wake.create(own, Path(models).expanduser() if models else None)
        assert detector is not None
        detector.load()
        tallies[_name(name) or name] = _tally(detector, name, clips, phrases, noise, args.snr, took)
    return {
        "what": "wake",
        "set": args.set,
        "n": len(clips),
        **figures(tallies),
        "ms": percentiles(took),
        "kv": None,
        "noise": args.noise.name if args.noise else None,
        "snr": args.snr if args.noise else None,
    }


def figures(tallies: Mapping[str, Tally]) -> dict[str, Any]:
    """The counts of ``run``."""
    every = list(tallies.values())
    said, hours = sum(t.said for t in every), sum(t.hours for t in every)
    noisy = [t for t in every if t.noisy_missed is not None]
    missed = sum(t.missed for t in every)
    false = sum(t.false for t in every)
    pairs = said + sum(t.others for t in every)
    wrong = missed + sum(t.twice + t.others_woke for t in every)
    return {
        "accuracy": round(1 - wrong / pairs, 4) if pairs else None,
        "miss_rate": round(missed / said, 4) if said else None,
        "noisy_miss_rate": (
            round(sum(t.noisy_missed or 0 for t in noisy) / sum(t.said for t in noisy), 4)
            if any(t.said for t in noisy)
            else None
        ),
        "false_wakes": false,
        "hours": round(hours, 4),
        "false_wakes_per_hour": round(false / hours, 3) if hours else None,
        "words": {
            name: {
                "said": t.said,
                "missed": t.missed,
                "twice": t.twice,
                "noisy_missed": t.noisy_missed,
                "others": t.others,
                "others_woke": t.others_woke,
                "hours": round(t.hours, 4),
                "false": t.false,
            }
            for name, t in tallies.items()
        },
    }


def table(row: Mapping[str, Any]) -> str:
    """The row for people."""
    noise = f", with {row['noise']} at {row['snr']:g} dB" if row["noise"] else ""
    lines = [
        f"{row['n']} recordings{noise}",
        f"  {'wake word':14} {'said':>5} {'missed':>7} {'in noise':>9} {'other phrases':>14} "
        f"{'woke':>5} {'hours':>6} {'false':>6}",
    ]
    for name, t in row["words"].items():
        noisy = "" if t["noisy_missed"] is None else t["noisy_missed"]
        lines.append(
            f"  {name:14} {t['said']:5} {t['missed']:7} {noisy:>9} {t['others']:14} "
            f"{t['others_woke']:5} {t['hours']:6.2f} {t['false']:6}"
        )
    if row["miss_rate"] is not None:
        lines.append(f"  missed {row['miss_rate']:.1%}")
    if row["noisy_miss_rate"] is not None:
        lines.append(f"  missed in noise {row['noisy_miss_rate']:.1%}")
    if row["false_wakes_per_hour"] is not None:
        lines.append(
            f"  false wakes an hour {row['false_wakes_per_hour']:g} in {row['hours']:.2f} h"
        )
    return "\n".join(lines)


def _tally(
    detector: WakeDetector,
    word: str,
    clips: Sequence[Clip],
    phrases: Sequence[str | None],
    noise: Pcm | None,
    snr: float,
    took: list[float],
) -> Tally:
    tally = Tally(noisy_missed=None if noise is None else 0)
    for clip, phrase in zip(clips, phrases, strict=True):
        sound = sound_of(clip.path)
        begin = time.perf_counter()
        wakes = _wakes(detector, _in_quiet(sound))
        took.append((time.perf_counter() - begin) * 1000 * SAMPLE_RATE / max(1, len(sound)))
        if phrase is None:
            tally.hours += len(sound) / SAMPLE_RATE / 3600
            tally.false += wakes
        elif phrase != _name(word):
            tally.others += 1
            tally.others_woke += wakes > 0
        else:
            tally.said += 1
            tally.missed += wakes == 0
            tally.twice += wakes > 1
            if noise is not None and tally.noisy_missed is not None:
                noisy = mixed(sound, noise, snr, clip.name, round(MARGIN_S * SAMPLE_RATE))
                tally.noisy_missed += _wakes(detector, noisy) == 0
    return tally


def _wakes(detector: WakeDetector, sound: Pcm) -> int:
    detector.reset()
    ends = range(FRAME_SAMPLES, len(sound) + 1, FRAME_SAMPLES)
    return sum(detector.process(sound[end - FRAME_SAMPLES : end]) is not None for end in ends)


def _in_quiet(sound: Pcm) -> Pcm:
    margin = round(MARGIN_S * SAMPLE_RATE)
    hiss = np.random.default_rng(1).normal(0.0, HISS, (2, margin)).astype(np.int16)
    return np.concatenate([hiss[0], sound, hiss[1]])


def _words(cfg: Config, phrases: Sequence[str | None]) -> list[str]:
    """Those of the settings, then the known ones that are said in the data."""
    if cfg.wake.backend == "none":
        raise UsageError(
            "bench.wake", "There is no wake word detector: wake.backend is none.",
            "Add --set wake.backend=microwakeword.",
        )  # fmt: skip
    own = {_name(word) for word in cfg.wake.words}
    said = [word for word in wake.known_words() if word in phrases and word not in own]
    return [*cfg.wake.words, *said]


def _name(phrase: str | None) -> str | None:
    """A phrase in the form of a wake word's name; the stem of a path of one's own."""
    if phrase is None:
        return None
    return "_".join(Path(phrase).stem.lower().replace("-", " ").split())
