"""A conversation by text with the real grammar and the real skills."""

from __future__ import annotations

from pathlib import Path

from assistant.config import Config
from assistant.skills.base import Outcome, TurnContext
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.grammars import loaded
from tests.assistant.skills.clocks import FakeClock


class Talk:
    """One device; ``say`` is one turn."""

    def __init__(self, folder: Path, cfg: Config | None = None) -> None:
        self.cfg = cfg or Config()
        self.time = FakeClock()
        self.path = folder / "state.db"
        self.restart()
        self.grammar = loaded(
            self.registry.sentence_dirs, self.cfg.understand, now=lambda: self.time.wall
        )

    def restart(self) -> None:
        self.state = State(self.path, self.time.clock)
        self.registry = Registry.load(self.cfg, self.state)
        self.expects = self.last_reply = self.last_utterance = ""

    def turn(self, text: str = "") -> TurnContext:
        return TurnContext(
            now=lambda: self.time.wall,
            state=self.state,
            utterance=text,
            last_reply=self.last_reply,
            last_utterance=self.last_utterance,
        )

    def say(self, text: str) -> Outcome:
        """Fails the test when nothing was understood."""
        intent = self.registry.complete(self.expects, text) or self.grammar.understand(text)
        assert intent is not None, f"not understood: {text}"
        outcome = self.registry.handle(intent, self.turn(text))
        self.expects = outcome.expects
        self.last_reply, self.last_utterance = outcome.reply, text
        return outcome

    def reply(self, text: str) -> str:
        return self.say(text).reply
