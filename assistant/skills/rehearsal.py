"""One skill with its own sentences, for trying it out and for its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.intent.grammar import Grammar
from assistant.skills.base import Outcome, TurnContext
from assistant.skills.own import load_folder
from assistant.state import State


class Rehearsal:
    """Talks with the skill in a folder as the assistant would, one turn per ``say``.

    To be used as a context manager; nothing of the real state is touched.
    """

    def __init__(
        self, folder: Path, state_folder: Path, settings: dict[str, Any] | None = None
    ) -> None:
        """state_folder: an empty folder for its state; settings: as under skills.own.NAME.

        Raises SkillError or IntentError with the file and line of what is wrong with it.
        """
        own = {"skills": {"own": {folder.name: settings or {}}}}
        self._state = State(state_folder / "state.db")
        try:
            self.skill = load_folder(folder.resolve(), Config.model_validate(own), self._state)
            self._grammar = Grammar([folder], now=self._state.clock.now)
            self._grammar.load()
        except BaseException:
            self._state.close()
            raise
        self._expects = ""
        self._known: dict[str, Any] = {}
        self._last_reply = self._last_utterance = ""

    def __enter__(self) -> Rehearsal:
        return self

    def __exit__(self, *_: object) -> None:
        self._state.close()

    def understand(self, text: str) -> Intent | None:
        """What the skill's sentences make of a text; None when it is not for this skill."""
        now = self._state.clock.now()
        if self._expects and self._expects.split(".")[0] == self.skill.name:
            answer = self.skill.complete(self._expects, text, dict(self._known), now)
            if answer is not None:
                return answer
        return self._grammar.understand(text)

    def say(self, text: str) -> Outcome:
        """What the skill does when ``text`` is said. Raises LookupError when it is not for it."""
        intent = self.understand(text)
        if intent is None:
            raise LookupError(f'no sentence of {self.skill.name} takes "{text}"')
        turn = TurnContext(
            now=self._state.clock.now,
            state=self._state,
            utterance=text,
            last_reply=self._last_reply,
            last_utterance=self._last_utterance,
            abilities=self.skill.abilities,
            skills=(self.skill,),
        )
        outcome = self.skill.handle(intent, turn)
        self._expects, self._known = outcome.expects, outcome.known
        self._last_reply, self._last_utterance = outcome.reply, text
        return outcome
