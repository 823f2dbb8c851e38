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
        self._replies = {
            "system.thanks": "You're welcome.",
            "system.hello": "Hello.",
            "system.identity": "I'm the voice assistant that runs on this device.",
        }
        # in memory only: nothing of what was said is kept
        self._user = ""

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        if intent.name == "system.stop":
            return Outcome("OK.", {"skill": self.name, "do": "stop"}, control="stop")
        if intent.name == "system.repeat":
            return Outcome(turn.last_reply or "I haven't said anything yet.")
        if intent.name == "system.heard":
            if not turn.last_utterance:
                return Outcome("I haven't heard anything yet.")
            return Outcome(f"I heard: {turn.last_utterance}")
        if intent.name == "system.meet":
            self._user = " ".join(
                word[:1].upper() + word[1:] for word in str(intent.slots["person"]).split()
            )
            return Outcome(f"Nice to meet you, {self._user}.")
        if intent.name == "system.user":
            known = f"Your name is {self._user}." if self._user else "I don't know your name yet."
            return Outcome(known)
        if intent.name == "system.help":
            return Outcome(f"I can {spoken.listing(turn.abilities)}.")
        return Outcome(self._replies[intent.name])
