"""What of the conversation is still open: the last command and the question just asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.intent.base import Intent
from assistant.skills.base import Outcome

QUESTION_S = 60.0
"""A question is open as long as its answer takes: the microphone is opened again, the wake word
said, words looked for, the sentence spoken."""

_ABOUT_THE_QUESTION = frozenset(("system.repeat", "system.heard"))


@dataclass(frozen=True, slots=True)
class Done:
    """A command and what came of it. when: in seconds of the context's clock."""

    intent: Intent
    outcome: Outcome
    when: float


@dataclass(frozen=True, slots=True)
class Question:
    """expects: the intent that the answer completes, whose slots known are known already.

    again: it was asked a second time.
    """

    expects: str
    text: str
    when: float
    known: dict[str, Any] = field(default_factory=dict)
    again: bool = False


class Context:
    """One conversation. Each getter gives None once its matter is too long ago."""

    def __init__(self, forget_after_s: float, clock: Callable[[], float]) -> None:
        """clock: seconds that never jump."""
        self._forget_after_s = forget_after_s
        self._clock = clock
        self._done: Done | None = None
        self._question: Question | None = None

    @property
    def done(self) -> Done | None:
        """The last command, unless talk or a long time has come between."""
        if self._done is not None and self._clock() - self._done.when > self._forget_after_s:
            self._done = None
        return self._done

    @property
    def question(self) -> Question | None:
        """The question that the next sentence may answer."""
        if self._question is not None and self._clock() - self._question.when > QUESTION_S:
            self._question = None
        return self._question

    def acted(self, intent: Intent, outcome: Outcome) -> None:
        """Notes a command; what is only courtesy leaves the one before it in place.

        A question that could not be heard ("pardon?") stays open.
        """
        if intent.name not in _ABOUT_THE_QUESTION:
            self._question = None
        if intent.name == "system.undo" and self._done is not None and outcome.action is not None:
            # what was done and taken back is still what is spoken of
            intent = self._done.intent
        if not intent.name.startswith("system.") or outcome.action is not None:
            self._done = Done(intent, outcome, self._clock())

    def ask(self, expects: str, text: str, known: Mapping[str, Any] | None = None) -> None:
        """A question whose answer completes the intent ``expects``."""
        self._question = Question(expects, text, self._clock(), dict(known or {}))

    def ask_again(self) -> None:
        """The open question is asked a second time."""
        if self._question is not None:
            self._question = replace(self._question, when=self._clock(), again=True)

    def spoken(self) -> None:
        """The reply has been said: from now on its answer is waited for."""
        if self._question is not None:
            self._question = replace(self._question, when=self._clock())

    def talked(self) -> None:
        """Another matter: nothing said from now on hangs on the last command."""
        self._question = self._done = None

    def resume(self, done: Done | None) -> None:
        """What was taken for another matter was none: the last command is as it was."""
        self._done = done
