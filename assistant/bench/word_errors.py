"""Words of a text, and how many of them were heard wrongly."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[a-z0-9']+")


def words(text: str) -> list[str]:
    """In lower case, without punctuation; a hyphen parts two words."""
    return _WORD.findall(text.lower().replace("’", "'").replace("-", " "))


def word_errors(reference: Sequence[str], heard: Sequence[str]) -> int:
    """Substitutions, deletions and insertions that make one sequence of words of the other."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(reference, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, start=1):
            best = min(diagonal + (word != other), row[j] + 1, row[j - 1] + 1)
            diagonal, row[j] = row[j], best
    return row[-1]
