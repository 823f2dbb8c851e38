"""The sentences that may be said now, for the recogniser: commands, names, courtesy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assistant.asr.sentences import Sentences
from assistant.home.base import Snapshot
from assistant.intent.spoken_home import spoken_home

BEFORE = ("please", "okay", "can you", "could you", "can you please", "could you please")

AFTER = ("please", "thanks", "thank you")

Spoken = tuple[tuple[str, ...], dict[str, tuple[str, ...]]]
"""Templates and the lists in them."""


class Expected:
    """Called before each turn; what it gives is made anew only when the names of the home
    have changed."""

    def __init__(
        self,
        grammars: Sequence[Callable[[], Spoken]],
        home: Callable[[], Snapshot] | None,
        wake_phrases: Sequence[str],
    ) -> None:
        """grammars: the sentences of the skills; wake_phrases: may come before a command."""
        self._grammars = grammars
        self._home = home
        self._before = (*wake_phrases, *BEFORE)
        self._made_for: int | None = None
        self._sentences: Sentences | None = None

    def __call__(self) -> Sentences:
        snapshot = self._home() if self._home else Snapshot()
        if self._sentences is None or snapshot.version != self._made_for:
            self._made_for = snapshot.version
            self._sentences = self._make(snapshot)
        return self._sentences

    def _make(self, snapshot: Snapshot) -> Sentences:
        templates: list[str] = []
        lists: dict[str, Sequence[str]] = {"before": self._before, "after": AFTER}
        for more, own in (*(grammar() for grammar in self._grammars), spoken_home(snapshot)):
            templates += more
            lists |= own
        return Sentences(tuple(f"[{{before}}] ({t}) [{{after}}]" for t in templates), lists)
