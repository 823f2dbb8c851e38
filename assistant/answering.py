"""The part of a turn that takes time, on the worker: words, meaning, action, answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from assistant.ahead import Ahead
from assistant.config import Config
from assistant.dialogue.manager import Answer, Manager
from assistant.errors import AssistantError
from assistant.events import Event, Transcript, Trouble
from assistant.listening import Heard
from assistant.speaking import Speaker
from assistant.tts.base import Speech
from assistant.wake.phrase import SURELY, strip_wake

log = logging.getLogger(__name__)

LISTEN_AGAIN = "listen_again"
"""Only the wake phrase was heard: the command is still to come."""

FAILED = "Sorry, something went wrong."


@dataclass(slots=True)
class Turn:
    """One turn, from the opening of the microphone on; only the main loop changes it.

    number: 0 for what nobody asked for, such as a ring.
    cancel: ends it wherever it is.
    listened_again: the wake phrase came alone and the command was waited for once more.
    """

    number: int
    cancel: threading.Event
    wake_word: str = ""
    listened_again: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """outcome: as in TurnEnded, or LISTEN_AGAIN; question: the answer asks something."""

    outcome: str
    question: bool = False


class Answering:
    """Takes one turn at a time; every method may be slow."""

    def __init__(
        self,
        cfg: Config,
        *,
        manager: Manager,
        speaker: Speaker,
        emit: Callable[[Event], None],
        record: Callable[[int, Speech], None] | None = None,
        keep_audio: Callable[[int, Heard], None] | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        """record: receives the sound of each answer; keep_audio: the utterance itself.

        ahead: has perhaps begun an answer.
        """
        self._ahead = ahead
        self._words = cfg.wake.words
        self._min_confidence = cfg.asr.min_confidence
        self._manager = manager
        self._speaker = speaker
        self._emit = emit
        self._record = record
        self._keep_audio = keep_audio

    def take(self, turn: Turn, heard: Heard, reason: str, on_answer: Callable[[], None]) -> Done:
        """Recognises, acts and speaks; whatever fails is told and apologised for.

        reason: why the microphone was open; on_answer: called when the answer begins.
        """
        try:
            return self._take(turn, heard, reason, on_answer)
        except Exception as error:
            if not isinstance(error, AssistantError):
                log.exception("turn %d failed", turn.number)
                error = AssistantError("turn.failed", "The turn failed.")
            self._tell(turn, error)
            self._apologise(turn, on_answer)
            return Done("failed")

    def _take(self, turn: Turn, heard: Heard, reason: str, on_answer: Callable[[], None]) -> Done:
        assert heard.hypothesis is not None
        hypothesis = heard.hypothesis.result()
        text = self._without_wake(turn, heard, hypothesis.text)
        if self._ahead is not None:
            self._ahead.settle(text)
        if turn.cancel.is_set():
            return Done("stopped")
        if not text and turn.wake_word and (hypothesis.text or heard.includes_wake):
            return Done(LISTEN_AGAIN)
        if self._keep_audio is not None:
            self._keep_audio(turn.number, heard)
        confidence = hypothesis.confidence
        self._emit(Transcript(turn=turn.number, text=text, confidence=confidence))
        if confidence is not None and confidence < self._min_confidence:
            text = ""
        if reason in ("followup", "always") and not self._manager.meaningful(text):
            # Noise in an open window is nobody's question and gets no answer.
            return Done("not_heard")
        text = self._manager.repaired(text)
        answer = self._manager.respond(text, turn=turn.number, cancel=turn.cancel)
        return Done(self._speak(turn, answer, on_answer), answer.question)

    def _without_wake(self, turn: Turn, heard: Heard, text: str) -> str:
        """People say the wake phrase twice, or where it is not needed."""
        if heard.includes_wake:
            text = strip_wake(text, turn.wake_word)
        for word in self._words:
            text = strip_wake(text, word, SURELY)
        return text

    def _speak(self, turn: Turn, answer: Answer, on_answer: Callable[[], None]) -> str:
        self._speaker.sink.volume, self._speaker.sink.muted = self._manager.volume()
        self._speaker.speed = self._manager.speed()
        # last: from now on it must know what it says, to tell its own voice from others
        on_answer()
        record = None
        if self._record is not None:
            keep = self._record

            def record(speech: Speech) -> None:
                keep(turn.number, speech)

        said = self._speaker.say(answer.pieces, cancel=turn.cancel, turn=turn.number, record=record)
        self._manager.said(said.text)
        notices = self._manager.notices() if not turn.cancel.is_set() else []
        if notices:
            self._speaker.say(notices, cancel=turn.cancel, turn=turn.number)
        return "stopped" if answer.stop or turn.cancel.is_set() else answer.outcome

    def _tell(self, turn: Turn, error: AssistantError) -> None:
        log.warning("turn %d failed: %s", turn.number, error)
        self._emit(
            Trouble(turn=turn.number, code=error.code, message=error.message, hint=error.hint)
        )

    def _apologise(self, turn: Turn, on_answer: Callable[[], None]) -> None:
        if turn.cancel.is_set():
            return
        on_answer()
        try:
            self._speaker.say([FAILED], cancel=turn.cancel, turn=turn.number)
        except Exception:
            # The voice itself is what fails.
            log.exception("the apology could not be said")
