"""Understands what the user has taught."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from assistant.errors import AssistantError
from assistant.intent.base import Intent, Understander
from assistant.intent.heads.states import TextStates
from assistant.intent.taught.addon import AddOn
from assistant.intent.taught.learn import AT_LIMIT

log = logging.getLogger(__name__)


class Taught(Understander):
    """A sentence that was an example is certain; what is like the examples is guessed."""

    def __init__(self, path: Path, states: TextStates | None) -> None:
        """states: None understands the examples themselves only."""
        self._path = path
        self._states = states
        self._failed = False
        self.addon: AddOn | None = None

    def load(self) -> None:
        """Reads the file. One that cannot be used is told of in the log: the rest works."""
        try:
            self.addon = AddOn.load(self._path)
        except AssistantError as error:
            log.warning("what was taught is not understood: %s", error)

    def exactly(self, text: str) -> Intent | None:
        meaning = self.addon.exactly(text) if self.addon is not None else None
        return meaning.intent if meaning is not None else None

    def understand(self, text: str) -> Intent | None:
        exact = self.exactly(text)
        if exact is not None or self.addon is None or self._states is None:
            return exact
        try:
            scores = self.addon.scores(text, self._states)
            self._failed = False
        except AssistantError as error:
            if not self._failed:
                log.warning("only the taught sentences themselves are understood: %s", error)
            self._failed = True
            return None
        best = max(range(len(scores)), key=scores.__getitem__)
        if scores[best] < AT_LIMIT:
            return None
        return replace(self.addon.meanings[best].intent, score=scores[best])
