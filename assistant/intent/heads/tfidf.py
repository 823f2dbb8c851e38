"""Words and pieces of words of a text, weighted by how rare they are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = re.compile(r"[\w']+|[^\w\s]")
_PIECES = (2, 3, 4, 5)
"""Lengths of pieces in characters."""


class Vocabulary:
    """Terms of two kinds, each weighted to length 1: words with pairs of words, and pieces."""

    def __init__(self, terms: Sequence[str], weights: NDArray[np.float32]) -> None:
        """terms: as ``_terms`` names them; weights: (terms,), larger for rarer ones."""
        self.terms = list(terms)
        self.weights = weights
        self._index = {term: i for i, term in enumerate(self.terms)}

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def of(cls, texts: Sequence[str], *, least: int, most: int) -> Vocabulary:
        """Of terms that occur in at least so many texts; the commonest where they are too many."""
        count: Counter[str] = Counter()
        for text in texts:
            count.update(set(_words(text)))
            count.update(set(_pieces(text)))
        kept = sorted((-n, term) for term, n in count.items() if n >= least)[:most]
        weights = [math.log((1 + len(texts)) / (1 - n)) + 1 for n, _ in kept]
        return cls([term for _, term in kept], np.array(weights, np.float32))

    def vector(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Numbers of the text's terms, and their values; empty where it has none that is known."""
        numbers: list[int] = []
        values: list[float] = []
        for terms in (_words(text), _pieces(text)):
            count = Counter(i for term in terms if (i := self._index.get(term)) is not None)
            part = [(1 + math.log(n)) * float(self.weights[i]) for i, n in count.items()]
            length = math.sqrt(sum(v * v for v in part)) or 1.0
            numbers += count
            values += [v / length for v in part]
        return np.array(numbers, np.int64), np.array(values, np.float32)


def _words(text: str) -> Iterator[str]:
    """Words and pairs of neighbours; "=" tells them from pieces."""
    words = _WORD.findall(text.lower())
    for i, word in enumerate(words):
        yield f"={word}"
        if i:
            yield f"={words[i - 1]} {word}"


def _pieces(text: str) -> Iterator[str]:
    """Pieces of the words, which have a space on both sides."""
    for word in text.lower().split():
        padded = f" {word} "
        for n in _PIECES:
            for at in range(len(padded) - n + 1):
                yield padded[at : at + n]
            if n >= len(padded):
                break
