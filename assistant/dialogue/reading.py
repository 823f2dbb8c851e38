"""What a sentence means in the place where it is said: alone, as an answer, after a command."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assistant.dialogue.context import Context, Done
from assistant.dialogue.naming import with_noun, with_nouns
from assistant.dialogue.several import several
from assistant.dialogue.slip import put_right
from assistant.intent.base import Intent, Understander
from assistant.intent.followup import MAX_WORDS, Followup, followup, points_back
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.yes_no import undecided, yes_no
from assistant.skills.base import TurnContext
from assistant.skills.registry import Registry

UNDO = "dialogue.undo"
"""What "Shall I undo that?" expects."""

SEVERAL = "dialogue.several"

_UNDO = Intent("system.undo")
_DROP = Intent("system.stop")
_TAKE_BACK = re.compile(
    r"^(?:cancel|scratch|delete|forget|strike|revert|reverse) (?:that|it|this)$"
    r"|^(?:no )?do not do (?:that|it)$|^take (?:that|it) back$"
)
_THANKS = frozenset("thank thanks cheers ta".split())
_GREETING = frozenset("hello hi hey morning evening afternoon".split())
_ALL_DONE = re.compile(
    r"(?:(?:no|ok|okay|thanks|thank you|great|perfect|well|alright|good) )*"
    r"(?:that (?:is|was|will be) (?:all|it|everything)|nothing (?:else|more))"
    r"(?: (?:i need|for now|for today|now|thanks|thank you|very much|so much|please))*"
)
_NOTHING = "nothing-else"
"""Stands for a command between courtesies."""

_DOUBTS = re.compile(
    r"(?:are you (?:really )?sure|really|seriously|what do you mean|why)(?: about that)?"
)
_OF_THE_LAST = re.compile(
    r"^(?:(?:a|just|much|even|still|little|tiny|bit|lot|touch|slightly|make|it) )*"
    r"(?:brighter|dimmer|darker|lighter|warmer|hotter|cooler|colder|higher|lower|faster|slower"
    r"|louder|quieter|softer)$"
    r"|^(?:no )?(?:the|that|this) (?:[\w'-]+ ){1,3}ones?$"
    r"|^(?:resume|continue|unpause|carry on|go on|keep going|start again)(?: (?:now|again|then))*$"
)
"""Of what was just spoken of, where it is something that can be so."""

_OWN = frozenset(("timer.set", "reminder.set", "stopwatch.start", "timer.cancel"))
"""Commands that are no task of a reminder."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_BRIEF_WORDS = 3
_NEW_MATTER = re.compile(
    r"^(?:what|who|whose|when|where|which|how|why|is|are|was|were|do|does|did|can|could|will|would"
    r"|should|has|have|tell|say|give|sing|play|read|show|explain|talk|let|stop|help|set|turn|put|add"
    r"|remind|hello|hi|hey|thank|thanks|i|you|we|my)\b"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be done.

    intents: in order; more than one for a sentence of several commands.
    undo_first: it takes the place of the last command, which is to be undone.
    asks: a question of the conversation itself to ask instead; nothing else is done then.
    """

    intents: tuple[Intent, ...] = ()
    undo_first: bool = False
    asks: str = ""

    @property
    def intent(self) -> Intent:
        """The one intent, or all of them in one."""
        if len(self.intents) == 1:
            return self.intents[0]
        commands = [{"intent": i.name, "slots": dict(i.slots)} for i in self.intents]
        return Intent(SEVERAL, {"commands": commands}, asks=any(i.asks for i in self.intents))


class Reader:
    """Reads sentences in the light of the conversation; changes nothing."""

    def __init__(
        self,
        registry: Registry,
        understander: Understander,
        context: Context,
        turn: Callable[[str], TurnContext],
    ) -> None:
        """turn: what a skill may know, for a text."""
        self._registry = registry
        self._understander = understander
        self._context = context
        self._turn = turn

    def read(self, text: str, *, guess: bool = True) -> Reading | None:
        """None for what is no command, as talk is.

        guess: False for words that may not be whole yet, or not what was said.
        """
        answer = self._answer(text)
        if answer is not None:
            return Reading((answer,))
        hangs = followup(text)
        done = self._context.done
        # "turn it off" means what was just spoken of, before it means anything else
        if done is not None and self._points_at(done, hangs, text):
            found = self._take_back(done, text) or self._revised(done, hangs, text)
            if found is not None:
                return found
        whole = self._understander.exactly(text)
        if whole is not None and whole.name == "reminder.set" and not whole.asks:
            # "remind me at ten to call and set a timer for ten minutes": nobody wants to be
            # reminded of setting a timer
            parts = several(text, self._understander.exactly)
            if parts and not parts[0].asks and {i.name for i in parts[1:]} <= _OWN:
                return Reading(parts)
        if whole is not None:
            return Reading((whole,))
        parts = several(text, self._understander.exactly)
        if parts:
            return Reading(parts)
        alone = put_right(text, self._understander.exactly) or self._named(done, text)
        if alone is not None:
            return Reading((alone,))
        if done is not None:
            found = self._corrected(done, hangs) or self._revised(done, hangs, text)
            if found is not None:
                return found
            if hangs.denies and not hangs.rest and done.outcome.undo is not None:
                return Reading(asks="Shall I undo that?")
        whole = _courtesy(text) or (self._understander.understand(text) if guess else None)
        return Reading((whole,)) if whole is not None else None

    def unanswered(self, text: str, *, other: bool = False) -> str:
        """The open question to ask once more, or "" when the text is another matter.

        other: it is known to be, unless it doubts the question.
        """
        question = self._context.question
        plain = strip_courtesy(normalize(text))
        if question is not None and _DOUBTS.fullmatch(plain):
            return _SENTENCES.split(question.text)[-1]
        brief = len(plain.split()) <= _BRIEF_WORDS and not text.rstrip().endswith("?")
        if question is None or question.again or other or not brief or _NEW_MATTER.match(plain):
            return ""
        # what was told before the question need not be told again
        asked = _SENTENCES.split(question.text)[-1]
        return f"Sorry, {asked[:1].lower()}{asked[1:]}"

    def _named(self, done: Done | None, text: str) -> Intent | None:
        """A command about what is called by its name alone, or as one of those just told."""
        noun = self._registry.noun(done.intent) if done is not None else ""
        one = with_noun(text, noun)
        for line in (*([one] if one else []), *with_nouns(text, self._registry.nouns())):
            found = self._understander.exactly(line)
            # what makes something new gives it the name
            if found is not None and not found.name.endswith((".set", ".create")):
                return found
        return None

    def _answer(self, text: str) -> Intent | None:
        """The intent of a text that answers the open question."""
        question = self._context.question
        if question is None:
            return None
        said = yes_no(text)
        if question.expects == UNDO:
            return None if said is None else _UNDO if said else _DROP
        found = self._registry.complete(question.expects, text, question.known)
        return found or (_DROP if said is False or undecided(text) else None)

    def _points_at(self, done: Done, hangs: Followup, text: str) -> bool:
        if len(text.split()) > MAX_WORDS or self._ringing():
            return False
        if hangs.kind == "also":
            # "and the kitchen light" after a question is one, and switches nothing
            return done.outcome.action is None
        plain = strip_courtesy(normalize(text))
        return hangs.kind == "again" or points_back(text) or _OF_THE_LAST.match(plain) is not None

    def _ringing(self) -> bool:
        scheduler = self._registry.scheduler
        return scheduler is not None and bool(scheduler.timers("ringing"))

    def _take_back(self, done: Done, text: str) -> Reading | None:
        """ "Cancel that" right after something was done that can be undone."""
        plain = strip_courtesy(normalize(text))
        if done.outcome.undo is None or _TAKE_BACK.match(plain) is None:
            return None
        return Reading((_UNDO,))

    def _revised(self, done: Done, hangs: Followup, text: str) -> Reading | None:
        """What the skill of the last command makes of the text."""
        if len(text.split()) > MAX_WORDS or (hangs.kind == "correct" and not hangs.rest):
            return None
        found = self._registry.revise(done.intent, text, self._turn(text))
        if found is None:
            return None
        replaces = hangs.kind == "correct" and (hangs.denies or found.name == done.intent.name)
        return Reading((found,), undo_first=replaces and self._undoable(done, found))

    def _corrected(self, done: Done, hangs: Followup) -> Reading | None:
        """A whole command after "no": "no, turn on the radio"."""
        if not hangs.denies or not hangs.rest:
            return None
        found = self._understander.exactly(hangs.rest)
        if found is None:
            return None
        same = found.name.split(".")[0] == done.intent.name.split(".")[0]
        return Reading((found,), undo_first=same and self._undoable(done, found))

    def _undoable(self, done: Done, found: Intent) -> bool:
        return done.outcome.undo is not None and not self._registry.overrides(done.intent, found)


def _courtesy(text: str) -> Intent | None:
    """Thanks or a greeting among other courtesy: "well, thank you", "no, that's all"."""
    words = normalize(text).split()
    if len(words) > MAX_WORDS:
        return None
    if _ALL_DONE.fullmatch(" ".join(words)):
        return Intent("system.thanks")
    around = (" ".join([*words[:at], _NOTHING, *words[at:]]) for at in range(len(words) + 1))
    if not any(strip_courtesy(line) == _NOTHING for line in around):
        return None
    if _THANKS.intersection(words):
        return Intent("system.thanks")
    return Intent("system.hello") if _GREETING.intersection(words) else None
