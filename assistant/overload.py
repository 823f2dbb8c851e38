"""Tells that sound was lost because nobody read it in time. Pure logic over a counter."""

from __future__ import annotations

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE
from assistant.events import Event, Recovered, Trouble

OVERLOAD = "audio.overload"
"""Code of the trouble."""

AGAIN_SECONDS = 60.0
"""While it lasts it is told once a minute; after a minute without it is over."""


class Overload:
    """Watches ``AudioSource.overruns``."""

    def __init__(self) -> None:
        self._seen = 0
        self._grew_t = 0.0
        self._told_t: float | None = None
        self._untold = 0

    def step(self, overruns: int, now: float) -> Event | None:
        """What is to be told, if anything.

        overruns: frames lost since the start; now: monotonic seconds.
        """
        lost, self._seen = max(0, overruns - self._seen), overruns
        self._untold += lost
        if lost:
            self._grew_t = now
        if self._told_t is not None and now - self._grew_t >= AGAIN_SECONDS:
            self._told_t = None
            return Recovered(code=OVERLOAD, message="The machine keeps up with the microphone.")
        due = self._told_t is None or now - self._told_t >= AGAIN_SECONDS
        if not (self._untold and due):
            return None
        self._told_t = now
        seconds = self._untold * FRAME_SAMPLES / SAMPLE_RATE
        self._untold = 0
        return Trouble(
            code=OVERLOAD,
            message=f"{seconds:.1f} seconds of sound were lost: the machine is too slow or busy.",
            hint="Stop other programs, or choose a smaller speech recogniser or language model.",
        )
