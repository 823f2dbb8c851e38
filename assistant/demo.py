"""``assistant demo``: it speaks questions into its own microphone path and answers them."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.assembly import Assembly
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.audio.resample import Resampler
from assistant.audio.wav_sink import write_wav
from assistant.config import Config
from assistant.hear import hear
from assistant.report import Record, blank

LEVEL = 0.35
"""Amplitude of the question in the microphone, about what a person a metre away gives."""

HISS = 12.0
"""Standard deviation of the microphone's noise in 16-bit steps: no room is digitally silent."""


@dataclass(frozen=True, slots=True)
class Question:
    """text: what is asked after the wake word; intent: what must be understood."""

    text: str
    intent: str


QUESTIONS = (
    Question("What time is it?", "clock.time"),
    Question("Set a timer for ten minutes.", "timer.set"),
    Question("Tell me something nice about cats.", "dialogue.talk"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what came of it; right: heard and understood as meant."""

    question: Question
    record: Record
    right: bool


def demo(
    cfg: Config,
    *,
    out: Path,
    realtime: bool,
    done: Callable[[Asked], None],
    stop: threading.Event,
) -> bool:
    """Asks each question by voice; True when all were understood and answered.

    The state is a throw-away one, so that the timer does not ring afterwards. The
    answers are left in ``out`` as ``demo-answer-N.wav``. Raises ModelError, PackageError,
    LlmError where the assistant would do without its language model.
    """
    out.mkdir(parents=True, exist_ok=True)
    word = cfg.wake.words[0] if cfg.wake.words else "hey_jarvis"
    right = True
    with tempfile.TemporaryDirectory(prefix="assistant-demo-") as folder:
        quiet = cfg.model_copy(
            update={"service": cfg.service.model_copy(update={"state_dir": folder})}
        )
        assembly = Assembly(quiet)
        try:
            assembly.load()
            if assembly.manager.talk_error is not None:
                raise assembly.manager.talk_error
            for number, question in enumerate(QUESTIONS, start=1):
                if stop.is_set():
                    break
                sound = Path(folder) / f"question-{number}.wav"
                write_wav(sound, speak(assembly, word, question.text), SAMPLE_RATE)
                asked = _ask(assembly, question, sound, number, out, realtime, stop)
                if stop.is_set():
                    break
                right = right and asked.right
                done(asked)
        finally:
            assembly.close()
    return right


def speak(assembly: Assembly, wake_word: str, text: str) -> Pcm:
    """The wake word and the question, spoken by the assistant's own voice at 16 kHz."""
    phrase = wake_word.replace("_", " ").title()
    rng = np.random.default_rng(1)
    parts: list[NDArray[np.float32]] = [np.zeros(SAMPLE_RATE // 2, np.float32)]
    for words, pause in ((f"{phrase}.", 0.25), (text, 0.6)):
        for speech in assembly.voice().synthesize(words):
            resampler = Resampler(speech.rate, SAMPLE_RATE)
            sound = speech.samples.astype(np.float32)
            spoken = np.concatenate([resampler.process(sound), resampler.flush()])
            loudest = max(1.0, float(np.abs(spoken).max()))
            parts.append((spoken * (LEVEL * 32767 / loudest)).astype(np.float32))
        parts.append(np.zeros(int(SAMPLE_RATE * pause), np.float32))
    sound = np.concatenate(parts)
    sound += rng.normal(0.0, HISS, len(sound)).astype(np.float32)
    return np.clip(sound, -32768, 32767).astype(np.int16)


def _ask(
    assembly: Assembly,
    question: Question,
    sound: Path,
    number: int,
    out: Path,
    realtime: bool,
    stop: threading.Event,
) -> Asked:
    records: list[Record] = []
    hear(
        assembly,
        [sound],
        use_wake=True,
        realtime=realtime,
        channel=0,
        audio_dir=out,
        done=records.append,
        stop=stop,
    )
    if not records:
        return Asked(question, blank(str(sound)), False)
    record = records[0]
    if record["audio_out"]:
        target = out / f"demo-answer-{number}.wav"
        Path(record["audio_out"]).replace(target)
        record["audio_out"] = str(target)
    right = (
        alike(record["transcript"], question.text) >= 0.8
        and record["intent"] == question.intent
        and bool(record["reply"])
        and record["audio_out"] is not None
    )
    return Asked(question, record, right)


def alike(heard: str, said: str) -> float:
    """Similarity of two sentences by their words, 0 to 1."""

    def words(text: str) -> list[str]:
        return re.findall(r"[a-z0-9']+", text.lower())

    return SequenceMatcher(None, words(heard), words(said), autojunk=False).ratio()
