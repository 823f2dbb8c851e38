"""From a transcript to an answer: the grammar and the skills first, talk last."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assistant.dialogue.context import Context, Done
from assistant.dialogue.ellipsis import in_full
from assistant.dialogue.foreseen import Foreseen, Topic
from assistant.dialogue.history import History, refers_back
from assistant.dialogue.honesty import honest
from assistant.dialogue.itself import about_itself
from assistant.dialogue.llm import LanguageModel
from assistant.dialogue.memory import asks_about_oneself, recall
from assistant.dialogue.nonsense import NOT_UNDERSTOOD as NONSENSE
from assistant.dialogue.nonsense import sensible
from assistant.dialogue.prompts import concerns, facts
from assistant.dialogue.reading import UNDO, Reader, Reading
from assistant.dialogue.requests import unable
from assistant.dialogue.sentences import is_closed
from assistant.dialogue.small_talk import NO_MATTER, small_talk
from assistant.dialogue.use_log import Entry, UseLog
from assistant.errors import AssistantError, LlmError, MissingError
from assistant.events import ActionDone, Event, IntentMatched, Recovered, Trouble
from assistant.intent.base import Intent, Understander
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.repair import repaired
from assistant.skills.base import Outcome, TurnContext
from assistant.skills.guard import FAILURES
from assistant.skills.registry import Registry
from assistant.skills.spoken import about, length
from assistant.skills.timer.table import ALARM, REMINDER
from assistant.skills.timer.which import title
from assistant.state import State

log = logging.getLogger(__name__)

NOT_HEARD = "Sorry, I didn't catch that."
NO_MODEL = "Sorry, I can't chat, only do commands: my language model is missing."
NO_ANSWER = "Sorry, I can't think of an answer right now."
NOT_TOLD = "Sorry, I don't know that."
NOT_UNDERSTOOD = "Sorry, I don't know how to do that."
REFRAINED = "OK, I won't."

SNOOZES = ("timer.snooze", "timer.add")
"""What puts off a ring that is heard: "snooze", "five more minutes"."""

TALK = "dialogue.talk"
NONE = "none"

_NOT_TO = re.compile(r"(?:please )?(?:do not|never)(?: ever)? (?P<what>\w+ .+)")

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
        use_log: UseLog | None = None,
    ) -> None:
        """use_log: where each turn is kept; None keeps none."""
        self._state = state
        self._registry = registry
        self._understander = understander
        self._llm = llm
        self._history = history
        self._now = now
        self._emit = emit
        self._context = Context(history.forget_after_s, history.clock)
        self._reader = Reader(registry, understander, self._context, self._turn_context)
        self._last_reply = ""
        self._last_utterance = ""
        self._utterance = ""
        self._use_log = use_log
        self._answered: tuple[int, Answer] | None = None
        self._foreseen: Foreseen | None = None
        self.talk_error: AssistantError | None = None

    def respond(self, text: str, *, turn: int, cancel: threading.Event) -> Answer:
        """Understands and acts; the text of the answer is generated as it is read."""
        self._utterance = text
        foreseen, self._foreseen = self._foreseen, None
        answer = self._respond(text, turn, cancel, foreseen)
        self._answered = turn, answer
        return answer

    def _respond(
        self, text: str, turn: int, cancel: threading.Event, foreseen: Foreseen | None
    ) -> Answer:
        if not self.meaningful(text):
            return self._plain(turn, NONE, NOT_HEARD, "not_heard")
        done = self._context.done
        doings = done.outcome.reply if done is not None else ""
        fitting = small_talk(text, self._now(), doings)
        # what has a fitting answer is not guessed to be a command
        reading = self._reader.read(text, guess=not fitting)
        if reading is not None and reading.asks:
            self._context.ask(UNDO, reading.asks)
            return self._ask(turn, UNDO, reading.asks)
        if reading is not None:
            self._matched(turn, reading.intent)
            return self._act(reading, text, turn)
        question = self._context.question
        other = fitting not in ("", *NO_MATTER)
        if question is not None and (again := self._reader.unanswered(text, other=other)):
            self._context.ask_again()
            return self._ask(turn, question.expects, again)
        # it leaves the last command in place, as courtesy does
        if fitting := fitting or self._refrained(text):
            return self._plain(turn, TALK, fitting, "answered")
        text = self._in_full(text)
        # a request that fails is no other matter: the next one may be about the last command
        if refusal := unable(text, self._registry.skills):
            return self._plain(turn, NONE, refusal, "not_understood")
        topic = self._topic(text)
        self._context.talked()
        if known := self._known(text, doings):
            return self._plain(turn, TALK, known, "answered")
        if self._llm is None:
            return self._plain(turn, NONE, NOT_UNDERSTOOD, "not_understood")
        talk = Intent(TALK, score=0.0, source="dialogue")
        self._matched(turn, talk)
        if foreseen is None or not foreseen.is_about(topic):
            generated = self._generated(self._llm, topic, cancel)
        else:
            generated = iter(foreseen)
        pieces = self._talk(generated, topic, done, turn, cancel)
        return Answer(intent=talk, pieces=pieces)

    def _in_full(self, text: str) -> str:
        exchanges = self._history.exchanges()
        return in_full(text, exchanges[-1].user if exchanges else "")

    def _known(self, text: str, doings: str) -> str:
        """What can be told about itself and about the user; "" for any other matter."""
        if known := about_itself(text, area=self._registry.area, done=doings):
            return known
        if asks_about_oneself(text):
            return recall(text, self._history.exchanges()) or NOT_TOLD
        return ""

    def _topic(self, text: str) -> Topic:
        # A small model repeats what it sees; earlier turns are shown only where they are meant.
        shown = self._history.exchanges() if refers_back(text) else ()
        return Topic(text, self._facts(text), tuple(shown))

    def foresee(self, text: str, cancel: threading.Event) -> Foreseen | None:
        """The answer to talk that ``respond`` would give, not begun yet; None for other matters.

        Does nothing and tells nobody; what it finds out about the text is only found faster
        later. ``respond`` to the same text goes on with it. cancel: ends what was begun.
        """
        text = self.repaired(text)
        if self._llm is None or self.talk_error is not None or not self.meaningful(text):
            return None
        done = self._context.done
        doings = done.outcome.reply if done is not None else ""
        fitting = small_talk(text, self._now(), doings)
        if self._reader.read(text, guess=not fitting) is not None:
            return None
        if fitting or self._context.question is not None or self._refrained(text):
            return None
        text = self._in_full(text)
        if unable(text, self._registry.skills) or self._known(text, doings):
            return None
        topic = self._topic(text)
        self._foreseen = Foreseen(topic, self._generated(self._llm, topic, cancel), cancel)
        return self._foreseen

    def forget(self, foreseen: Foreseen) -> None:
        """It is not what the turn has ended with."""
        if self._foreseen is foreseen:
            self._foreseen = None

    def _refrained(self, text: str) -> str:
        """What to say to "don't turn on the light"; "" where that is no command."""
        told_not_to = _NOT_TO.match(strip_courtesy(normalize(text)))
        if told_not_to is None:
            return ""
        return REFRAINED if self._understander.exactly(told_not_to["what"]) else ""

    def understand(self, text: str) -> Intent | None:
        """The command in the text, also one that hangs on what was said before."""
        reading = self._reader.read(text, guess=False)
        return reading.intent if reading is not None and reading.intents else None

    def repaired(self, text: str) -> str:
        """What was heard, with names put right where only that makes it a command."""
        return repaired(text, self.vocabulary(), self.understand)

    def meaningful(self, text: str) -> bool:
        """False for what is no utterance: no word at all, or a single filler."""
        words = re.findall(r"[^\W_]+", text.lower())
        return bool(words) and not all(word in _FILLERS for word in words)

    def is_stop(self, text: str) -> bool:
        """True when the text asks to be silent now."""
        intent = self._understander.exactly(text)
        return intent is not None and intent.name == "system.stop"

    def snooze(self, text: str) -> str:
        """Lets what rings ring again later, where the text asks for it; what to say, or ""."""
        intent = self._understander.exactly(text)
        if intent is None or intent.name not in SNOOZES:
            return ""
        return self._registry.handle(intent, self._turn_context(text)).reply

    def said(self, text: str) -> None:
        """Notes what was really said, for "repeat that" and for the history."""
        if text:
            self._last_reply = text
        self._context.spoken()
        self._last_utterance = self._utterance
        if self._use_log is not None and self._answered is not None:
            turn, answer = self._answered
            self._use_log.add(self._entry(answer, text), turn)
        self._answered = None

    def _entry(self, answer: Answer, said: str) -> Entry:
        return Entry(
            time=self._now().isoformat(timespec="seconds"),
            text=self._utterance,
            intent=answer.intent.name,
            slots=dict(answer.intent.slots),
            score=round(answer.intent.score, 3),
            source=answer.intent.source,
            reply=said,
            outcome=answer.outcome,
        )

    def notices(self) -> list[str]:
        """What is to be said unasked, such as missed timers; each is given out once."""
        return self._registry.notices(self._turn_context(""))

    def vocabulary(self) -> list[str]:
        """Words and phrases that are likely to be said now."""
        return self._registry.vocabulary()

    def volume(self) -> tuple[int, bool]:
        """Volume (0 to 100) and whether the sound is muted."""
        return self._registry.volume()

    def speed(self) -> float:
        """How fast to speak: 1.0 is the voice's own speed."""
        return self._registry.speed()

    def _act(self, reading: Reading, text: str, turn: int) -> Answer:
        if reading.undo_first:
            self._undo_last()
        # what asks for something comes last, so that its answer finds it
        intents = sorted(reading.intents, key=lambda intent: intent.asks)
        outcomes = [self._do(intent, text, turn) for intent in intents]
        outcome = outcomes[0]
        if len(outcomes) > 1:
            outcome = _joined(outcomes)
            self._registry.done(outcome)
        # a correction means what was done rather than what was told
        done = zip(intents, outcomes, strict=True)
        for intent, result in sorted(done, key=lambda pair: pair[1].action is not None):
            self._context.acted(intent, result)
        if outcome.expects:
            self._context.ask(outcome.expects, outcomes[-1].reply, outcome.known)
        return self._from_outcome(reading.intent, outcome)

    def _undo_last(self) -> None:
        """What is corrected goes before the right thing is done; where it cannot, it stays."""
        done = self._context.done
        if done is None or done.outcome.undo is None:
            return
        try:
            done.outcome.undo()
        except AssistantError as error:
            log.warning("what is corrected could not be undone: %s", error)
        except FAILURES:
            log.exception("what is corrected could not be undone")

    def _do(self, intent: Intent, text: str, turn: int) -> Outcome:
        outcome = self._registry.handle(intent, self._turn_context(text))
        self._emit(
            ActionDone(
                turn=turn,
                skill=intent.name.split(".")[0],
                ok=outcome.ok,
                action=outcome.action,
            )
        )
        return outcome

    def _ask(self, turn: int, expects: str, text: str) -> Answer:
        """A question of the conversation itself, or one that is asked once more."""
        intent = Intent(expects, score=0.0, source="dialogue", asks=True)
        self._matched(turn, intent)
        return Answer(intent=intent, pieces=[text], known_text=text, question=True)

    def _from_outcome(self, intent: Intent, outcome: Outcome) -> Answer:
        return Answer(
            intent=intent,
            pieces=[outcome.reply] if outcome.reply else [],
            outcome="answered" if outcome.ok else "failed",
            known_text=outcome.reply,
            action=outcome.action,
            question=outcome.question or self._context.question is not None,
            stop=outcome.control == "stop",
        )

    def _plain(self, turn: int, name: str, text: str, outcome: str) -> Answer:
        intent = Intent(name, score=0.0, source="dialogue")
        self._matched(turn, intent)
        return Answer(intent=intent, pieces=[text], outcome=outcome, known_text=text)

    def _talk(
        self,
        generated: Iterator[str],
        topic: Topic,
        done: Done | None,
        turn: int,
        cancel: threading.Event,
    ) -> Iterator[str]:
        said: list[str] = []
        try:
            for piece in generated:
                if not said and self.talk_error is not None:
                    self._emit(Recovered(turn=turn, code=self.talk_error.code))
                    self.talk_error = None
                said.append(piece)
                # the voice begins at once with a sentence that a blank shows to be over
                yield f"{piece} " if is_closed(piece) else piece
        except (LlmError, MissingError) as error:
            self.talk_error = error
            self._emit(Trouble(turn=turn, code=error.code, message=error.message, hint=error.hint))
            if not said:
                yield NO_MODEL if isinstance(error, MissingError) else NO_ANSWER
        if said == [NONSENSE]:
            self._context.resume(done)
        elif said and not cancel.is_set():
            self._history.add(topic.text, "".join(said))

    def _generated(
        self, llm: LanguageModel, topic: Topic, cancel: threading.Event
    ) -> Iterator[str]:
        history = self._history if topic.exchanges else None
        reply = llm.reply(topic.text, facts=topic.facts, history=history, cancel=cancel)
        return honest(sensible(reply, topic.text))

    def _facts(self, text: str) -> tuple[str, ...]:
        """What is true now and has to do with the text."""
        scheduler = self._registry.scheduler
        timers = scheduler.timers() if scheduler is not None else []
        timers = [timer for timer in timers if timer.kind != REMINDER]
        wanted = concerns(text, [t.name for t in timers])
        names = [title(t) if t.kind == ALARM else t.name or length(t.seconds) for t in timers]
        known = [f"{n}, {about(t.left)} left" for n, t in zip(names, timers, strict=True)]
        done = self._context.done
        return facts(
            self._now() if "time" in wanted else None,
            timers=known if "timers" in wanted else (),
            room=self._registry.area if "room" in wanted else "",
            done=done.outcome.reply if done is not None and "done" in wanted else "",
        )

    def _turn_context(self, text: str) -> TurnContext:
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


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Several outcomes as one: every reply, every action, undone together in reverse."""
    undos = [outcome.undo for outcome in outcomes if outcome.undo is not None]

    def undo() -> Outcome:
        return _joined([undo() for undo in reversed(undos)])

    actions = [outcome.action for outcome in outcomes if outcome.action is not None]
    return replace(
        outcomes[-1],
        reply=" ".join(outcome.reply for outcome in outcomes if outcome.reply),
        action={"do": "several", "actions": actions} if actions else None,
        ok=all(outcome.ok for outcome in outcomes),
        undo=undo if undos else None,
    )
