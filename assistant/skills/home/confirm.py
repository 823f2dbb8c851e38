"""What is not done before it was asked once more."""

from __future__ import annotations

import re
from datetime import datetime

from assistant.home.base import Entity
from assistant.intent.base import Intent
from assistant.intent.values.ordinal import parse_ordinal
from assistant.intent.values.when import find_times
from assistant.skills.home.act import Plan, Step

NO_TIME = "Sorry, I can't do that at a set time, only in a while, such as in ten minutes."
SURE = 0.95
"""How sure free phrasing must be to be acted on without a question."""

_TO_DO = {
    "turned": "turn",
    "opened": "open",
    "closed": "close",
    "locked": "lock",
    "unlocked": "unlock",
    "started": "start",
    "stopped": "stop",
    "pressed": "press",
    "sent": "send",
    "set": "set",
    "brightened": "brighten",
    "dimmed": "dim",
    "announced": "announce",
    "added": "add",
    "ticked": "tick",
    "removed": "remove",
}

_CLASSES = frozenset(["door", "garage", "gate", "garage_door"])
_NAMES = re.compile(r"\b(?:garage|gate|door|doors|gates)\b", re.IGNORECASE)


def is_entrance(entity: Entity) -> bool:
    """A door, a garage or a gate; one without a class by its name."""
    device_class = entity.attributes.get("device_class")
    if device_class:
        return device_class in _CLASSES
    return any(_NAMES.search(name) for name in (entity.name, *entity.aliases))


def question(plan: Plan) -> str:
    """What is to be asked before the plan is done; "" when it can be done at once."""
    if any(step.domain == "lock" and step.service == "unlock" for step in plan.steps):
        return f"Unlock {plan.what}: are you sure?"
    if any(_opens(step) for step in plan.steps):
        return f"Open {plan.what}: are you sure?"
    return ""


def is_guess(intent: Intent) -> bool:
    """Whether it was made of free phrasing that may mean something else."""
    return intent.source == "heads" and intent.score < SURE


def at_a_time(intent: Intent, utterance: str, now: datetime) -> bool:
    """Whether free phrasing names a time for what would be done at once: "on at seven"."""
    if intent.source != "heads":
        return False
    spans = find_times(utterance, now)
    # "down to a fifth" is a share, "on the fifth" a day
    times = [
        span.value
        for span in spans
        if parse_ordinal(utterance[span.start : span.end]) is None
        or utterance[span.start :].casefold().startswith("the ")
    ]
    return any(when.has_time or when.at.date() > now.date() for when in times)


def doubt(plan: Plan) -> str:
    """Asks whether the plan is what was meant: "Should I turn off the lights?"."""
    first, _, rest = plan.did.partition(" ")
    verb = f"{_TO_DO.get(first, first)} {rest}".strip()
    return f"Should I {verb} {plan.what}{plan.tail}?"


def _opens(step: Step) -> bool:
    if step.domain not in ("cover", "valve"):
        return False
    opening = step.service.startswith("open_") or step.data.get("position", 0) > 0
    return opening and any(is_entrance(entity) for entity in step.entities)
