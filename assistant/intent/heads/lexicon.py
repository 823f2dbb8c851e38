"""Values that were seen in examples: a phrase that was a city before is likely one again."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.intent.heads.words import Span, bucket, phrases

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_WORDS = 6


class Lexicon:
    """Known values by slot; only their checksums are kept."""

    def __init__(self, known: Mapping[int, Mapping[int, int]], longest: int) -> None:
        """known: checksum -> number of a slot -> how often it was that; longest: in words."""
        self._known = known
        self.longest = longest

    @classmethod
    def of(cls, values: Iterable[tuple[str, int]]) -> Lexicon:
        """values: (words with spaces, number of the slot), as often as they occur."""
        known: dict[int, dict[int, int]] = {}
        longest = 1
        for (words, slot), count in Counter(values).items():
            if (length := words.count(" ") + 1) <= MAX_WORDS:
                known.setdefault(_sum(words), {})[slot] = count
                longest = max(longest, length)
        return cls(known, longest)

    def features(
        self, text: str, words: Sequence[Span], own: Iterable[tuple[str, int]] = ()
    ) -> list[list[int]]:
        """Of each word the buckets of the known values that it may be part of.

        own: values that are to be taken as seen once less: those of the text itself, while
            learning from it.
        """
        lower = [text[start:end].lower() for start, end in words]
        less = Counter((_sum(value), slot) for value, slot in own)
        found: list[set[int]] = [set() for _ in words]
        covered: dict[int, list[tuple[int, int]]] = {}
        for first, past, phrase in phrases(lower, self.longest):
            key = _sum(phrase)
            for slot, count in self._known.get(key, {}).items():
                if count > less[key, slot]:
                    covered.setdefault(slot, []).append((first, past))
        for slot, places in covered.items():
            for first, past in places:
                if any(a <= first and past <= b and (a, b) != (first, past) for a, b in places):
                    continue  # within a longer one
                for i in range(first, past):
                    part = "B" if i == first else "I"
                    long = min(past - first, 3)
                    found[i].add(bucket(f"l{part}{slot}"))
                    found[i].add(bucket(f"l{part}{slot} {long}"))
        return [sorted(buckets) for buckets in found]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``of_arrays`` makes a lexicon of."""
        rows = sorted((key, slot) for key, slots in self._known.items() for slot in slots)
        return {
            "lexicon": np.array([key for key, _ in rows], np.uint32),
            "lexicon_slots": np.array([slot for _, slot in rows], np.uint16),
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], longest: int, n_slots: int) -> Lexicon:
        """Raises ValueError, KeyError for what does not fit together."""
        keys, slots = arrays["lexicon"], arrays["lexicon_slots"]
        if keys.shape != slots.shape or (len(slots) and int(slots.max()) >= n_slots):
            raise ValueError("the lexicon's arrays do not fit")
        known: dict[int, dict[int, int]] = {}
        for key, slot in zip(keys.tolist(), slots.tolist(), strict=True):
            known.setdefault(key, {})[slot] = 1
        return cls(known, min(max(longest, 1), MAX_WORDS))


def _sum(words: str) -> int:
    return zlib.crc32(words.encode("utf-8", "replace"))
