"""Whisper tiny English through faster-whisper (extra "whisper"); takes a vocabulary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assistant.asr.base import Hypothesis
from assistant.asr.cleanup import clean, is_all_loop
from assistant.asr.utterance import EMPTY, WholeUtteranceRecognizer
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.errors import AsrError, ModelError, PackageError

FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt")

MOST_HOTWORD_TOKENS = 222
"""The library cuts what is longer, in the middle of a word."""

LEAST_LOGPROB = -1.2
"""Mean log probability of a token below which the text is invented."""

WINDOW_SECONDS = 30.0
"""The encoder's window; longer sound needs time stamps to find its way."""


class Whisper(WholeUtteranceRecognizer):
    """Confidence is the geometric mean of the tokens' probabilities."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """folder: holds model.bin, config.json, tokenizer.json and vocabulary.txt."""
        super().__init__()
        self._folder = Path(folder)
        self._threads = threads
        self._model: Any = None

    def load(self) -> None:
        try:
            from faster_whisper import WhisperModel
        except ImportError as exc:
            raise PackageError(
                "asr.no_package",
                "The package faster-whisper is not installed.",
                'Install the extra "whisper", or set asr.backend to moonshine.',
            ) from exc
        # Without one of these the library would ask the network for it.
        for name in FILES:
            if not (self._folder / name).is_file():
                raise ModelError(
                    "asr.no_model",
                    f"The Whisper model {self._folder} lacks the file {name}.",
                    "Run `assistant models fetch whisper-tiny-en`.",
                )
        try:
            self._model = WhisperModel(
                str(self._folder),
                device="cpu",
                compute_type="int8",
                cpu_threads=self._threads,
                local_files_only=True,
            )
        except Exception as exc:
            raise ModelError(
                "asr.bad_model",
                f"The Whisper model {self._folder} cannot be loaded: {exc}",
                "Run `assistant models verify`.",
            ) from exc

    def close(self) -> None:
        self.cancel()
        self._model = None

    def _decode(self, samples: Pcm, vocabulary: tuple[str, ...]) -> Hypothesis:
        if self._model is None:
            raise AsrError("asr.not_loaded", "The speech recogniser is not loaded.")
        sound = samples.astype(np.float32) / 32768.0
        try:
            segments, _ = self._model.transcribe(
                sound,
                language="en",
                beam_size=1,
                temperature=0.0,
                without_timestamps=len(sound) <= WINDOW_SECONDS * SAMPLE_RATE,
                condition_on_previous_text=False,
                hotwords=self._hotwords(vocabulary),
            )
            # The decoding happens here, segment by segment.
            found = [(s.text, float(s.avg_logprob), len(s.tokens)) for s in segments]
        except Exception as exc:
            raise AsrError("asr.failed", f"Whisper failed: {exc}") from exc
        kept = [part for part in found if part[1] >= LEAST_LOGPROB and not is_all_loop(part[0])]
        text = clean(" ".join(part[0].strip() for part in kept))
        if not text:
            return EMPTY
        weight = sum(tokens + 1 for _, _, tokens in kept)
        mean = sum(logprob * (tokens + 1) for _, logprob, tokens in kept) / weight
        return Hypothesis(text, min(1.0, math.exp(mean)))

    def _hotwords(self, vocabulary: Sequence[str]) -> str | None:
        tokenizer = self._model.hf_tokenizer

        def count(text: str) -> int:
            return len(tokenizer.encode(" " + text, add_special_tokens=False).ids)

        return hotwords(vocabulary, count)


def hotwords(vocabulary: Sequence[str], count: Any) -> str | None:
    """The phrases joined by commas, as many whole ones as fit, first ones first.

    Those with a word that is in none before them come first: "a bit of milk" brings nothing
    when "a little bit of milk" is there, and room is short.

    count: function from text to its number of tokens.
    """
    new: list[str] = []
    covered: list[str] = []
    seen: set[str] = set()
    for phrase in dict.fromkeys(" ".join(p.split()) for p in vocabulary):
        words = set(phrase.lower().split())
        (covered if words <= seen else new).append(phrase)
        seen |= words
    chosen: list[str] = []
    used = 0
    for phrase in (*new, *covered):
        if not phrase:
            continue
        # One more for the comma.
        cost = count(phrase) + 1
        if used + cost > MOST_HOTWORD_TOKENS:
            continue
        chosen.append(phrase)
        used += cost
    return ", ".join(chosen) or None
