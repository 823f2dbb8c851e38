"""The course of a conversation: idle -> listening -> thinking -> speaking -> idle.

One thread (``run``) reads the microphone and alone changes the state. A second one
recognises, acts and speaks, one task after the other. What the second has to say about
the state comes back through an inbox, so that no state is shared.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from assistant.ahead import Ahead
from assistant.announcements import Announcements
from assistant.answering import LISTEN_AGAIN, Answering, Done, Turn
from assistant.asr.base import Hypothesis
from assistant.audio.base import SAMPLE_RATE, AudioSource, Frame
from assistant.config import Config
from assistant.devices import Devices
from assistant.dialogue.manager import Manager
from assistant.errors import AssistantError, StateError
from assistant.events import (
    EventBus,
    MicrophoneClosed,
    MicrophoneOpened,
    Recovered,
    RingEnded,
    RingStarted,
    StateChanged,
    Trouble,
    TurnEnded,
    WakeDetected,
)
from assistant.inbox import Inbox
from assistant.listening import Heard, Listener
from assistant.overload import Overload
from assistant.own_words import beyond
from assistant.ringing import Ringer
from assistant.speaking import Speaker, built_in
from assistant.tts.base import Speech
from assistant.wake.base import Wake, WakeDetector
from assistant.wake.phrase import sounds_like_wake
from assistant.worker import Worker

log = logging.getLogger(__name__)

READ_TIMEOUT = 0.25
"""Seconds; how long the main loop waits for a frame before it looks after other things."""

STUCK_SECONDS = 120.0
"""A task that shows no sign of life for so long is stuck; the watchdog then restarts us."""

ECHO_SECONDS = 1.0
"""How long after an answer the wake word detector may still be busy with its last words."""


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
        self._inbox = Inbox()
        self._announcements = Announcements()
        self._worker = Worker("turn")
        speaker.alive = self._worker.touch
        self._devices = Devices(
            source,
            speaker.sink,
            inbox=self._inbox,
            announcements=self._announcements,
            emit=bus.emit,
            on_deaf=self._deaf,
            on_recovered=self._chime_later,
        )
        self._ahead = Ahead(manager, speaker) if cfg.turn.think_ahead else None
        self._answering = Answering(
            cfg,
            manager=manager,
            speaker=speaker,
            emit=bus.emit,
            record=record,
            keep_audio=keep_audio,
            ahead=self._ahead,
        )
        self._turn = Turn(0, threading.Event())
        self._turns = 0
        self._open_at: tuple[int, float] | None = None
        """Position and monotonic time from which the microphone is open for an answer."""
        self._open_reason = "followup"
        self._position = 0
        self._echo_until = 0
        self._ended = False
        """The source has come to its end."""
        self._overload = Overload()
        self._state_failed = False
        self._stop = threading.Event()
        self._heartbeat: Callable[[], None] = lambda: None
        self._next_housekeeping = 0.0

    # -- the main loop ---------------------------------------------------------------

    def run(self, stop: threading.Event, heartbeat: Callable[[], None] = lambda: None) -> None:
        """Listens until ``stop`` is set or the source ends.

        ``heartbeat`` is called while all is well, several times a second.
        Raises DeviceError when neither microphone nor speaker can be opened.
        """
        self._stop, self._heartbeat = stop, heartbeat
        self._devices.start()
        self.listener.reset()
        self.listener.patient = not self.source.paced
        self._worker.start()
        try:
            self._set_state("idle")
            self._announcements.add(" ".join(self.manager.notices()))
            self._rest()
            while not stop.is_set():
                self._show_life()
                if not self._step():
                    break
            self._finish()
        finally:
            self.ringer.silence()
            self.speaker.interrupt(self._turn.cancel)
            self._worker.stop()
            self.listener.cancel()
            if self._ahead is not None:
                self._ahead.close()
            self._devices.stop()
            self._set_state("stopped")

    def _show_life(self) -> None:
        if self._worker.idle_or_alive(STUCK_SECONDS):
            self._heartbeat()

    def _step(self) -> bool:
        """One frame and what came in meanwhile; False at the end of the source."""
        self._inbox.run(self._tended)
        self._tended(self._housekeeping)
        try:
            frame = self.source.read(READ_TIMEOUT)
        except EOFError:
            return False
        if frame is not None:
            self._position = frame.position
            self._tended(lambda: self._on_frame(frame))
            if not self.source.paced:
                self._wait_for_worker()
        return True

    def _tended(self, task: Callable[[], None]) -> None:
        """Does it; a state file that cannot be used must not make the assistant deaf."""
        try:
            task()
        except StateError as error:
            if not self._state_failed:
                self._state_failed = True
                self.bus.emit(Trouble(code=error.code, message=error.message, hint=error.hint))

    def _finish(self) -> None:
        """The source has ended: the utterance in progress is still answered."""
        if self._stop.is_set():
            return
        self._ended = True
        self.ringer.silence()
        if self.state == "listening":
            heard = self.listener.end_of_file()
            if heard is not None:
                self._end_listening(heard)
            else:
                self._abandon("not_heard")
        while self._worker.busy and not self._stop.is_set():
            self._show_life()
            self._inbox.run(self._tended, wait=0.05)
        self._inbox.run(self._tended)

    def _wait_for_worker(self) -> None:
        """A reader that sets the pace waits, so that a file is heard to its end."""
        while self._worker.busy and not self.ringer.ringing and not self._stop.is_set():
            self._show_life()
            self._inbox.run(self._tended, wait=0.02)

    def _housekeeping(self) -> None:
        now = time.monotonic()
        if now < self._next_housekeeping:
            return
        self._next_housekeeping = now + READ_TIMEOUT
        lost = self._overload.step(self.source.overruns, now)
        if lost is not None:
            self.bus.emit(lost)
        self.speaker.sink.volume, self.speaker.sink.muted = self.manager.volume()
        if self.ringer.ringing:
            self.ringer.check()
        elif self._quiet():
            if self.ringer.due():
                self._start_ring()
            elif self._announcements:
                self._start_announcement()
        if self._state_failed:
            self._state_failed = False
            self.bus.emit(Recovered(code="state.failed"))

    def _quiet(self) -> bool:
        """Nothing is going on that a ring would disturb, and nobody is about to speak."""
        if self._worker.busy:
            return False
        if self.state == "listening":
            return self._open_reason in ("followup", "always") and not self.listener.speaking
        return self.state == "idle"

    # -- devices ---------------------------------------------------------------------

    def _deaf(self) -> None:
        # Half a command is none, and with no sound coming in it would never end.
        self._abandon("failed")

    def _chime_later(self) -> None:
        """The sound for "over", after what is being said now."""
        self._worker.submit(lambda: self.speaker.play(built_in("end")))

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
        elif self._open_at is not None and self._reached(frame, *self._open_at):
            self._listen(self._open_reason)
        elif self.state in ("speaking", "ringing") and self.cfg.turn.stop_word:
            words = self.listener.feed_control(frame)
            if words is not None:
                self._check_control(words)

    def _reached(self, frame: Frame, position: int, t: float) -> bool:
        """Sound that was waiting to be read is older than what is played now."""
        return frame.position >= position and (frame.t >= t or not self.source.paced)

    def _may_wake(self, hit: Wake) -> bool:
        if self.state in ("thinking", "speaking") and not self.cfg.turn.barge_in:
            return False
        audible = self.state in ("speaking", "ringing") or self._position < self._echo_until
        return not (audible and sounds_like_wake(self.speaker.saying, hit.word))

    def _on_wake(self, hit: Wake) -> None:
        ringing = self.state == "ringing"
        self._interrupt()
        self._turns += 1
        self._turn = Turn(self._turns, threading.Event(), wake_word=hit.word)
        self.bus.emit(WakeDetected(turn=self._turns, word=hit.word, score=hit.score))
        if self.cfg.wake.chime:
            self.speaker.play(built_in("wake"))
        self._listen("wake")
        if ringing:
            self.ringer.stop_all()

    def _interrupt(self) -> None:
        """Ends whatever is being said or thought; nothing of it is heard afterwards."""
        self._open_at = None
        if self.state == "listening":
            self.listener.cancel()
            self._close_microphone()
        self.speaker.interrupt(self._turn.cancel)

    # -- listening -------------------------------------------------------------------

    def _listen(self, reason: str) -> None:
        if reason != "wake":
            self._turns += 1
            self._turn = Turn(self._turns, threading.Event())
        turn = self._turn
        self._open_at = None
        self.listener.begin(
            turn.number,
            no_speech_ms=self._patience(reason),
            wake_word=turn.wake_word,
            vocabulary=self.manager.vocabulary(),
            cancel=turn.cancel,
            thinking=self._ahead,
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
        if heard.hypothesis is None:
            if self._open_reason in ("wake", "question"):
                self._chime_later()
            self._abandon("not_heard")
            return
        self._close_microphone()
        turn, reason = self._turn, self._open_reason
        self._set_state("thinking")
        self._worker.submit(lambda: self._take_turn(turn, heard, reason))

    def _abandon(self, outcome: str) -> None:
        """Closes the microphone, or keeps it closed, without an utterance."""
        if self.state == "listening":
            self.listener.cancel()
            self._close_microphone()
            if self._turn.wake_word:
                self.bus.emit(TurnEnded(turn=self._turn.number, outcome=outcome))
        elif self._open_at is None:
            return
        self._open_at = None
        self._rest()

    def _rest(self) -> None:
        """Back to waiting for the wake word, or for speech where there is none."""
        self._set_state("idle")
        if self.wake is None and not self._ended:
            self._listen("always")

    # -- the turn itself ---------------------------------------------------------------

    def _take_turn(self, turn: Turn, heard: Heard, reason: str) -> None:
        """On the worker."""
        done = Done("failed")
        try:
            done = self._answering.take(
                turn, heard, reason, lambda: self._inbox.put(lambda: self._speaks(turn))
            )
        finally:
            self._inbox.put(lambda: self._turn_done(turn, done))

    def _speaks(self, turn: Turn) -> None:
        """The answer begins: from now on only a wake word or a bare "stop" is for us."""
        if self._turn is turn and not turn.cancel.is_set():
            self.listener.begin_control()
            self._set_state("speaking")

    def _turn_done(self, turn: Turn, done: Done) -> None:
        """What happens after an answer."""
        outcome = "stopped" if turn.cancel.is_set() else done.outcome
        if outcome == LISTEN_AGAIN:
            if not turn.listened_again and not self._ended:
                turn.listened_again = True
                self._listen("wake")
                return
            outcome = "not_heard"
        self.bus.emit(TurnEnded(turn=turn.number, outcome=outcome))
        if self._turn is not turn:
            return
        self._after_speech()
        if turn.cancel.is_set() or self._ended:
            self._rest()
            return
        followup = self.cfg.turn.followup_ms > 0 and outcome == "answered"
        if self.wake is None:
            self._open_soon("always")
        elif done.question or followup:
            self._open_soon("question" if done.question else "followup")
            self._set_state("idle")
        else:
            self._rest()

    def _open_soon(self, reason: str) -> None:
        tail_ms = self.cfg.turn.tail_ms
        self._open_reason = reason
        position = self._position + tail_ms * SAMPLE_RATE // 1000
        self._open_at = (position, time.monotonic() + tail_ms / 1000)

    def _after_speech(self) -> None:
        self._echo_until = self._position + round(ECHO_SECONDS * SAMPLE_RATE)

    # -- a bare "stop" while it speaks or rings ----------------------------------------

    def _check_control(self, words: Future[Hypothesis]) -> None:
        turn = self._turn

        def act() -> None:
            if self._turn is not turn or self.state not in ("speaking", "ringing"):
                return
            if words.cancelled() or words.exception() is not None:
                return
            text = words.result().text
            if self.state == "ringing" and (reply := self.manager.snooze(text)):
                self._announcements.add(reply)
                self.stop_all()
            elif self._asks_to_stop(text):
                self.stop_all()

        words.add_done_callback(lambda _: self._inbox.put(act))

    def _asks_to_stop(self, text: str) -> bool:
        """Its own voice may say "stop" too, and comes back through the microphone."""
        said_to_it = beyond(text, self.speaker.saying)
        return bool(said_to_it) and self.manager.is_stop(said_to_it)

    def stop_all(self) -> None:
        """Ends speech and ringing; on the main loop."""
        ringing = self.state == "ringing"
        self._interrupt()
        if not self._worker.busy:
            self._rest()
        if ringing:
            self.ringer.stop_all()

    # -- rings and announcements -------------------------------------------------------

    def _start_ring(self) -> None:
        turn = self._speak_unasked("ringing")
        name = self.ringer.begin(turn.cancel)
        self.bus.emit(RingStarted(name=name))
        self._worker.submit(lambda: self._ring(turn))

    def _speak_unasked(self, state: str) -> Turn:
        """Closes the microphone for commands, as during an answer."""
        if self.state == "listening":
            self.listener.cancel()
            self._close_microphone()
        self._open_at = None
        self._turn = Turn(0, threading.Event())
        self.listener.begin_control()
        self._set_state(state)
        return self._turn

    def _ring(self, turn: Turn) -> None:
        reason = "stopped"
        try:
            reason = self.ringer.run(self.speaker)
        except Exception:
            log.exception("ringing failed")
        finally:
            self._inbox.put(lambda: self._ring_done(turn, reason))

    def _ring_done(self, turn: Turn, reason: str) -> None:
        self.bus.emit(RingEnded(reason=reason))
        self._unasked_done(turn)

    def _unasked_done(self, turn: Turn) -> None:
        if self._turn is turn:
            self._after_speech()
            self._rest()

    def _start_announcement(self) -> None:
        text = self._announcements.take()
        turn = self._speak_unasked("speaking")

        def speak() -> None:
            try:
                self.speaker.say([text], cancel=turn.cancel)
            except AssistantError as error:
                self.bus.emit(Trouble(code=error.code, message=error.message, hint=error.hint))
            finally:
                self._inbox.put(lambda: self._unasked_done(turn))

        self._worker.submit(speak)

    # -- small things ------------------------------------------------------------------

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.bus.emit(StateChanged(turn=self._turn.number, state=state))
