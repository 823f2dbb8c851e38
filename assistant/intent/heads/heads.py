"""Understands free phrasing by a trained head; says nothing where it is not sure."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from assistant.errors import AssistantError, ModelError
from assistant.intent.base import Intent, Understander
from assistant.intent.heads.example import OUT_OF_SCOPE
from assistant.intent.heads.head import Head, Meaning
from assistant.intent.heads.states import TextStates

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).parents[1] / "files" / "own.head"
"""The head for the assistant's own intents."""

Finish = Callable[[Meaning, str], "Intent | None"]
"""Makes the intent of a meaning and the text that its marks point into."""


class Heads(Understander):
    """One head over a language model that reads for it.

    The model is loaded when the first sentence comes, or by ``warm_up``.
    """

    def __init__(
        self,
        path: Path,
        states: TextStates,
        *,
        min_score: float = 0.0,
        finish: Finish | None = None,
    ) -> None:
        """min_score: below it nothing is understood; 0 takes the head's own threshold.

        finish: by default the values are the words themselves.
        """
        self._path = path
        self._states = states
        self._min_score = min_score
        self._finish = finish or as_said
        self._head: Head | None = None
        self._failed = False

    def load(self) -> None:
        """Reads the file of the head, once. Raises ModelError for one of the user's; without
        the one that is shipped, only whole commands are understood, which is logged."""
        if self._head is not None:
            return
        try:
            self._head = Head.load(self._path)
        except ModelError as error:
            if self._path != SHIPPED:
                raise
            log.warning("only whole commands are understood: %s", error)

    def warm_up(self) -> None:
        """Reads one sentence, so that the next one is as fast as any.

        Raises ModelError when the head is for another model, and what the model raises.
        """
        if self._head is None:
            return
        self._head.check(self._states)
        self._head.read("warm up", self._states)

    def understand(self, text: str) -> Intent | None:
        """The intent where it is sure enough, else None; also when the model fails, which is
        logged once: talk tells of it."""
        if self._head is None:
            return None
        try:
            self._head.check(self._states)
            meaning = self._head.read(text, self._states)
            self._failed = False
        except AssistantError as error:
            if not self._failed:
                log.warning("only whole commands are understood: %s", error)
            self._failed = True
            return None
        if meaning.intent == OUT_OF_SCOPE or meaning.score < (
            self._min_score or self._head.threshold
        ):
            return None
        return self._finish(meaning, text)

    def exactly(self, text: str) -> Intent | None:
        """None: this guesses."""
        return None


def as_said(meaning: Meaning, text: str) -> Intent:
    """The values are the words of the text; of several for one slot the first."""
    slots: dict[str, str] = {}
    for mark in meaning.marks:
        slots.setdefault(mark.slot, text[mark.start : mark.end])
    return Intent(meaning.intent, dict(slots), score=meaning.score, source="heads")
