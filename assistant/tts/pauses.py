"""Silence between what is spoken: how long, and its samples."""

from __future__ import annotations

import re

import numpy as np

from assistant.tts.base import Speech

ELLIPSIS_MS = 350
"""Pause at "…", in milliseconds."""

CLAUSE_MS = 80
"""Pause after a clause whose sentence goes on in the next chunk, in milliseconds."""

_ELLIPSIS = re.compile(r"…[\"'”’)]*$")
_CLAUSE = re.compile(r"[,;:—–-][\"'”’)]*$")


def silence(ms: int, rate: int) -> Speech:
    """``ms`` milliseconds of silence at ``rate`` Hz."""
    return Speech(np.zeros(rate * ms // 1000, np.int16), rate)


def pause_after(spoken: str, ends: bool, sentence_pause_ms: int) -> int:
    """Milliseconds of silence between this chunk and the next one.

    ends: whether the chunk ends its sentence (``Chunk.ends``).
    """
    if _ELLIPSIS.search(spoken):
        return max(ELLIPSIS_MS, sentence_pause_ms)
    if ends:
        return sentence_pause_ms
    return min(CLAUSE_MS, sentence_pause_ms) if _CLAUSE.search(spoken) else 0
