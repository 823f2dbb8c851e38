"""Dice, coins, random numbers, and a choice for those who cannot make one."""

from __future__ import annotations

import random
import re

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.chance.jokes import JOKES
from assistant.skills.marks import valued
from assistant.state import State

KINDS = {
    "dice": ("dice",),
    "span": ("span",),
    "options": ("both",),
    "count": ("number",),
    "high": ("number",),
}
READ_OUT = 10
"""More dice than these are only added up."""

MAX_COINS = 1000
_AGAIN = re.compile(
    r"(?:and )?(?:(?:do|try|roll|throw|flip|toss|pick|choose)(?: (?:it|them|that|one))? )?"
    r"(?:again|once more|one more time|another(?: one)?|a different one)(?: please)?"
)


class ChanceSkill(Skill):
    name = "chance"
    abilities = ("roll dice", "tell jokes")
    topics = ("dice", "jokes", "coins", "games", "random numbers", "chance", "choices", "deciding")
    examples = (
        "roll two dice",
        "flip a coin",
        "pick a number between 1 and 10",
        "pick pizza or pasta",
        "roll a d20",
        "tell me a joke",
    )
    phrases = ("roll a die", "roll two dice", "flip a coin", "heads or tails", "random number")

    def __init__(self, cfg: Config, state: State, rng: random.Random | None = None) -> None:
        """rng: where chance comes from; the system's own unless a test brings another."""
        self._rng = rng or random.SystemRandom()
        self._jokes: list[str] = []

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = valued(intent, turn.now(), KINDS)
        slots = intent.slots
        if intent.name == "chance.dice":
            return Outcome(self._dice(int(slots.get("count", 1)), int(slots.get("sides", 6))))
        if intent.name == "chance.coin":
            return self._coins(slots.get("count", 1))
        if intent.name == "chance.joke":
            return Outcome(self._joke())
        if intent.name == "chance.pick":
            if not slots.get("options"):
                raise SkillError("chance.options", "I didn't catch what there is to choose from.")
            choice = str(self._rng.choice(slots["options"]))
            return Outcome(f"{choice[:1].upper()}{choice[1:]}.")
        low, high = int(slots.get("low", 1)), int(slots.get("high", 100))
        return Outcome(f"{self._rng.randint(min(low, high), max(low, high))}.")

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        words = normalize(text)
        return last if _AGAIN.fullmatch(words) else None

    def _joke(self) -> str:
        """One at random; none a second time until all were told."""
        if not self._jokes:
            self._jokes = list(JOKES)
            self._rng.shuffle(self._jokes)
        return self._jokes.pop()

    def _dice(self, count: int, sides: int) -> str:
        rolled = [self._rng.randint(1, sides) for _ in range(count)]
        if count == 1:
            return f"You rolled {_article(rolled[0])} {rolled[0]}."
        if count > READ_OUT:
            return f"{count} dice make {sum(rolled)} together."
        return f"{spoken.listing(map(str, rolled))}, that makes {sum(rolled)}."

    def _coins(self, count: float) -> Outcome:
        if not isinstance(count, int) or not 1 <= count <= MAX_COINS:
            return Outcome(f"I can flip up to {MAX_COINS} coins.", ok=False)
        heads = sum(self._rng.randint(0, 1) for _ in range(count))
        if count == 1:
            return Outcome("Heads." if heads else "Tails.")
        return Outcome(f"{heads} heads and {count - heads} tails.")


def _article(number: int) -> str:
    """An 8, an 11, an 18, an 80 and so on: the others take "a"."""
    text = str(number)
    eleven = text in ("11", "18") or (len(text) == 5 and text[:2] in ("11", "18"))
    return "an" if text[0] == "8" or eleven else "a"
