"""Contract of a skill: sentences in en.yaml beside skill.py, one method per intent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from assistant.intent.base import Intent

if TYPE_CHECKING:
    from assistant.config import Config
    from assistant.home.base import Home
    from assistant.state import State


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a skill did and what is to be said.

    reply: text for the voice; "" says nothing.
    action: JSON-ready description of what was done, None when nothing was
        (a question was answered, or it failed).
    ok: False when it could not be done; the reply then says why.
    question: True when the reply asks something and an answer is expected.
    expects: intent name that a bare answer (such as "five minutes") completes.
    known: slots of that intent that are already known.
    control: a request to the pipeline: "" or "stop" (be silent now).
    undo: takes back what was done and says so, for "undo that"; None where nothing was
        done or where it cannot be taken back. May raise SkillError, as ``handle`` may.
    """

    reply: str = ""
    action: dict[str, Any] | None = None
    ok: bool = True
    question: bool = False
    expects: str = ""
    known: dict[str, Any] = field(default_factory=dict)
    control: str = ""
    undo: Callable[[], Outcome] | None = None


@dataclass
class TurnContext:
    """What a skill may know and use during one turn.

    now: wall-clock time with time zone, from the clock that tests can set.
    utterance: the text as heard.
    last_reply, last_utterance: of the turn before, for "repeat that".
    area: the room of this device as the user calls it, "" when it is not known.
    abilities, skills: what there is, filled in by the registry for "what can you do".
    """

    now: Callable[[], datetime]
    state: State
    utterance: str = ""
    last_reply: str = ""
    last_utterance: str = ""
    area: str = ""
    abilities: tuple[str, ...] = field(default=())
    skills: tuple[Skill, ...] = field(default=())


class Skill(ABC):
    """Answers the intents whose names begin with its own name."""

    name: str
    """Folder name and first part of the intent names."""

    settings: Mapping[str, Any] = MappingProxyType({})
    """Of a user's own skill: what stands under skills.own.NAME in the configuration."""

    abilities: tuple[str, ...] = ()
    """Short phrases for "what can you do", such as "set timers"."""

    topics: tuple[str, ...] = ()
    """What people call the things it deals with, such as "timers" and "alarms"."""

    examples: tuple[str, ...] = ()
    """Whole sentences to say to it, the most useful first, for "what can you do with timers"."""

    phrases: tuple[str, ...] = ()
    """What is often said to it, for recognisers that take a vocabulary."""

    home: Home | None = None
    """The devices of the home, set before the first turn; None when none are configured."""

    def __init__(self, cfg: Config, state: State) -> None:  # noqa: B027 (some need neither)
        """All settings, and what keeps values over a restart."""

    @abstractmethod
    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        """Does what the intent says. Raises SkillError with a speakable message."""

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        """The intent that a bare answer to this skill's question makes, or None.

        Strict: what may be another command, or talk, is None.
        """
        return None

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        """The intent that ``text`` makes of the one just done, such as "make it twenty".

        last: this skill's intent of the turn before. Asked only when ``text`` is no command
        of its own; what need not be meant so is None, since it may be talk.
        """
        return None

    def overrides(self, last: Intent, new: Intent) -> bool:
        """Whether doing ``new`` leaves nothing of ``last``, as another volume does.

        A correction ("no, forty") then need not undo ``last`` first.
        """
        return False

    def nouns(self) -> dict[str, str]:
        """What its things with names of their own are, such as {"pasta": "timer"}."""
        return {}

    def noun(self, last: Intent) -> str:
        """What "the second one" is after this intent, such as "timer"; "" when nothing."""
        return ""

    def stop(self, turn: TurnContext) -> Outcome | None:
        """Ends what this skill does aloud, such as ringing; None when it does nothing."""
        return None

    def notices(self, turn: TurnContext) -> list[str]:
        """Sentences that are to be said unasked, each given out once."""
        return []

    def close(self) -> None:  # noqa: B027 (most have nothing to end)
        """Ends what goes on in the background; what is kept stays kept."""

    def vocabulary(self) -> list[str]:
        """Words and phrases that are likely to be said now, such as names of timers."""
        return list(self.phrases)
