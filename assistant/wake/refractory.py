"""One wake per utterance: pure logic over scores and frame counts."""

from __future__ import annotations

from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE

FRAMES_PER_SECOND = SAMPLE_RATE // FRAME_SAMPLES


class Refractory:
    """Lets the first detection of an utterance through and holds back the rest of it.

    A detection counts as a new utterance when the refractory time has passed since the last
    one *and* the scores were below their thresholds in between, so a detector that is stuck
    high wakes once and not every two seconds.
    """

    def __init__(self, milliseconds: int) -> None:
        self._frames = milliseconds * FRAMES_PER_SECOND // 1000
        self._since: int | None = None
        self._armed = True

    def step(self, above: bool) -> bool:
        """Takes one frame of 10 ms; True when it wakes.

        above: a score is above its threshold in this frame.
        """
        if self._since is not None:
            self._since += 1
        if not above:
            self._armed = True
            return False
        rested = self._since is None or self._since >= self._frames
        wakes = self._armed and rested
        self._armed = False
        if wakes:
            self._since = 0
        return wakes

    def reset(self) -> None:
        """The sound had a gap: the next detection is a new utterance, however soon."""
        self._since = None
        self._armed = True
