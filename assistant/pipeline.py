"""The course of a conversation: idle -> listening -> thinking -> speaking -> idle.

One thread (``run``) reads the microphone and alone changes the state. A second one
recognises, acts and speaks, one task after the other. What the second has to say about
the state comes back through an inbox, so that no state is shared.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from assistant.asr.base import Hypothesis
from assistant.audio.base import SAMPLE_RATE, AudioSource, Frame
from assistant.config import Config
from assistant.dialogue.manager import Answer, Manager
from assistant.errors import AssistantError, DeviceError
from assistant.events import (
    Event,
    EventBus,
    MicrophoneClosed,
    MicrophoneOpened,
    Recovered,
    RingEnded,
    RingStarted,
    StateChanged,
    Transcript,
    Trouble,
    TurnEnded,
    WakeDetected,
)
from assistant.listening import Heard, Listener
from assistant.ringing import Ringer
from assistant.speaking import Speaker, built_in
from assistant.tts.base import Speech
from assistant.wake.base import Wake, WakeDetector
from assistant.wake.phrase import sounds_like_wake, strip_wake
from assistant.worker import Worker

log = logging.getLogger(__name__)

READ_TIMEOUT = 0.25
"""Seconds; how long the main loop waits for a frame before it looks after other things."""

STUCK_SECONDS = 120.0
"""A task that shows no sign of life for so long is stuck; the watchdog then restarts us."""


LISTEN_AGAIN = "listen_again"
"""Only the wake phrase was heard: the command is still to come."""


@dataclass(slots=True)
class Turn:
    """The turn in progress; only the main loop touches it."""

    number: int
    cancel: threading.Event
    wake_word: str = ""


class Pipeline:
    """Owns the state, the two threads and the parts of one assistant."""

    def __init__(
        self,
        cfg: Config,
        *,
        source: AudioSource,
        wake: WakeDetector | None,
        listener: Listener,
        speaker: Speaker,
        manager: Manager,
        ringer: Ringer,
        bus: EventBus,
        record: Callable[[int, Speech], None] | None = None,
        keep_audio: Callable[[int, Heard], None] | None = None,
    ) -> None:
        """record: receives the sound of each answer; keep_audio: the utterance itself."""
        self.cfg = cfg
        self.source = source
        self.wake = wake
        self.listener = listener
        self.speaker = speaker
        self.manager = manager
        self.ringer = ringer
        self.bus = bus
        self.state = "stopped"
        self._record = record
        self._keep_audio = keep_audio
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._worker = Worker("turn")
        self._turn = Turn(0, threading.Event())
        self._turns = 0
        self._open_at: int | None = None
        self._open_reason = "followup"
        self._position = 0
        self._saying = ""
        self._muted_troubles: set[str] = set()
        self._next_housekeeping = 0.0

    # -- the main loop ---------------------------------------------------------------

    def run(self, stop: threading.Event, heartbeat: Callable[[], None] = lambda: None) -> None:
        """Listens until ``stop`` is set or the source ends.

        ``heartbeat`` is called while all is well, several times a second.
        Raises DeviceError when neither microphone nor speaker can be opened.
        """
        self._start_devices()
        self.listener.reset()
        self.listener.patient = not self.source.paced
        self._worker.start()
        try:
            self._set_state("idle")
            self._announce(" ".join(self.manager.notices()))
            if self.wake is None:
                self._listen("always")
            while not stop.is_set():
                if self._worker.idle_or_alive(STUCK_SECONDS):
                    heartbeat()
                if not self._step():
                    break
            self._finish(stop)
        finally:
            self._turn.cancel.set()
            self.ringer.silence()
            self.speaker.sink.flush()
            self._worker.stop()
            self.listener.cancel()
            self.source.stop()
            self.speaker.sink.stop()
            self._set_state("stopped")

    def _step(self) -> bool:
        """One frame and what came in meanwhile; False at the end of the source."""
        self._run_inbox()
        self._housekeeping()
        try:
            frame = self.source.read(READ_TIMEOUT)
        except EOFError:
            return False
        if frame is not None:
            self._position = frame.position
            self._on_frame(frame)
            if not self.source.paced:
                self._wait_for_worker()
        return True

    def _finish(self, stop: threading.Event) -> None:
        """The source has ended: the utterance in progress is still answered."""
        if stop.is_set():
            return
        self.ringer.silence()
        if self.state == "listening":
            heard = self.listener.end_of_file()
            if heard is not None:
                self._end_listening(heard)
            else:
                self._close_microphone()
                self._set_state("idle")
        while self._worker.busy and not stop.is_set():
            self._run_inbox(wait=0.05)
        self._run_inbox()

    def _wait_for_worker(self) -> None:
        """A reader that sets the pace waits, so that a file is heard to its end."""
        while self._worker.busy and not self.ringer.ringing:
            self._run_inbox(wait=0.02)

    def _run_inbox(self, wait: float = 0.0) -> None:
        timeout = wait
        while True:
            try:
                task = self._inbox.get(block=timeout > 0, timeout=timeout or None)
            except queue.Empty:
                return
            timeout = 0.0
            task()

    def _housekeeping(self) -> None:
        now = time.monotonic()
        if now < self._next_housekeeping:
            return
        self._next_housekeeping = now + READ_TIMEOUT
        self.speaker.sink.volume, self.speaker.sink.muted = self.manager.volume()
        if self.ringer.ringing:
            self.ringer.check()
        elif self._quiet() and self.ringer.due():
            self._start_ring()

    def _quiet(self) -> bool:
        """Nothing is going on that a ring would disturb."""
        if self._worker.busy:
            return False
        return self.state == "idle" or (self.state == "listening" and not self.listener.speaking)

    # -- devices ---------------------------------------------------------------------

    def _start_devices(self) -> None:
        for device in (self.source, self.speaker.sink):
            device.on_trouble = device.on_trouble or self._on_trouble
            device.on_recovered = device.on_recovered or self._on_recovered
        absent: DeviceError | None = None
        for device in (self.speaker.sink, self.source):
            try:
                device.start()
            except DeviceError as error:
                if absent is not None:
                    raise
                absent = error
                device.wait = True
                device.start()

    def _on_trouble(self, code: str, message: str, hint: str) -> None:
        """Called from a device's thread."""

        def note() -> None:
            self.bus.emit(Trouble(code=code, message=message, hint=hint))
            if code not in self._muted_troubles:
                self._muted_troubles.add(code)
                self._announce("I can't hear anything. Please check the microphone.")

        self._inbox.put(note)

    def _on_recovered(self, code: str, message: str) -> None:
        def note() -> None:
            self._muted_troubles.discard(code)
            self.bus.emit(Recovered(code=code, message=message))
            self.speaker.play(built_in("end"))

        self._inbox.put(note)

    # -- frames ----------------------------------------------------------------------

    def _on_frame(self, frame: Frame) -> None:
        self.listener.remember(frame)
        if self.wake is not None:
            hit = self.wake.process(frame.samples)
            if hit is not None and self._may_wake(hit):
                self._on_wake(hit)
                return
        if self.state == "listening":
            heard = self.listener.feed(frame)
            if heard is not None:
                self._end_listening(heard)
        elif self._open_at is not None and frame.position >= self._open_at:
            self._open_at = None
            self._listen(self._open_reason)
        elif self.state in ("speaking", "ringing") and self.cfg.turn.stop_word:
            words = self.listener.feed_control(frame)
            if words is not None:
                self._check_control(words)

    def _may_wake(self, hit: Wake) -> bool:
        if self.state in ("thinking", "speaking"):
            return self.cfg.turn.barge_in and not sounds_like_wake(self._saying, hit.word)
        return True

    def _on_wake(self, hit: Wake) -> None:
        if self.state == "ringing":
            self.ringer.stop_all()
        self._interrupt()
        self._turns += 1
        self._turn = Turn(self._turns, threading.Event(), wake_word=hit.word)
        self.bus.emit(WakeDetected(turn=self._turns, word=hit.word, score=hit.score))
        if self.cfg.wake.chime:
            self.speaker.play(built_in("wake"))
        self._listen("wake")

    def _interrupt(self) -> None:
        """Ends whatever is being said or thought; nothing of it is heard afterwards."""
        self._turn.cancel.set()
        self._open_at = None
        if self.state == "listening":
            self.listener.cancel()
            self._close_microphone()
        self.speaker.sink.flush()

    # -- listening -------------------------------------------------------------------

    def _listen(self, reason: str) -> None:
        if reason != "wake":
            self._turn = Turn(self._turns + 1, threading.Event())
        turn = self._turn
        self.listener.begin(
            turn.number,
            no_speech_ms=self._patience(reason),
            wake_word=turn.wake_word,
            vocabulary=self.manager.vocabulary(),
        )
        self.bus.emit(MicrophoneOpened(turn=turn.number, reason=reason))
        self._open_reason = reason
        self._set_state("listening")

    def _patience(self, reason: str) -> int | None:
        """Milliseconds of silence after which it gives up listening; None never."""
        if reason == "always":
            return None
        return self.cfg.turn.followup_ms if reason == "followup" else self.cfg.turn.no_speech_ms

    def _close_microphone(self) -> None:
        self.bus.emit(MicrophoneClosed(turn=self._turn.number))

    def _end_listening(self, heard: Heard) -> None:
        self._close_microphone()
        turn = self._turn
        if heard.hypothesis is None:
            if self._open_reason in ("wake", "question"):
                self.speaker.play(built_in("end"))
            if turn.wake_word:
                self.bus.emit(TurnEnded(turn=turn.number, outcome="not_heard"))
            self._rest()
            return
        self._turns = max(self._turns, turn.number)
        self._set_state("thinking")
        reason = self._open_reason
        self._worker.submit(lambda: self._take_turn(turn, heard, reason))

    def _rest(self) -> None:
        """Back to waiting for the wake word, or for speech where there is none."""
        self._set_state("idle")
        if self.wake is None:
            self._listen("always")

    # -- the turn itself, on the worker ----------------------------------------------

    def _take_turn(self, turn: Turn, heard: Heard, reason: str) -> None:
        outcome, question = "failed", False
        try:
            assert heard.hypothesis is not None
            hypothesis = heard.hypothesis.result()
            text = hypothesis.text
            if reason == "always":
                text = self._without_wake(text)
            elif heard.includes_wake:
                text = strip_wake(text, turn.wake_word)
                if not text and not turn.cancel.is_set():
                    outcome = LISTEN_AGAIN
                    return
            if self._keep_audio is not None:
                self._keep_audio(turn.number, heard)
            if turn.cancel.is_set():
                return
            self._emit(Transcript(turn=turn.number, text=text, confidence=hypothesis.confidence))
            if self._nothing_said(text, hypothesis, reason):
                outcome = "not_heard"
                return
            answer = self.manager.respond(text, turn=turn.number, cancel=turn.cancel)
            question = answer.question
            outcome = self._speak_answer(turn, answer)
        except AssistantError as error:
            log.warning("turn %d failed: %s", turn.number, error)
            self._emit(
                Trouble(turn=turn.number, code=error.code, message=error.message, hint=error.hint)
            )
            self._apologise(turn, "Sorry, something went wrong.")
        except Exception:
            log.exception("turn %d failed", turn.number)
            self._emit(Trouble(turn=turn.number, code="turn.failed", message="The turn failed."))
            self._apologise(turn, "Sorry, something went wrong.")
        finally:
            self._inbox.put(lambda: self._turn_done(turn, outcome, question))

    def _without_wake(self, text: str) -> str:
        """Where no wake word is needed, people say it all the same."""
        for word in self.cfg.wake.words:
            text = strip_wake(text, word)
        return text

    def _nothing_said(self, text: str, hypothesis: Hypothesis, reason: str) -> bool:
        """Noise in an open follow-up window is nobody's question and gets no answer."""
        if reason not in ("followup", "always"):
            return False
        return not self.manager.meaningful(text)

    def _speak_answer(self, turn: Turn, answer: Answer) -> str:
        if answer.stop:
            self._inbox.put(self.ringer.stop_all)
        said = self._say(turn, answer)
        self.manager.said(said)
        notices = self.manager.notices() if not turn.cancel.is_set() else []
        if notices:
            self.speaker.say(notices, cancel=turn.cancel, turn=turn.number)
        return "stopped" if answer.stop else answer.outcome

    def _say(self, turn: Turn, answer: Answer) -> str:
        self._enter_speaking(turn, answer.known_text)
        record = None
        if self._record is not None:
            keep = self._record

            def record(speech: Speech) -> None:
                keep(turn.number, speech)

        said = self.speaker.say(answer.pieces, cancel=turn.cancel, turn=turn.number, record=record)
        return said.text

    def _enter_speaking(self, turn: Turn, known_text: str) -> None:
        def enter() -> None:
            if self._turn is turn and not turn.cancel.is_set():
                self._saying = known_text
                self.listener.begin_control()
                self._set_state("speaking")

        self._inbox.put(enter)

    def _apologise(self, turn: Turn, text: str) -> None:
        if not turn.cancel.is_set():
            self.speaker.say([text], cancel=turn.cancel, turn=turn.number)

    def _turn_done(self, turn: Turn, outcome: str, question: bool) -> None:
        """On the main loop: what happens after an answer."""
        if outcome == LISTEN_AGAIN:
            if self._turn is turn:
                self._listen("wake")
            return
        if turn.cancel.is_set() and outcome == "answered":
            outcome = "stopped"
        self.bus.emit(TurnEnded(turn=turn.number, outcome=outcome))
        if self._turn is not turn or turn.cancel.is_set():
            if self._turn is turn:
                self._rest()
            return
        self._saying = ""
        followup = self.cfg.turn.followup_ms > 0 and outcome == "answered"
        if self.wake is not None and (question or followup):
            self._open_reason = "question" if question else "followup"
            self._open_at = self._position + self.cfg.turn.tail_ms * SAMPLE_RATE // 1000
            self._set_state("idle")
        elif self.wake is None:
            self._open_reason = "always"
            self._open_at = self._position + self.cfg.turn.tail_ms * SAMPLE_RATE // 1000
        else:
            self._rest()

    # -- a bare "stop" while it speaks or rings ----------------------------------------

    def _check_control(self, words: Future[Hypothesis]) -> None:
        turn = self._turn

        def act() -> None:
            if self._turn is not turn or self.state not in ("speaking", "ringing"):
                return
            if words.exception() is None and self._asks_to_stop(words.result().text):
                self.stop_all()

        words.add_done_callback(lambda _: self._inbox.put(act))

    def _asks_to_stop(self, text: str) -> bool:
        """Its own voice may say "stop" too, and comes back through the microphone."""
        return self.manager.is_stop(text) and not self.manager.is_stop(self._saying)

    def stop_all(self) -> None:
        """Ends speech and ringing; on the main loop."""
        if self.state == "ringing":
            self.ringer.stop_all()
        self._interrupt()
        if not self._worker.busy:
            self._rest()

    # -- rings and announcements -------------------------------------------------------

    def _start_ring(self) -> None:
        if self.state == "listening":
            self.listener.cancel()
            self._close_microphone()
        self._open_at = None
        turn = Turn(self._turns + 1, threading.Event())
        self._turn = turn
        name = self.ringer.begin()
        self._saying = name
        self.bus.emit(RingStarted(name=name))
        self.listener.begin_control()
        self._set_state("ringing")
        self._worker.submit(lambda: self._ring(turn))

    def _ring(self, turn: Turn) -> None:
        reason = "stopped"
        try:
            reason = self.ringer.run(self.speaker, turn.cancel)
        except Exception:
            log.exception("ringing failed")
        finally:
            self._inbox.put(lambda: self._ring_done(turn, reason))

    def _ring_done(self, turn: Turn, reason: str) -> None:
        self.bus.emit(RingEnded(reason=reason))
        if self._turn is turn:
            self._saying = ""
            self._rest()

    def _announce(self, text: str) -> None:
        """Says something that nobody asked for, after what is being said now."""
        if not text:
            return
        turn = Turn(0, threading.Event())

        def speak() -> None:
            try:
                self.speaker.say([text], cancel=turn.cancel)
            except AssistantError as error:
                self._emit(Trouble(code=error.code, message=error.message, hint=error.hint))

        self._worker.submit(speak)

    # -- small things ------------------------------------------------------------------

    def _emit(self, event: Event) -> None:
        self.bus.emit(event)

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.bus.emit(StateChanged(turn=self._turn.number, state=state))
