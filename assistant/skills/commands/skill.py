"""The user's own commands: a reply for each sentence in ``understand.commands``."""

from __future__ import annotations

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State


class CommandsSkill(Skill):
    name = "commands"

    def __init__(self, cfg: Config, state: State) -> None:
        self.phrases = tuple(s for said in cfg.understand.commands.values() for s in said)

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        return Outcome(intent.slots["reply"])
