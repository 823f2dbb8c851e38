"""What a head made of a sentence -> the intent that is acted on, its values still in words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.intent.heads.example import Mark
from assistant.intent.heads.head import Meaning
from assistant.intent.heads.heads import as_said
from assistant.intent.home_marks import read_marks
from assistant.intent.values.duration import find_durations
from assistant.intent.values.number import find_numbers


class Finish:
    """Says which meanings can be acted on; the skills make values of the words themselves."""

    def __init__(
        self, snapshot: Callable[[], Snapshot] | None, without_home: Collection[str] = ()
    ) -> None:
        """snapshot: of the home, None where there is none; without_home: names of its intents that
        are for something else as well, less "home."."""
        self._snapshot = snapshot
        self._without_home = frozenset(without_home)

    def __call__(self, meaning: Meaning, text: str) -> Intent | None:
        """None for what is said to a home that is not there, or lacks what it needs."""
        intent = as_said(replace(meaning, marks=with_whole_numbers(meaning.marks, text)), text)
        skill, _, action = intent.name.partition(".")
        if skill != "home":
            return intent
        if self._snapshot is None and action not in self._without_home:
            return None
        snapshot = self._snapshot() if self._snapshot is not None else Snapshot()
        return intent if read_marks(intent, text, snapshot) is not None else None


def with_whole_numbers(marks: tuple[Mark, ...], text: str) -> tuple[Mark, ...]:
    """The marks, with those that cut a number in two made to hold all of it.

    "half minutes" out of "six and a half minutes" would be another number than was said.
    """
    if not marks:
        return marks
    numbers = [(s.start, s.end) for s in (*find_durations(text), *find_numbers(text))]
    found = []
    for mark in marks:
        start, end = mark.start, mark.end
        for first, last in numbers:
            if first < end and start < last:
                start, end = min(start, first), max(end, last)
        found.append(Mark(start, end, mark.slot))
    return tuple(found)
