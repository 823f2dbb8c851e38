"""From a transcript to an answer: the grammar and the skills first, talk last."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from assistant.dialogue.history import History, refers_back
from assistant.dialogue.llm import LanguageModel
from assistant.dialogue.memory import asks_about_oneself, recall
from assistant.dialogue.prompts import concerns, facts
from assistant.dialogue.requests import unable
from assistant.errors import AssistantError, LlmError, MissingError
from assistant.events import ActionDone, Event, IntentMatched, Recovered, Trouble
from assistant.intent.base import Intent, Understander
from assistant.skills.base import Outcome, TurnContext
from assistant.skills.registry import Registry
from assistant.skills.spoken import about, length
from assistant.state import State

NOT_HEARD = "Sorry, I didn't catch that."
NO_MODEL = "Sorry, I can't chat, only do commands: my language model is missing."
NO_ANSWER = "Sorry, I can't think of an answer right now."
NOT_TOLD = "Sorry, I don't know that."
NOT_UNDERSTOOD = "Sorry, I don't know how to do that."

TALK = "dialogue.talk"
NONE = "none"

# What a recogniser makes of a cough, a click or a hum.
_FILLERS = frozenset("the a an you uh um hmm mm mhm huh oh ah eh and i it so bye".split())


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be said and what was understood.

    pieces: the text of the answer as it comes; known_text: as much of it as is known
        now (all of a skill's reply, nothing of a generated one).
    outcome: answered, stopped, not_heard, not_understood or failed.
    """

    intent: Intent
    pieces: Iterable[str]
    outcome: str = "answered"
    known_text: str = ""
    action: dict[str, object] | None = None
    question: bool = False
    stop: bool = False


class Manager:
    """Holds what a conversation must remember; one turn at a time.

    talk_error: why the last attempt to talk has failed; None when it has not.
    """

    def __init__(
        self,
        *,
        state: State,
        registry: Registry,
        understander: Understander,
        llm: LanguageModel | None,
        history: History,
        now: Callable[[], datetime],
        emit: Callable[[Event], None],
    ) -> None:
        self._state = state
        self._registry = registry
        self._understander = understander
        self._llm = llm
        self._history = history
        self._now = now
        self._emit = emit
        self._expects = ""
        self._last_reply = ""
        self._last_utterance = ""
        self._utterance = ""
        self.talk_error: AssistantError | None = None

    def respond(self, text: str, *, turn: int, cancel: threading.Event) -> Answer:
        """Understands and acts; the text of the answer is generated as it is read."""
        self._utterance = text
        if not self.meaningful(text):
            self._matched(turn, Intent(NONE, score=0.0, source="dialogue"))
            return self._plain(Intent(NONE, score=0.0, source="dialogue"), NOT_HEARD, "not_heard")
        intent = self.understand(text)
        if intent is not None:
            self._matched(turn, intent)
            return self._act(intent, text, turn)
        self._expects = ""
        if refusal := unable(text):
            unknown = Intent(NONE, score=0.0, source="dialogue")
            self._matched(turn, unknown)
            return self._plain(unknown, refusal, "not_understood")
        if asks_about_oneself(text):
            told = recall(text, self._history.exchanges())
            talk = Intent(TALK, score=0.0, source="dialogue")
            self._matched(turn, talk)
            return self._plain(talk, told or NOT_TOLD, "answered")
        if self._llm is None:
            unknown = Intent(NONE, score=0.0, source="dialogue")
            self._matched(turn, unknown)
            return self._plain(unknown, NOT_UNDERSTOOD, "not_understood")
        talk = Intent(TALK, score=0.0, source="dialogue")
        self._matched(turn, talk)
        return Answer(intent=talk, pieces=self._talk(self._llm, text, turn, cancel))

    def understand(self, text: str) -> Intent | None:
        """The command in the text, also as an answer to the question just asked."""
        answer = self._registry.complete(self._expects, text) if self._expects else None
        return answer or self._understander.understand(text)

    def meaningful(self, text: str) -> bool:
        """False for what is no utterance: no word at all, or a single filler."""
        words = re.findall(r"[^\W_]+", text.lower())
        return bool(words) and not all(word in _FILLERS for word in words)

    def is_stop(self, text: str) -> bool:
        """True when the text asks to be silent now."""
        intent = self._understander.understand(text)
        return intent is not None and intent.name == "system.stop"

    def said(self, text: str) -> None:
        """Notes what was really said, for "repeat that" and for the history."""
        if text:
            self._last_reply = text
        self._last_utterance = self._utterance

    def notices(self) -> list[str]:
        """What is to be said unasked, such as missed timers; each is given out once."""
        return self._registry.notices(self._context(""))

    def vocabulary(self) -> list[str]:
        """Words and phrases that are likely to be said now."""
        return self._registry.vocabulary()

    def volume(self) -> tuple[int, bool]:
        """Volume (0 to 100) and whether the sound is muted."""
        return self._registry.volume()

    def _act(self, intent: Intent, text: str, turn: int) -> Answer:
        outcome = self._registry.handle(intent, self._context(text))
        self._expects = outcome.expects
        self._emit(
            ActionDone(
                turn=turn,
                skill=intent.name.split(".")[0],
                ok=outcome.ok,
                action=outcome.action,
            )
        )
        return self._from_outcome(intent, outcome)

    def _from_outcome(self, intent: Intent, outcome: Outcome) -> Answer:
        return Answer(
            intent=intent,
            pieces=[outcome.reply] if outcome.reply else [],
            outcome="answered" if outcome.ok else "failed",
            known_text=outcome.reply,
            action=outcome.action,
            question=outcome.question,
            stop=outcome.control == "stop",
        )

    def _plain(self, intent: Intent, text: str, outcome: str) -> Answer:
        return Answer(intent=intent, pieces=[text], outcome=outcome, known_text=text)

    def _talk(
        self, llm: LanguageModel, text: str, turn: int, cancel: threading.Event
    ) -> Iterator[str]:
        said: list[str] = []
        # A small model repeats what it sees; earlier turns are shown only where they are meant.
        history = self._history if refers_back(text) else None
        try:
            for piece in llm.reply(text, facts=self._facts(text), history=history, cancel=cancel):
                if not said and self.talk_error is not None:
                    self._emit(Recovered(turn=turn, code=self.talk_error.code))
                    self.talk_error = None
                said.append(piece)
                yield piece
        except (LlmError, MissingError) as error:
            self.talk_error = error
            self._emit(Trouble(turn=turn, code=error.code, message=error.message, hint=error.hint))
            if not said:
                yield NO_MODEL if isinstance(error, MissingError) else NO_ANSWER
        if said and not cancel.is_set():
            self._history.add(text, "".join(said))

    def _facts(self, text: str) -> tuple[str, ...]:
        scheduler = self._registry.scheduler
        timers = scheduler.timers() if scheduler is not None else []
        time_wanted, timers_wanted = concerns(text, [t.name for t in timers])
        known = [f"{t.name or length(t.seconds)}, {about(t.left)} left" for t in timers]
        return facts(self._now() if time_wanted else None, timers=known if timers_wanted else ())

    def _context(self, text: str) -> TurnContext:
        return TurnContext(
            now=self._now,
            state=self._state,
            utterance=text,
            last_reply=self._last_reply,
            last_utterance=self._last_utterance,
        )

    def _matched(self, turn: int, intent: Intent) -> None:
        self._emit(
            IntentMatched(
                turn=turn,
                intent=intent.name,
                score=intent.score,
                source=intent.source,
                slots=dict(intent.slots),
            )
        )
