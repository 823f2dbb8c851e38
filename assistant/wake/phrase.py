"""Takes the wake phrase off the front of a transcript.

When a command follows the wake word without a pause, both are recognised together,
because cutting the sound between them costs the first syllable of the command.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

CLOSE_ENOUGH = 0.66
"""Similarity (0 to 1) from which misheard words still count as the wake phrase."""

SURELY = 0.85
"""As above where nothing else says that the wake phrase is there."""


def strip_wake(text: str, wake_word: str, least: float = CLOSE_ENOUGH) -> str:
    """The text without a leading wake phrase, however it was spelled.

    Args:
        text: transcript that may begin with the wake phrase.
        wake_word: its name in config.yaml, such as ``hey_jarvis``.
        least: similarity from which it is the wake phrase.
    """
    phrase = wake_word.replace("_", "").lower()
    words = list(_WORD.finditer(text))
    longest = min(len(words), wake_word.count("_") + 3)
    best, cut = 0.0, 0
    for n in range(1, longest + 1):
        heard = "".join(m.group() for m in words[:n]).lower().replace("'", "")
        score = SequenceMatcher(None, heard, phrase, autojunk=False).ratio()
        if score > best:
            best, cut = score, words[n - 1].end()
    if best < least:
        return text.strip()
    return text[cut:].lstrip(" ,.!?;:-–—…").strip()


def sounds_like_wake(text: str, wake_word: str) -> bool:
    """True when the text holds a word of the wake phrase that is long enough to wake.

    Used to stay deaf to the wake word while the assistant itself says it.
    """
    parts = [part for part in wake_word.lower().split("_") if len(part) >= 4]
    for match in _WORD.finditer(text.lower()):
        for part in parts:
            if SequenceMatcher(None, match.group(), part, autojunk=False).ratio() >= 0.75:
                return True
    return False
