"""Streaming conversion between sample rates; the only importer of soxr."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.audio.base import Pcm
from assistant.errors import PackageError

Samples = NDArray[np.float32]
"""Mono samples in units of 16-bit PCM (-32768 to 32767) but not rounded, shape (n,)."""


def to_pcm(samples: Samples) -> Pcm:
    """Rounds to 16 bits; what is out of range saturates."""
    return np.clip(np.rint(samples), -32768, 32767).astype(np.int16)


class Resampler:
    """Converts a stream of mono blocks; the result does not depend on how it is cut.

    The output is aligned with the input (the delay of the filter is taken out), so
    up to about 40 ms stay inside until more input or ``flush`` comes. Equal rates
    pass through untouched.

    Args:
        source_rate, target_rate: Hz.

    Raises:
        PackageError: soxr is not installed.
    """

    def __init__(self, source_rate: int, target_rate: int) -> None:
        self.source_rate = source_rate
        self.target_rate = target_rate
        self.taken = 0
        """Input samples since the start or the last ``flush``."""
        self.given = 0
        """Output samples since then."""
        self._stream: Any = None
        if source_rate != target_rate:
            try:
                import soxr
            except ImportError as e:
                raise PackageError(
                    "audio.no_soxr",
                    "The Python package soxr is not installed.",
                    "Install it: pip install soxr.",
                ) from e
            # HQ: passband to 0.91 of Nyquist and 120 dB of rejection for 0.05 % of a core.
            self._stream = soxr.ResampleStream(
                source_rate, target_rate, 1, dtype="float32", quality="HQ"
            )

    @property
    def pending(self) -> bool:
        """True while output of what was taken is still inside."""
        return self._stream is not None and self.taken > 0

    def process(self, samples: Samples) -> Samples:
        """Takes any number of samples and returns what is ready, possibly nothing."""
        if self._stream is None:
            out = samples
        elif len(samples) == 0:
            return samples
        else:
            out = self._stream.resample_chunk(np.ascontiguousarray(samples, np.float32))
        self.taken += len(samples)
        self.given += len(out)
        return out

    def flush(self) -> Samples:
        """The rest of the output; the next block begins a new stream."""
        out: Samples = np.zeros(0, np.float32)
        if self.pending:
            out = self._stream.resample_chunk(out, last=True)
        self.reset()
        return out

    def reset(self) -> None:
        """Forgets what is inside and begins a new stream."""
        if self._stream is not None:
            self._stream.clear()
        self.taken = self.given = 0
