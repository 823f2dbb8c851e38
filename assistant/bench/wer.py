"""``assistant bench wer``: word error rate on recordings, through the whole pipeline.

The data are recordings with ``manifest.jsonl`` (file, and text where the words are known). Each
is the microphone of one run without a wake word, cut by the assistant's own end of turn; the
transcripts of its turns are joined.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.assembly import Assembly
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.audio.wav_sink import write_wav
from assistant.bench.clips import mixed, read_clips, sound_of, text_of
from assistant.bench.latency import percentiles
from assistant.bench.private import private
from assistant.bench.word_errors import word_errors, words
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.hear import hear
from assistant.report import Record


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``.

    n: recordings with a text; words, wer: of these; accuracy: share of them without an error.
    untexted, untexted_heard: the other recordings, and those that gave any words.
    ms: from the end of the turn to its final transcript. cpu_per_second_of_sound: everything.
    wrong: what was heard of the recordings with errors, the worst first.

    Raises InputFileError, and what the assistant raises without its models.
    """
    clips = read_clips(args.data, args.limit)
    texts = [text_of(clip.row, "text", clip.name) for clip in clips]
    noise = sound_of(args.noise) if args.noise else None
    errors = total = right = untexted = some = 0
    wrong: list[tuple[int, dict[str, str]]] = []
    took: list[float] = []
    cpu = seconds = 0.0
    with tempfile.TemporaryDirectory(prefix="assistant-bench-") as folder:
        # Only hearing is measured: no talk, no voice.
        quiet = private(cfg, Path(folder), llm={"enabled": False}, tts={"backend": "none"})
        assembly = Assembly(quiet)
        try:
            assembly.load()
            for clip, text in zip(clips, texts, strict=True):
                path, sound = clip.path, sound_of(clip.path)
                if noise is not None:
                    path = Path(folder) / "noisy.wav"
                    write_wav(path, mixed(sound, noise, args.snr, clip.name), SAMPLE_RATE)
                begin = time.process_time()
                records = _turns(assembly, path, sound)
                cpu += time.process_time() - begin
                seconds += len(sound) / SAMPLE_RATE
                took += [ms for r in records if (ms := r["ms"].get("asr")) is not None]
                heard = " ".join(r["transcript"] for r in records)
                if text is None:
                    untexted += 1
                    some += bool(words(heard))
                    continue
                reference = words(text)
                found = word_errors(reference, words(heard))
                errors += found
                total += len(reference)
                right += found == 0
                if found:
                    wrong.append((found, {"file": clip.name, "text": text, "heard": heard}))
        finally:
            assembly.close()
    n = len(clips) - untexted
    wrong.sort(key=lambda pair: -pair[0])
    return {
        "what": "wer",
        "set": args.set,
        "n": n,
        "accuracy": round(right / n, 4) if n else None,
        "wer": round(errors / total, 4) if total else None,
        "words": total,
        "untexted": untexted,
        "untexted_heard": some,
        "ms": percentiles(took),
        "cpu_per_second_of_sound": round(cpu / max(seconds, 1e-9), 4),
        "kv": args.kv or cfg.llm.kv.mode,
        "asr": cfg.asr.backend,
        "bias": cfg.asr.bias,
        "noise": args.noise.name if args.noise else None,
        "snr": args.snr if args.noise else None,
        "wrong": [row for _, row in wrong],
    }


def table(row: Mapping[str, Any]) -> str:
    """The row for people."""
    noise = f", {row['noise']} at {row['snr']:g} dB" if row["noise"] else ""
    lines = [f"{row['n']} recordings with a text, {row['asr']}, bias {row['bias']}{noise}"]
    if row["wer"] is not None:
        lines.append(f"  word error rate    {row['wer']:7.1%} of {row['words']} words")
        lines.append(f"  without an error   {row['accuracy']:7.1%}")
    if row["untexted"]:
        lines.append(
            f"  without a text     {row['untexted_heard']} of {row['untexted']} gave words"
        )
    lines.append(f"  processor time     {row['cpu_per_second_of_sound']:.3f} s a second of sound")
    return "\n".join(lines)


def _turns(assembly: Assembly, path: Path, sound: Pcm) -> list[Record]:
    records: list[Record] = []
    try:
        hear(
            assembly,
            [path],
            use_wake=False,
            realtime=False,
            channel=0,
            audio_dir=None,
            done=records.append,
            stop=threading.Event(),
        )
    except InputFileError:
        # One without any signal is heard as nothing; of others it was not the signal.
        if sound.any():
            raise
    return records
