"""Words of a text, and what a tagger sees of each."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assistant.intent.heads.states import TokenStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BUCKETS = 1 << 15
"""Features of spelling are counted modulo this."""

_WORD = re.compile(r"\w+|[^\w\s]")

Span = tuple[int, int]
"""Where a word begins and ends in its text."""


def words_of(text: str) -> list[Span]:
    """Runs of letters and digits, and every other mark by itself."""
    return [match.span() for match in _WORD.finditer(text)]


def dense(states: TokenStates, words: Sequence[Span]) -> Floats:
    """(words, 3 * layers * hidden): of each word the first and last token, and the text's mean.

    Words behind the last token that was read get that one's.
    """
    layers, tokens, hidden = states.values.shape
    rows = states.values.transpose(1, 0, 2).reshape(tokens, layers * hidden)
    starts = np.array([start for start, _ in words])
    ends = np.array([end for _, end in words])
    first = np.searchsorted(states.spans[:, 1], starts, side="right")
    last = np.searchsorted(states.spans[:, 0], ends, side="left") - 1
    first = np.clip(first, 0, tokens - 1)
    last = np.clip(last, first, tokens - 1)
    mean = np.broadcast_to(rows.mean(axis=0), (len(words), layers * hidden))
    return np.concatenate([rows[first], rows[last], mean], axis=1)


def spelling(text: str, words: Sequence[Span], intent: str) -> list[list[int]]:
    """Of each word the buckets of what its spelling and its neighbours' say."""
    plain = [text[start:end] for start, end in words]
    lower = [word.lower() for word in plain]
    shapes = [_shape(word) for word in plain]
    padded = ["<<", "<", *lower, ">", ">>"]
    result = []
    for i, word in enumerate(lower):
        before2, before, _, after, after2 = padded[i : i + 5]
        named = [
            f"0{word}", f"-{before}", f"+{after}", f"--{before2}", f"++{after2}",
            f"-0{before} {word}", f"0+{word} {after}", f"-+{before} {after}",
            f"--0{before2} {before} {word}", f"0++{word} {after} {after2}",
            f"^{word[:2]}", f"^{word[:3]}", f"${word[-2:]}", f"${word[-3:]}",
            f"s{shapes[i]}", f"i{intent}", f"i0{intent} {word}", f"i-{intent} {before}",
            f"i+{intent} {after}", f"i-0{intent} {before} {word}",
        ]  # fmt: skip
        result.append([bucket(name) for name in named])
    return result


def bucket(name: str) -> int:
    """The same on every machine and in every run."""
    return zlib.crc32(name.encode("utf-8", "replace")) % BUCKETS


def phrases(words: Sequence[str], longest: int) -> Iterator[tuple[int, int, str]]:
    """Every run of at most so many words: first word, past the last, the words with spaces."""
    for first in range(len(words)):
        for past in range(first + 1, min(len(words), first + longest) + 1):
            yield first, past, " ".join(words[first:past])


def _shape(word: str) -> str:
    """ "7am" -> "dxx"; runs longer than three are cut."""
    kinds = "".join(
        "d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word
    )
    return re.sub(r"(.)\1{3,}", r"\1\1\1", kinds)
