"""From frames to one utterance: voice activity, end of turn and speech recognition.

The recogniser runs in a thread of its own. When the user pauses, what was said so far is
decoded at once: its words tell whether the sentence is finished, and when the pause turns
out to be the end of the turn the transcript is there already.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assistant.asr.base import Hypothesis, Recognizer
from assistant.asr.sentences import Sentences
from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, Frame, Pcm
from assistant.config import Config
from assistant.events import Event, PartialTranscript, SpeechEnded, SpeechStarted
from assistant.intent.base import Intent
from assistant.intent.completeness import Completeness, judge
from assistant.recognition import Recognition
from assistant.vad.base import Vad
from assistant.vad.level import level_db
from assistant.vad.segmenter import Decision, Segmenter
from assistant.wake.phrase import CLOSE_ENOUGH, SURELY, strip_wake

MEMORY_FRAMES = 250
"""Frames kept from before the start of listening: 2.5 s, more than any wake phrase."""

WAKE_SECONDS = 1.4
"""Sound from before the wake word's detection that holds the whole wake phrase."""

WAKE_TAIL_SAMPLES = SAMPLE_RATE // 10
"""Sound from before the detection that is taken when the command comes a little later."""

CONTROL_SECONDS = 1.6
"""A bare "stop" is shorter than this; longer speech is not decoded while we speak."""

BATCH_FRAMES = 10
"""Frames handed to the recogniser at once: 100 ms."""

WARM_UP_FRAMES = 30
"""Frames that the voice activity detector hears before it is believed."""

FOR_EVER_MS = 10**9


@dataclass(frozen=True, slots=True)
class Heard:
    """One utterance.

    last_voiced_t: monotonic time at which its last voiced sample was captured.
    reason: as in SpeechEnded.
    includes_wake: the sound begins with the wake phrase.
    audio: what went to the recogniser, int16 (n,), 16 kHz.
    hypothesis: resolves when the recogniser is done; None without speech.
    """

    last_voiced_t: float
    reason: str
    includes_wake: bool
    audio: Pcm
    hypothesis: Future[Hypothesis] | None

    @property
    def seconds(self) -> float:
        return len(self.audio) / SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class _Peeked:
    """What was said up to a pause; only_wake: nothing but the wake phrase."""

    text: str
    completeness: Completeness
    only_wake: bool


class Thinking(Protocol):
    """What may be begun while the turn may still go on."""

    def begin(self, text: str, cancel: threading.Event) -> None:
        """The turn may end with this text."""

    def drop(self) -> None:
        """It does not."""


class Listener:
    """Hears one utterance after each ``begin``. Called from one thread."""

    def __init__(
        self,
        cfg: Config,
        *,
        vad: Vad,
        recognizer: Recognizer,
        understand: Callable[[str], Intent | None],
        emit: Callable[[Event], None],
        expected: Callable[[], Sentences] | None = None,
    ) -> None:
        """understand: the grammar, to tell a finished sentence from an unfinished one.

        expected: the sentences that are likely, asked before each utterance.
        """
        self.patient = False
        """True when the source can wait: decoding then costs no sound, so it is waited for."""
        self._vad = vad
        self._recognizer = recognizer
        self._understand = understand
        self._emit = emit
        self._use_words = cfg.asr.bias != "off"
        self._expected = expected if cfg.asr.bias == "sentences" else None
        self._segmenter = Segmenter(cfg.turn, cfg.vad)
        self._max_speech = cfg.turn.max_speech_ms * SAMPLE_RATE // 1000
        self._tail = cfg.turn.tail_ms * SAMPLE_RATE // 1000
        self._asr = ThreadPoolExecutor(1, thread_name_prefix="asr")
        self._memory: deque[Frame] = deque(maxlen=MEMORY_FRAMES)
        self._recognition: Recognition | None = None
        self._control: Future[Hypothesis] | None = None
        self._cancel = threading.Event()
        self._deadline: int | None = None
        self._forget()
        self._turn = 0
        self._wake_word = ""
        self._opened = 0
        self._taken_to = 0
        self._no_speech_ms = FOR_EVER_MS
        self._vocabulary: Sequence[str] = ()
        self._thinking: Thinking | None = None

    def _forget(self) -> None:
        self._includes_wake = False
        self._batch: list[Pcm] = []
        self._held: list[Pcm] = []
        self._pausing = False
        self._peek: Future[_Peeked] | None = None
        self._audio: list[Pcm] = []

    @property
    def speaking(self) -> bool:
        """True from the first voiced sample to the end of the turn."""
        return self._segmenter.state in ("onset", "speaking", "pausing")

    def remember(self, frame: Frame) -> None:
        """Takes every frame, listening or not: the start of speech is known only later."""
        self._memory.append(frame)

    def reset(self) -> None:
        """A new source begins, whose positions count from 0 again."""
        self.cancel()
        self._memory.clear()
        self._taken_to = 0
        self._vad.reset()

    # -- a bare "stop" while the assistant speaks or rings -------------------------------

    def begin_control(self) -> None:
        """Listens for short utterances only; its own voice in the microphone is longer."""
        self.cancel()
        self._wake_word = ""
        self._no_speech_ms = FOR_EVER_MS
        self._warm_up()
        self._restart()

    def feed_control(self, frame: Frame) -> Future[Hypothesis] | None:
        """Takes the frame just remembered; the text to come of a short utterance."""
        decision = self._decide(frame)
        if self._audio and len(self._audio) * FRAME_SAMPLES <= CONTROL_SECONDS * SAMPLE_RATE:
            self._audio.append(frame.samples)
        if decision is None:
            return None
        if decision.kind == "started":
            begin = self._segmenter.keep_from
            self._audio = [f.samples for f in self._memory if f.position >= begin]
        elif decision.kind == "paused":
            self._segmenter.hint = "complete"
        elif decision.kind in ("dropped", "ended"):
            audio, self._audio = self._audio, []
            if decision.kind == "ended":
                self._restart()
                if audio and len(audio) * FRAME_SAMPLES <= CONTROL_SECONDS * SAMPLE_RATE:
                    return self._decode_control(np.concatenate(audio))
        return None

    def _decode_control(self, samples: Pcm) -> Future[Hypothesis]:
        """A slow recogniser hears the latest word only; older ones must not pile up."""
        if self._control is not None:
            self._control.cancel()
        self._control = self._asr.submit(self._recognise, samples)
        return self._control

    def _recognise(self, samples: Pcm) -> Hypothesis:
        # What sounds while the assistant speaks is no command, as a rule.
        self._recognizer.expect(None)
        self._recognizer.start()
        self._recognizer.feed(samples)
        return self._recognizer.finish()

    # -- an utterance ------------------------------------------------------------------

    def prepare(self) -> None:
        """Tells the recogniser what is expected, so that the first utterance need not wait."""
        if self._expected is not None:
            self._recognizer.expect(self._expected())

    def begin(
        self,
        turn: int,
        *,
        no_speech_ms: int | None,
        wake_word: str = "",
        vocabulary: Sequence[str] = (),
        cancel: threading.Event | None = None,
        thinking: Thinking | None = None,
    ) -> None:
        """Listens from now on.

        Args:
            no_speech_ms: how long to wait for the first word; None for ever.
            wake_word: set when the wake word has just been heard.
            vocabulary: words and phrases that are likely now.
            cancel: set when nobody wants the words any more, even after their end.
            thinking: told of words that may be all and are no whole command.
        """
        self.cancel()
        self._thinking = thinking
        self._cancel = cancel or threading.Event()
        self._turn = turn
        self._wake_word = wake_word
        self._vocabulary = vocabulary if self._use_words else ()
        self._no_speech_ms = FOR_EVER_MS if no_speech_ms is None else no_speech_ms
        self._warm_up()
        self._restart()
        # Sound that is taken for speech over and over must not keep it listening.
        self._deadline = (
            None
            if no_speech_ms is None
            else self._opened + no_speech_ms * SAMPLE_RATE // 1000 + self._max_speech
        )

    def _restart(self) -> None:
        self._opened = self._now()
        self._segmenter.start(self._opened, self._no_speech_ms)

    def _now(self) -> int:
        return self._memory[-1].position + FRAME_SAMPLES if self._memory else 0

    def _warm_up(self) -> None:
        self._vad.reset()
        for frame in list(self._memory)[-WARM_UP_FRAMES:]:
            self._vad.process(frame.samples)

    def feed(self, frame: Frame) -> Heard | None:
        """Takes the frame just remembered; the utterance when it is over."""
        decision = self._decide(frame)
        if self._recognition is not None:
            self._keep(frame.samples)
        self._take_hint()
        if self._deadline is not None and frame.position >= self._deadline:
            end = frame.position + FRAME_SAMPLES
            return self._end(self._segmenter.finish(end, "too_long"), frame)
        if decision is None:
            return None
        match decision.kind:
            case "started":
                self._start_recognising()
            case "paused":
                self._pause()
            case "resumed":
                self._resume()
            case "dropped":
                self.cancel()
            case "ended":
                return self._end(decision, frame)
        return None

    def end_of_file(self) -> Heard | None:
        """The sound is over; the utterance in progress, if there is one."""
        if not self._memory or self._segmenter.state == "ended":
            return None
        heard = self._end(self._segmenter.finish(self._now()), self._memory[-1])
        return None if heard.reason == "no_speech" else heard

    def cancel(self) -> None:
        """Drops the utterance in progress."""
        if self._recognition is not None:
            self._recognition.drop()
            self._recognition = None
            self._think_no_more()
        self._forget()

    def _think_no_more(self) -> None:
        if self._thinking is not None:
            self._thinking.drop()

    def close(self) -> None:
        """Ends the recogniser's thread and frees the model."""
        self.cancel()
        self._asr.shutdown(wait=True)
        self._recognizer.close()

    def _decide(self, frame: Frame) -> Decision | None:
        probability = self._vad.process(frame.samples)
        return self._segmenter.feed(probability, frame.position, level_db(frame.samples))

    def _start_recognising(self) -> None:
        """Speech has begun: what was remembered of it goes to the recogniser first."""
        begin = self._segmenter.keep_from
        if self._wake_word and self._segmenter.carried:
            begin = self._opened - int(WAKE_SECONDS * SAMPLE_RATE)
            self._includes_wake = True
        elif self._wake_word:
            begin = max(begin, self._opened - WAKE_TAIL_SAMPLES)
        else:
            # Not back into the answer that was played until a moment ago.
            begin = max(begin, self._opened - self._tail)
        begin = max(begin, self._taken_to)
        self._recognition = Recognition(
            self._asr, self._recognizer, list(self._vocabulary), self._cancel, self._expected
        )
        self._emit(SpeechStarted(turn=self._turn))
        for frame in self._memory:
            if frame.position >= begin:
                self._keep(frame.samples)

    def _keep(self, samples: Pcm) -> None:
        if self._pausing:
            self._held.append(samples)
            return
        self._audio.append(samples)
        self._batch.append(samples)
        if len(self._batch) >= BATCH_FRAMES:
            self._send()

    def _send(self) -> None:
        if self._batch and self._recognition is not None:
            self._recognition.feed(np.concatenate(self._batch))
        self._batch = []

    def _pause(self) -> None:
        """Decodes what there is; silence is held back, so that it need not be decoded again."""
        self._send()
        self._pausing = True
        if self._recognition is None:
            return
        word, least = self._wake_word, CLOSE_ENOUGH if self._includes_wake else SURELY
        self._peek = self._recognition.peek(lambda heard: self._judge(heard, word, least))
        if self.patient:
            self._peek.exception()
            self._take_hint()

    def _resume(self) -> None:
        self._pausing = False
        self._peek = None
        self._think_no_more()
        held, self._held = self._held, []
        for samples in held:
            self._keep(samples)

    def _judge(self, heard: Hypothesis, wake_word: str, least: float) -> _Peeked:
        text = strip_wake(heard.text, wake_word, least) if wake_word else heard.text
        return _Peeked(text, judge(text, self._understand), bool(heard.text) and not text)

    def _take_hint(self) -> None:
        """Uses the words decoded in the pause, once they are there."""
        if self._peek is None or not self._peek.done():
            return
        peek, self._peek = self._peek, None
        if peek.exception() is not None:
            return  # the final result tells the same error
        peeked = peek.result()
        if peeked.only_wake or (self._includes_wake and not peeked.text):
            # Only the wake phrase so far: the command is still to come.
            self.cancel()
            self._restart()
            return
        self._emit(PartialTranscript(turn=self._turn, text=peeked.text))
        self._segmenter.hint = peeked.completeness
        if self._thinking is not None and peeked.completeness in ("unknown", "long"):
            self._thinking.begin(peeked.text, self._cancel)

    def _end(self, decision: Decision, frame: Frame) -> Heard:
        last_voiced = self._segmenter.last_voiced
        late = 0 if last_voiced is None else frame.position + FRAME_SAMPLES - last_voiced
        heard_t = frame.t - late / SAMPLE_RATE
        hypothesis: Future[Hypothesis] | None = None
        if self._recognition is not None:
            if not self._pausing:
                self._send()
            hypothesis = self._recognition.finish()
            self._recognition = None
        audio = np.concatenate(self._audio) if self._audio else np.zeros(0, np.int16)
        heard = Heard(heard_t, decision.reason, self._includes_wake, audio, hypothesis)
        self._taken_to = frame.position + FRAME_SAMPLES
        self._emit(SpeechEnded(turn=self._turn, last_voiced_t=heard_t, reason=decision.reason))
        self._forget()
        return heard
