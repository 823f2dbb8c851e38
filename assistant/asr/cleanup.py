"""What a recogniser wrote, without what nobody said."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

MOST_REPEATS = 3
"""Phrases that come more often than this in a row are a decoder that runs in circles."""

LONGEST_LOOP = 12
"""Words of the longest phrase that is looked for as a loop."""


def words_of(text: str) -> list[str]:
    """The words in lower case, without punctuation."""
    return [m.group().lower().replace("’", "'") for m in _WORD.finditer(text)]


def clean(text: str) -> str:
    """The text with single spaces and without loops; "" when it has no letter or digit."""
    text = " ".join(text.split())
    if not _WORD.search(text):
        return ""
    return cut_loops(text)


def cut_loops(text: str) -> str:
    """Shortens a phrase that is repeated over and over to one occurrence.

    "No, no, no" is left alone; a single word must come more often than a phrase to count.
    """
    spans = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    words = words_of(text)
    begin = 0
    while begin < len(words):
        for size in range(1, min(LONGEST_LOOP, (len(words) - begin) // 2) + 1):
            repeats = _repeats(words, begin, size)
            if repeats > (MOST_REPEATS if size > 1 else MOST_REPEATS + 1):
                last = begin + repeats * size - 1
                keep_to = spans[begin + size - 1][1]
                # An unfinished round at the end belongs to the loop.
                rest = words[last + 1 :]
                if rest and len(rest) < size and rest == words[begin : begin + len(rest)]:
                    return text[:keep_to].strip()
                return cut_loops((text[:keep_to] + text[spans[last][1] :]).strip())
        begin += 1
    return text


def is_all_loop(text: str) -> bool:
    """True when the whole text is one phrase of several words, said three times or more."""
    words = words_of(text)
    for size in range(2, min(LONGEST_LOOP, len(words) // 3) + 1):
        if all(word == words[i % size] for i, word in enumerate(words)):
            return True
    return False


def _repeats(words: list[str], begin: int, size: int) -> int:
    phrase = words[begin : begin + size]
    count = 1
    while words[begin + count * size : begin + (count + 1) * size] == phrase:
        count += 1
    return count
