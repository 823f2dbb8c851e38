"""Vosk (extra "vosk"): streaming partial results, and a grammar made of the vocabulary.

The model is always given by path: asked for by name, the package goes to the network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistant.asr.base import Hypothesis, Recognizer
from assistant.asr.cleanup import clean
from assistant.asr.utterance import EMPTY, not_started
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.errors import AsrError, ModelError, PackageError

UNKNOWN = "[unk]"
"""What a grammar answers for sound that fits none of its phrases."""

NEEDED = "am/final.mdl"

BLOCK_BYTES = 3200
"""Sound goes in by a tenth of a second: what Vosk hears depends on how it is cut."""


class Vosk(Recognizer):
    """Confidence is the mean of the words'; None when there are none."""

    def __init__(self, folder: Path) -> None:
        """folder: of an unpacked model."""
        self._folder = Path(folder)
        self._vosk: Any = None
        self._model: Any = None
        self._recognizer: Any = None
        self._results: list[dict[str, Any]] = []
        self._block = bytearray()
        self._pending = False

    def load(self) -> None:
        try:
            import vosk
        except ImportError as exc:
            raise PackageError(
                "asr.no_package",
                "The package vosk is not installed.",
                'Install the extra "vosk", or set asr.backend to moonshine.',
            ) from exc
        if not (self._folder / NEEDED).is_file():
            raise ModelError(
                "asr.no_model",
                f"{self._folder} is not a Vosk model: it has no {NEEDED}.",
                "Set asr.model to the folder of an unpacked Vosk model.",
            )
        vosk.SetLogLevel(-1)
        try:
            self._model = vosk.Model(model_path=str(self._folder))
        except Exception as exc:
            raise ModelError(
                "asr.bad_model",
                f"The Vosk model {self._folder} cannot be loaded; it may be incomplete.",
                "Unpack it again.",
            ) from exc
        self._vosk = vosk

    def start(self, vocabulary: Sequence[str] = ()) -> None:
        """vocabulary: nothing else is recognised then, apart from "unknown"."""
        if self._model is None:
            raise AsrError("asr.not_loaded", "The speech recogniser is not loaded.")
        phrases = [p for p in (" ".join(v.lower().split()) for v in vocabulary) if p]
        arguments = [json.dumps([*dict.fromkeys(phrases), UNKNOWN])] if phrases else []
        try:
            self._recognizer = self._vosk.KaldiRecognizer(
                self._model, float(SAMPLE_RATE), *arguments
            )
        except Exception as exc:
            raise AsrError("asr.failed", f"Vosk cannot take this vocabulary: {exc}") from exc
        self._recognizer.SetWords(True)
        self._results = []
        self._block.clear()
        self._pending = False

    def feed(self, samples: Pcm) -> None:
        self._open()
        self._block += samples.astype("<i2", copy=False).tobytes()
        while len(self._block) >= BLOCK_BYTES:
            self._accept(BLOCK_BYTES)

    def _accept(self, size: int) -> None:
        recognizer = self._open()
        data = bytes(self._block[:size])
        del self._block[:size]
        try:
            ended = recognizer.AcceptWaveform(data)
        except Exception as exc:
            raise AsrError("asr.failed", f"Vosk failed: {exc}") from exc
        self._pending = True
        if ended:
            self._results.append(json.loads(recognizer.Result()))

    def partial(self) -> str:
        recognizer = self._open()
        texts = [r.get("text", "") for r in self._results]
        texts.append(json.loads(recognizer.PartialResult()).get("partial", ""))
        return _text(texts)

    def peek(self) -> Hypothesis:
        """Closes the sentence inside Vosk; sound that follows is a sentence of its own."""
        recognizer = self._open()
        if self._block:
            self._accept(len(self._block))
        if self._pending:
            self._results.append(json.loads(recognizer.FinalResult()))
            self._pending = False
        text = _text([r.get("text", "") for r in self._results])
        if not text:
            return EMPTY
        words = [w for r in self._results for w in r.get("result", ()) if w["word"] != UNKNOWN]
        if not words:
            return Hypothesis(text)
        return Hypothesis(text, min(1.0, sum(w["conf"] for w in words) / len(words)))

    def finish(self) -> Hypothesis:
        try:
            return self.peek()
        finally:
            self.cancel()

    def cancel(self) -> None:
        self._recognizer = None
        self._results = []
        self._block.clear()
        self._pending = False

    def close(self) -> None:
        self.cancel()
        self._model = None

    def _open(self) -> Any:
        if self._recognizer is None:
            raise not_started()
        return self._recognizer


def _text(texts: list[str]) -> str:
    return clean(" ".join(texts).replace(UNKNOWN, " "))
