"""Tells by single words whether a text can fit a template at all."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.intent.home_facts import ANY, NAMED, NAMED_LISTS, Facts
from assistant.intent.home_names import Mention


class Words:
    """The words of one text and which of them stand in names.

    kinds: the lists of which the text has a name.
    """

    def __init__(self, text: str, mentions: Sequence[Mention]) -> None:
        self.kinds = {mention.kind for mention in mentions}
        self._words: list[str] = []
        self._covered: list[frozenset[str]] = []
        """For each word the kinds of the names that it is in."""
        start = 0
        for word in text.split(" "):
            self._words.append(word)
            self._covered.append(
                frozenset(m.kind for m in mentions if m.start <= start and start < m.end)
            )
            start += len(word) + 1
        self._beginnings = [_beginnings(word) for word in self._words]
        self._endings = frozenset(self._words[-1][start:] for start in range(len(self._words[-1])))
        self._spelled: dict[frozenset[str], list[list[str]]] = {}

    def fit(self, facts: Facts) -> bool:
        """False when the text cannot fit a template of these facts."""
        kinds = facts.may & NAMED_LISTS
        if not self._is_edge(facts.first, self._beginnings[0], 0, kinds):
            return False
        if not self._is_edge(facts.last, self._endings, -1, kinds):
            return False
        if facts.free:
            return True
        if kinds not in self._spelled:
            self._spelled[kinds] = self._outside(kinds)
        return all(not facts.words.isdisjoint(word) for word in self._spelled[kinds])

    def _is_edge(
        self,
        edge: frozenset[str],
        pieces: Sequence[str] | frozenset[str],
        at: int,
        kinds: frozenset[str],
    ) -> bool:
        return (
            ANY in edge
            or (NAMED in edge and not kinds.isdisjoint(self._covered[at]))
            or not edge.isdisjoint(pieces)
            or any(char.isdigit() for char in self._words[at])
        )

    def _outside(self, kinds: frozenset[str]) -> list[list[str]]:
        """The beginnings of the words that are in no name of these kinds, without numbers."""
        return [
            beginnings
            for beginnings, covered in zip(self._beginnings, self._covered, strict=True)
            if covered.isdisjoint(kinds) and not beginnings[-1][0].isdigit()
        ]


def _beginnings(word: str) -> list[str]:
    """The word and what it may be pieced together from: "light" and "s"."""
    return [word[:end] for end in range(min(3, len(word)), len(word) + 1)]
