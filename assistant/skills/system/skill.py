"""Commands about the conversation itself: stop, repeat, what can you do."""

from __future__ import annotations

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State


class SystemSkill(Skill):
    name = "system"
    abilities = ("repeat what I said",)
    phrases = ("stop", "never mind", "say that again", "what can you do")

    def __init__(self, cfg: Config, state: State) -> None:
        self._replies = {"system.thanks": "You're welcome.", "system.hello": "Hello."}

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        if intent.name == "system.stop":
            return Outcome("OK.", {"skill": self.name, "do": "stop"}, control="stop")
        if intent.name == "system.repeat":
            return Outcome(turn.last_reply or "I haven't said anything yet.")
        if intent.name == "system.heard":
            if not turn.last_utterance:
                return Outcome("I haven't heard anything yet.")
            return Outcome(f"I heard: {turn.last_utterance}")
        if intent.name == "system.help":
            return Outcome(f"I can {spoken.listing(turn.abilities)}.")
        return Outcome(self._replies[intent.name])
