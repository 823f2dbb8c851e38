"""Commands about the conversation itself: stop, repeat, what can you do."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State

SAID = 4
"""So many examples are given for one topic."""


class SystemSkill(Skill):
    name = "system"
    abilities = ("undo the last thing",)
    topics = ("help", "undo", "yourself", "you")
    examples = ("undo that", "say that again", "what did you hear", "never mind", "what can you do")
    phrases = ("stop", "never mind", "say that again", "what can you do", "undo that")

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
            # a question that is open is dropped; else something was meant that is not there
            what = "" if turn.last_reply.endswith("?") else str(intent.slots.get("what", ""))
            reply = f"There is nothing to {what}." if what else "OK."
            return Outcome(reply, {"skill": self.name, "do": "stop"}, control="stop")
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
            return Outcome(self._help(str(intent.slots.get("topic", "")), turn))
        return Outcome(self._replies[intent.name])

    def _help(self, topic: str, turn: TurnContext) -> str:
        """What there is, in a sentence; for a topic a few sentences to say."""
        about = _about(topic, turn.skills)
        if about is not None and about.examples:
            said = " Or: ".join(f"{text}." for text in about.examples[:SAID])
            return f"You can say: {said}"
        if topic:
            return f"I don't know how to help with {topic}. {self._help('', turn)}"
        told = [skill for skill in turn.skills if skill.topics and skill.examples]
        hint = f" Ask what I can do with {told[0].topics[0]} for examples." if told else ""
        return f"I can {spoken.listing(turn.abilities)}.{hint}"


def _about(topic: str, skills: Sequence[Skill]) -> Skill | None:
    """The skill that deals with what was named."""
    wanted = _key(topic)
    if not wanted:
        return None
    for skill in skills:
        if wanted in (_key(name) for name in (skill.name, *skill.topics)):
            return skill
    named = ((skill, _key(name)) for skill in skills for name in (skill.name, *skill.topics))
    return next((skill for skill, name in named if name & wanted), None)


def _key(name: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s") for word in normalize(name).split()) - {"the", "my"}
