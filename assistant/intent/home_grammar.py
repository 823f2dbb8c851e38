"""Understands what is said to the home: Home Assistant's own sentences and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assistant.home.base import Snapshot
from assistant.intent import home_sentences
from assistant.intent.base import Intent, Understander
from assistant.intent.home_matcher import HERE, Fit, Matcher
from assistant.intent.home_names import Names, plain
from assistant.intent.normalize import normalize, strip_courtesy

MAX_CHARACTERS = 300


class HomeGrammar(Understander):
    """Sentences about the devices, rooms and floors of one home.

    The names of intents and slots are Home Assistant's with "home." before them. Added
    are the slots ``here`` (True: the room of this device is meant), ``everywhere`` (True:
    the whole home) and, for questions, ``response``: "any", "all", "which", "how_many",
    "one", "one_yesno", "where".
    """

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        """snapshot: gives the home as it is now, at once."""
        self._snapshot = snapshot
        self._version: int | None = None
        self._names = Names(Snapshot())
        self._matcher: Matcher | None = None

    def load(self) -> None:
        """Compiles all sentences. Raises PackageError, IntentError."""
        contents = [home_sentences.package(), home_sentences.own()]
        self._matcher = Matcher(home_sentences.compile_sentences(contents))
        self.understand("set the brightness to fifty percent")

    def understand(self, text: str) -> Intent | None:
        """The intent of ``text``; None when it is not about the home."""
        assert self._matcher is not None, "load() comes before understand()"
        if len(text) > MAX_CHARACTERS:
            return None
        names = self._current_names()
        whole = normalize(text)
        for said in dict.fromkeys((strip_courtesy(whole), whole)):
            words = plain(said)
            if not words:
                continue
            fit = self._matcher.best(words, list(names.mentions(words)))
            if fit is not None:
                return _intent(fit, text)
        return None

    def _current_names(self) -> Names:
        snapshot = self._snapshot()
        if snapshot.version != self._version:
            self._names = Names(snapshot)
            self._version = snapshot.version
        return self._names


def _intent(fit: Fit, text: str) -> Intent:
    slots = {name: _value(value) for name, value in fit.slots.items()}
    for name in fit.free:
        slots[name] = as_said(slots[name], text)
    if slots.get("area") == HERE:
        del slots["area"]
        slots["here"] = True
    if fit.intent in ("HassGetState", "HassRespond"):
        slots["response"] = fit.response
    return Intent(f"home.{fit.intent}", slots)


def _value(value: Any) -> Any:
    """Whole numbers as int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_said(words: str, original: str) -> str:
    """The piece of ``original`` that became ``words``, in the user's own letters."""
    said = original.split()
    for start in range(len(said)):
        for end in range(len(said), start, -1):
            piece = " ".join(said[start:end]).strip(" \t\"'.,!?;:“”„")
            if plain(piece) == words:
                return piece
    return words
