"""Numbers that heads decide by, made from a text and its states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from assistant.intent.heads.states import TokenStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_CLIP = 8.0
"""Standard deviations; single dimensions of the residual stream have rare, huge values."""

_ENDS = re.compile(r"[\s.?!,;:]+$")


def folded(text: str) -> str:
    """A text as it is read where spelling must not matter: lower case, no mark at its end.

    Recognisers write capitals and full stops, people's example sentences have none.
    """
    # Character by character, so that positions stay: some capitals become two letters.
    lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return _ENDS.sub("", lower)


def pooled(states: TokenStates) -> Floats:
    """(layers * hidden,): the mean of the tokens, layer after layer; zeros for no tokens."""
    layers, tokens, hidden = states.values.shape
    if tokens == 0:
        return np.zeros(layers * hidden, np.float32)
    mean: Floats = states.values.mean(axis=1, dtype=np.float32)
    return mean.reshape(-1)


class Scaler:
    """Brings every dimension to mean 0 and deviation 1, and cuts off what is far out."""

    def __init__(self, mean: Floats, deviation: Floats) -> None:
        self.mean = mean
        self.deviation = deviation

    @classmethod
    def of(cls, rows: NDArray[np.floating]) -> Scaler:
        """Of rows (n, width)."""
        mean = rows.mean(axis=0, dtype=np.float64)
        deviation = rows.std(axis=0, dtype=np.float64) + 1e-6
        return cls(mean.astype(np.float32), deviation.astype(np.float32))

    def __call__(self, rows: NDArray[np.floating]) -> Floats:
        """rows: (..., width)."""
        scaled: Floats = ((rows - self.mean) / self.deviation).astype(np.float32)
        return np.clip(scaled, -_CLIP, _CLIP, out=scaled)
