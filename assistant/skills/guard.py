"""What comes from a skill, checked: a mistake in one must not end the turn of another."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TypeVar

from assistant.errors import AssistantError
from assistant.skills.base import Outcome, Skill

log = logging.getLogger(__name__)

T = TypeVar("T")

FAILURES = (Exception, SystemExit)
"""What code of a user's may raise; sys.exit() in it must not end the assistant."""

_PARTS: dict[str, tuple[type, ...]] = {
    "reply": (str,),
    "expects": (str,),
    "known": (dict,),
    "action": (dict, type(None)),
}
_DECLARED = ("abilities", "topics", "examples", "phrases")


def guarded(skill: Skill, call: Callable[[], T], otherwise: T, *kinds: type) -> T:
    """What the call gives; of a skill that fails, or gives what is none of ``kinds``,
    ``otherwise``. Either is logged, and the others go on."""
    try:
        value = call()
        if kinds and not isinstance(value, kinds):
            raise TypeError(f"{type(value).__name__} instead of {kinds[0].__name__}")
        return value
    except AssistantError as error:
        log.warning("%s failed: %s", skill.name, error)
    except FAILURES:
        log.exception("%s failed", skill.name)
    return otherwise


def texts(skill: Skill, call: Callable[[], list[str]]) -> list[str]:
    """As ``guarded``, for a list of texts; what is no text in it is left out."""
    nothing: list[str] = []
    return [text for text in guarded(skill, call, nothing, list) if isinstance(text, str)]


def checked(outcome: Outcome) -> Outcome:
    """The outcome itself. Raises TypeError for what could not be said, told or kept."""
    if not isinstance(outcome, Outcome):
        raise TypeError(f"the skill gave back {type(outcome).__name__}, not an Outcome")
    for name, kinds in _PARTS.items():
        value = getattr(outcome, name)
        if not isinstance(value, kinds):
            raise TypeError(f"Outcome.{name} is {type(value).__name__}")
    if outcome.undo is not None and not callable(outcome.undo):
        raise TypeError("Outcome.undo cannot be called")
    json.dumps(outcome.action)
    return outcome


def check_declared(skill: Skill) -> None:
    """Raises TypeError for what the skill says of itself in another form than texts."""
    for name in _DECLARED:
        value = getattr(skill, name)
        if not isinstance(value, tuple | list) or not all(isinstance(text, str) for text in value):
            raise TypeError(f'{name} must be texts in brackets, such as ("one", "two")')
