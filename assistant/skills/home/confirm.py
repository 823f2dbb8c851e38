"""What is not done before it was asked once more."""

from __future__ import annotations

import re

from assistant.home.base import Entity
from assistant.skills.home.act import Plan, Step

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


def _opens(step: Step) -> bool:
    if step.domain not in ("cover", "valve"):
        return False
    opening = step.service.startswith("open_") or step.data.get("position", 0) > 0
    return opening and any(is_entrance(entity) for entity in step.entities)
