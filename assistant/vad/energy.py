"""Voice activity by energy over an adaptive noise floor: no model, no dependency.

For machines on which the Silero package is not available. It cannot tell speech from other
sound that begins suddenly; steady noise is learned within a few seconds.
"""

from __future__ import annotations

import math

from assistant.audio.base import Pcm
from assistant.vad.base import Vad
from assistant.vad.level import level_db

LOWEST_FLOOR_DB = -70.0
"""Below this nothing is a room, only digital silence."""

HIGHEST_FIRST_FLOOR_DB = -45.0
"""The first frame may be speech already, so it does not set the floor higher than this."""

RISE_DB = 0.04
"""The floor rises this much a frame (4 dB a second) ..."""

FALL = 0.3
"""... and falls by this share of the difference: pauses between syllables find it again."""

MIDDLE_DB = 10.0
"""Level over the floor that means speech with probability 0.5."""

SLOPE_DB = 2.0

RELEASE_DB = 1.0
"""The smoothed level falls this much a frame, so that syllables do not flicker."""


class EnergyVad(Vad):
    """Probability of speech from the level over the noise floor."""

    def __init__(self) -> None:
        self._floor: float | None = None
        self._level = LOWEST_FLOOR_DB

    def load(self) -> None:
        """There is no model."""

    def process(self, samples: Pcm) -> float:
        level = max(level_db(samples), LOWEST_FLOOR_DB)
        if self._floor is None:
            self._floor = min(level, HIGHEST_FIRST_FLOOR_DB)
        if level < self._floor:
            self._floor += FALL * (level - self._floor)
        else:
            self._floor = min(self._floor + RISE_DB, level)
        self._level = max(level, self._level - RELEASE_DB)
        over = self._level - self._floor
        return 1.0 / (1.0 + math.exp(-(over - MIDDLE_DB) / SLOPE_DB))

    def reset(self) -> None:
        """Forgets the utterance; the noise floor belongs to the room and stays."""
        self._level = LOWEST_FLOOR_DB
