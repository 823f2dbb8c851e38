"""Piper: neural voices in ONNX files with espeak-ng phonemes.

piper-tts is under the GPL-3.0. It is imported here only, when a voice is loaded, so the
rest works without it and another backend can take its place.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import ModelError, PackageError, TtsError
from assistant.tts.base import Speech, Voice
from assistant.tts.pauses import ELLIPSIS_MS, silence
from assistant.tts.sentences import LAST_LIMIT, SentenceSplitter

PEAK = 0.708
"""Highest sample of all that is spoken: -3 dBFS."""

LEAD_MS = 15
TRAIL_MS = 60
"""Silence left before and after a sentence; voices bring 50 and 200 to 330 ms of their own."""

_QUIET = 0.005
"""Below this share of the voice's peak (-46 dB) it is silence."""

_FADE_MS = 5
_WINDOW_MS = 10
_TRIAL = "The timer is set."
_TRIALS = 3
"""A voice says the same sentence each time a little differently."""

_INPUTS = {"input", "input_lengths", "scales"}

_OTHER_SCRIPTS = frozenset(
    "am ar as be bg bn bpy chr cmn el fa gu grc he hi hy hyw ja ka kk kn ko kok ky mk ml mr my ne "
    "or pa ru sd shn si sr ta te th tt ug uk ur yue zh".split()
)
"""espeak languages that are not written in Latin letters."""

_LONE_A = re.compile(r"(?<=[a-z] )A(?=[ ,.;:!?]|$)|\bA(?= [A-Z]\b)")
_ELLIPSIS = re.compile(r"…+")


class PiperVoice(Voice):
    """One voice file; safe to use from several threads.

    Args:
        model: path of the .onnx file; its settings lie beside it in .onnx.json.
        threads: threads for one sentence.
        sentence_pause_ms: silence between two sentences of one text.
    """

    def __init__(self, model: Path, *, threads: int = 2, sentence_pause_ms: int = 250) -> None:
        self._model = model
        self._threads = threads
        self._pause_ms = sentence_pause_ms
        self._voice: Any = None
        self._rate = 0
        self._gain = 1.0
        self._latin_only = False
        self._running: list[Any] = []
        self._lock = threading.Lock()

    def load(self) -> None:
        """Loads the voice and says a trial sentence, which also sets the level.

        Raises ModelError, PackageError.
        """
        try:
            import onnxruntime
            from piper.config import PhonemeType, PiperConfig
            from piper.voice import PiperVoice as Backend
        except ImportError as exc:
            raise PackageError(
                "tts.no_piper",
                f"The voice needs the package {exc.name}, which is not installed.",
                "Install piper-tts and onnxruntime, or set tts.backend to none.",
            ) from exc
        settings = self._settings()
        try:
            config = PiperConfig.from_dict(settings)
            usable = config.phoneme_type in (PhonemeType.ESPEAK, PhonemeType.TEXT)
            rate = int(config.sample_rate)
            language = str(config.espeak_voice).partition("-")[0]
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise self._wrong_settings("is not the settings file of a Piper voice") from exc
        if not usable or not 8000 <= rate <= 48_000 or not config.phoneme_id_map:
            raise self._wrong_settings("describes a voice that is not supported")
        self._voice = Backend(session=self._session(onnxruntime), config=config)
        self._rate = rate
        self._latin_only = language not in _OTHER_SCRIPTS
        self._set_level(onnxruntime)

    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        """Speaks the sentences of ``text``, one Speech each, with the pauses between them.

        The level is that of the voice, the same for every sentence. Raises TtsError.
        """
        if self._voice is None:
            raise TtsError("tts.not_loaded", "The voice is not loaded.")
        return self._pieces(self._sayable(text), speed)

    def interrupt(self) -> None:
        """Ends every running ``synthesize``, also in the middle of a sentence."""
        with self._lock:
            for options in self._running:
                options.terminate = True

    def close(self) -> None:
        self.interrupt()
        self._voice = None

    # Loading

    def _settings(self) -> dict[str, Any]:
        if not self._model.is_file():
            raise ModelError(
                "tts.no_voice",
                f"The voice {self._model} does not exist.",
                "Run `assistant models fetch`, or set tts.voice to a .onnx file.",
            )
        path = self._settings_path()
        if not path.is_file():
            raise ModelError(
                "tts.no_voice_settings",
                f"The voice's settings file {path} does not exist.",
                "A Piper voice is two files, .onnx and .onnx.json, in one folder.",
            )
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            raise self._wrong_settings("cannot be read as JSON") from exc
        if not isinstance(settings, dict):
            raise self._wrong_settings("is not the settings file of a Piper voice")
        return settings

    def _settings_path(self) -> Path:
        return self._model.with_name(self._model.name + ".json")

    def _wrong_settings(self, what: str) -> ModelError:
        return ModelError(
            "tts.bad_voice_settings",
            f"{self._settings_path()} {what}.",
            "Run `assistant models verify`, then `assistant models fetch`.",
        )

    def _wrong_model(self, what: str) -> ModelError:
        return ModelError(
            "tts.bad_voice",
            f"{self._model} {what}.",
            "Run `assistant models verify`, then `assistant models fetch`.",
        )

    def _session(self, onnxruntime: Any) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # A spinning thread takes the core from the recogniser and the language model.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as exc:  # onnxruntime has a class of its own for every status
            raise self._wrong_model("is damaged or no ONNX model") from exc
        names = {i.name for i in session.get_inputs()}
        if not _INPUTS <= names <= _INPUTS | {"sid"}:
            raise self._wrong_model("is an ONNX model, but no Piper voice")
        return session

    def _set_level(self, onnxruntime: Any) -> None:
        """One gain for the voice: a gain per sentence would make short answers shout."""
        try:
            ids = self._voice.phonemes_to_ids(self._voice.phonemize(_TRIAL)[0])
            options = onnxruntime.RunOptions()
            peaks = [np.abs(self._infer(ids, 1.0, options)).max() for _ in range(_TRIALS)]
        except Exception as exc:  # as in _session
            raise self._wrong_model("does not work as a Piper voice") from exc
        peak = float(np.median(peaks))
        if not np.isfinite(peak) or peak < 1e-4:
            raise self._wrong_model("gives no sound")
        self._gain = PEAK / peak

    # Speaking

    def _sayable(self, text: str) -> str:
        """Characters that the phonemizer can read; "" when no letter or digit is left."""
        kept = "".join(c if self._can_say(c) else " " for c in unicodedata.normalize("NFC", text))
        if not any(c.isalnum() for c in kept):
            return ""
        # espeak reads a lone A as the article.
        return _LONE_A.sub("[[ˈeɪ]]", " ".join(kept.split()))

    def _can_say(self, char: str) -> bool:
        if char.isascii():
            return char.isprintable() and char not in "[]"
        category = unicodedata.category(char)
        if category[0] == "C" or category in ("So", "Sk"):
            return False
        if category[0] != "L" or not self._latin_only:
            return True
        # Letters of other scripts would be read as "Chinese letter" one by one.
        return unicodedata.name(char, "").startswith(("LATIN", "GREEK"))

    def _pieces(self, text: str, speed: float) -> Iterator[Speech]:
        options = self._run_options()
        try:
            voice = self._voice
            sentences = [
                (phonemes, last)
                for part in _parts(text)
                for phonemes, last in _mark_last(voice.phonemize(part))
                if phonemes
            ]
            for i, (phonemes, last) in enumerate(sentences):
                samples = self._say(voice.phonemes_to_ids(phonemes), speed, options)
                if samples is None:
                    return
                if i + 1 < len(sentences):
                    pause = max(ELLIPSIS_MS, self._pause_ms) if last else self._pause_ms
                    samples = np.concatenate([samples, silence(pause, self._rate).samples])
                yield Speech(samples, self._rate)
        finally:
            with self._lock:
                self._running.remove(options)

    def _run_options(self) -> Any:
        import onnxruntime

        options = onnxruntime.RunOptions()
        with self._lock:
            self._running.append(options)
        return options

    def _say(self, ids: list[int], speed: float, options: Any) -> NDArray[np.int16] | None:
        """One sentence, int16, shape (n,); None when it was interrupted."""
        if options.terminate:
            return None
        try:
            audio = self._infer(ids, speed, options)
        except Exception as exc:  # as in _session
            if options.terminate:
                return None
            raise TtsError("tts.failed", "The voice could not say a sentence.") from exc
        return self._leveled(audio)

    def _infer(self, ids: list[int], speed: float, options: Any) -> NDArray[np.float32]:
        """Samples as the network gives them, float32, shape (n,), about -1 to 1."""
        config = self._voice.config
        scales = [config.noise_scale, config.length_scale / speed, config.noise_w_scale]
        inputs = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array(scales, np.float32),
        }
        if config.num_speakers > 1:
            inputs["sid"] = np.array([config.default_speaker_id], np.int64)
        result = self._voice.session.run(None, inputs, options)[0]
        return np.asarray(result, np.float32).reshape(-1)

    def _leveled(self, audio: NDArray[np.float32]) -> NDArray[np.int16]:
        audio = audio * self._gain
        peak = float(np.abs(audio).max(initial=0.0))
        if peak > PEAK:
            audio *= PEAK / peak
        audio = _trimmed(audio, self._rate)
        return np.asarray(np.rint(audio * 32767.0), np.int16)


def _parts(text: str) -> Iterator[str]:
    """The text between ellipses; what is longer than any chunk in pieces."""
    for part in _ELLIPSIS.split(text):
        if len(part) <= 2 * LAST_LIMIT:
            if part.strip():
                yield part.strip()
            continue
        splitter = SentenceSplitter()
        for sentence in splitter.feed(part) + splitter.finish():
            yield sentence.text


def _mark_last(sentences: list[list[str]]) -> Iterator[tuple[list[str], bool]]:
    for i, phonemes in enumerate(sentences):
        yield phonemes, i + 1 == len(sentences)


def _trimmed(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Without the silence at both ends, but for LEAD_MS and TRAIL_MS."""
    window = rate * _WINDOW_MS // 1000
    count = len(audio) // window
    if not count:
        return audio
    loud = np.abs(audio[: count * window]).reshape(count, window).max(axis=1) > _QUIET * PEAK
    where = np.flatnonzero(loud)
    if not len(where):
        return audio[:0]
    start = max(0, where[0] * window - rate * LEAD_MS // 1000)
    end = min(len(audio), (where[-1] + 1) * window + rate * TRAIL_MS // 1000)
    cut = audio[start:end].copy()
    fade = min(len(cut), rate * _FADE_MS // 1000)
    cut[len(cut) - fade :] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return cut
