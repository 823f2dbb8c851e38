"""Start and end of the user's speech: pure logic over speech probabilities.

Feed one probability per frame, read decisions. No device, no clock, no model: time is
the position in samples.

States
    waiting   Nobody speaks. Frames at or above the start threshold lead to *onset*; when the
              time to begin speaking is over, the turn ends with reason ``no_speech``.
    onset     Something may have begun. ``ONSET_MS`` of voiced frames make it speech
              (``started``); a gap of ``ONSET_GAP_MS`` makes it a click and leads back to
              *waiting* without a decision.
    speaking  Speech goes on while frames are at or above the (lower) end threshold.
              The longest utterance ends the turn with reason ``too_long``.
    pausing   Silence after speech. ``PAUSE_MS`` after the last voiced frame comes ``paused``:
              the moment to decode speculatively. Voiced frames lead back to *speaking*
              (``resumed``, when ``paused`` was told). How long the silence must last to end the
              turn depends on ``hint``, which may change while it lasts. When all that was
              voiced is shorter than a word, ``dropped`` takes the place of ``paused`` and
              leads back to *waiting*: it was a cough, or the tail of the wake word.
    ended     The turn is over; frames are ignored until ``start`` is called.

Noise that a detector takes for speech (a radio, people in the next room) must not keep the
turn open. Given levels, a voiced frame that stays well below the level of this utterance
counts as *faint*: it does not end the turn as fast as silence does, but it ends it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE
from assistant.config import TurnConfig, VadConfig

Hint = Literal["complete", "unfinished", "long", "unknown"]
Kind = Literal["started", "paused", "resumed", "dropped", "ended"]
State = Literal["waiting", "onset", "speaking", "pausing", "ended"]

ONSET_MS = 70
"""Voiced sound that makes speech: longer than a click, which fills one or two 32 ms chunks."""

ONSET_GAP_MS = 50
"""Gap within an onset, such as a stop consonant."""

PAUSE_MS = 130
"""Silence after which ``paused`` is told."""

PRE_ROLL_MS = 400
"""Sound kept before the detected start: detectors are late, and plosives are silent first."""

SHORTEST_MS = 120
"""Voiced sound below this is no word."""

SHORTEST_CARRIED_MS = 200
"""As above when somebody was speaking already at the start: the tail of the wake word."""

FAINT_DB = 10.0
"""A level this far below the loud parts of the utterance is faint."""

FAINT_EXTRA_MS = 600
"""Faint sound must last this much longer than silence to end the turn."""

INAUDIBLE_DB = 40.0
"""A frame this far below the loud parts is silence whatever the detector says; it lags behind
the end of speech by some chunks."""

LEVEL_WINDOW_MS = 200
"""The level of a frame is the loudest one of this time, so that syllables do not flicker."""


@dataclass(frozen=True, slots=True)
class Decision:
    """kind: see the module's text; position: sample after the frame that brought it.

    reason: for ``ended``: silence, complete (the hint said so and the wait was shorter),
    too_long, no_speech or end_of_file; else "".
    """

    kind: Kind
    position: int
    reason: str = ""


class Segmenter:
    """Finds one utterance after each ``start``.

    Attributes:
        hint: what is known of the words so far; set it after ``paused``. It goes back to
            "unknown" when speech resumes.
        carried: True when speech was going on already within the first 100 ms: the command
            followed the wake word without a pause (or the wake word is not over yet), so
            sound from before the start belongs to it.
    """

    def __init__(self, turn: TurnConfig, vad: VadConfig) -> None:
        self.turn = turn
        self.vad = vad
        self.hint: Hint = "unknown"
        self.start(0)
        self._state: State = "ended"

    def start(self, position: int, no_speech_ms: int | None = None) -> None:
        """Begins to listen at ``position`` (samples).

        no_speech_ms: how long to wait for the first word; None takes the one of the config.
        """
        self.hint = "unknown"
        self.carried = False
        self._state = "waiting"
        self._opened = position
        self._no_speech = _samples(self.turn.no_speech_ms if no_speech_ms is None else no_speech_ms)
        self._forget()

    def _forget(self) -> None:
        self._onset: int | None = None
        self._voiced = 0
        self._last_voiced = self._opened
        self._last_loud = self._opened
        self._told_pause = False
        self._levels: deque[float] = deque(maxlen=LEVEL_WINDOW_MS // 10)
        self._loud: float | None = None

    @property
    def state(self) -> State:
        return self._state

    @property
    def speech_start(self) -> int | None:
        """Position of the first voiced sample; None while there is no speech."""
        return self._onset if self._state not in ("waiting", "onset") else None

    @property
    def keep_from(self) -> int:
        """Position from which sound is needed: the pre-roll before what may be speech.

        May lie before the start of listening. While nobody speaks it moves on with time,
        so all that is older can be thrown away.
        """
        begin = self._last_voiced if self._onset is None else self._onset
        return max(0, begin - _samples(PRE_ROLL_MS))

    @property
    def last_voiced(self) -> int | None:
        """Position after the last voiced (and not faint) sample; None without speech."""
        return self._last_loud if self.speech_start is not None else None

    def feed(
        self, probability: float, position: int, level_db: float | None = None
    ) -> Decision | None:
        """Takes one frame.

        Args:
            probability: of speech, 0 to 1.
            position: of the frame's first sample.
            level_db: RMS level of the frame in dBFS, if noise is to be told by it.
        """
        end = position + FRAME_SAMPLES
        if self._state == "ended":
            return None
        if self._state in ("waiting", "onset"):
            return self._before_speech(probability, position, end, level_db)
        return self._in_speech(probability, end, level_db)

    def finish(self, position: int, reason: str = "end_of_file") -> Decision:
        """Ends the turn at ``position`` whatever the state; without speech, for want of it."""
        return self._end(position, "no_speech" if self.speech_start is None else reason)

    def _before_speech(
        self, probability: float, position: int, end: int, level_db: float | None
    ) -> Decision | None:
        if probability >= self.vad.start_threshold:
            if self._onset is None:
                self._onset = position
                self._state = "onset"
                self.carried = position - self._opened <= _samples(100)
            self._mark_voiced(end, level_db)
            if self._voiced >= _samples(ONSET_MS):
                self._state = "speaking"
                return Decision("started", end)
            return None
        if self._state == "onset":
            if end - self._last_voiced < _samples(ONSET_GAP_MS):
                return None
            self._back_to_waiting()
        self._last_voiced = end
        if end - self._opened >= self._no_speech:
            return self._end(end, "no_speech")
        return None

    def _in_speech(self, probability: float, end: int, level_db: float | None) -> Decision | None:
        assert self._onset is not None
        decision = None
        if probability >= self.vad.end_threshold and not self._inaudible(level_db):
            self._mark_voiced(end, level_db)
            if self._state == "pausing":
                self._state = "speaking"
                self.hint = "unknown"
                decision = Decision("resumed", end) if self._told_pause else None
                self._told_pause = False
        else:
            self._state = "pausing"
        if end - self._onset >= _samples(self.turn.max_speech_ms):
            return self._end(end, "too_long")
        if decision is not None:
            return decision
        silence = end - self._last_voiced
        if self._state == "pausing" and silence >= _samples(self._wait_ms()):
            return self._too_short(end) or self._end(end, self._silence_reason())
        if end - self._last_loud >= _samples(self._wait_ms() + FAINT_EXTRA_MS):
            return self._end(end, "silence")
        if self._state == "pausing" and not self._told_pause and silence >= _samples(PAUSE_MS):
            dropped = self._too_short(end)
            if dropped is not None:
                return dropped
            self._told_pause = True
            return Decision("paused", end)
        return None

    def _mark_voiced(self, end: int, level_db: float | None) -> None:
        self._voiced += FRAME_SAMPLES
        self._last_voiced = end
        if level_db is None:
            self._last_loud = end
            return
        self._levels.append(level_db)
        level = max(self._levels)
        self._loud = level if self._loud is None else max(self._loud, level)
        if level > self._loud - FAINT_DB:
            self._last_loud = end

    def _inaudible(self, level_db: float | None) -> bool:
        if level_db is None or self._loud is None:
            return False
        return level_db < self._loud - INAUDIBLE_DB

    def _too_short(self, end: int) -> Decision | None:
        shortest = SHORTEST_CARRIED_MS if self.carried else SHORTEST_MS
        if self._voiced >= _samples(shortest):
            return None
        self._back_to_waiting()
        self._last_voiced = end
        return Decision("dropped", end)

    def _back_to_waiting(self) -> None:
        self._state = "waiting"
        self.carried = False
        self.hint = "unknown"
        self._forget()

    def _end(self, position: int, reason: str) -> Decision:
        if reason == "no_speech":
            self._onset = None
        self._state = "ended"
        return Decision("ended", position, reason)

    def _wait_ms(self) -> int:
        return {
            "complete": self.turn.complete_silence_ms,
            "unfinished": self.turn.unfinished_silence_ms,
            "long": self.turn.long_silence_ms,
            "unknown": self.turn.end_silence_ms,
        }[self.hint]

    def _silence_reason(self) -> str:
        return "complete" if self.hint == "complete" else "silence"


def _samples(milliseconds: int) -> int:
    return milliseconds * SAMPLE_RATE // 1000
