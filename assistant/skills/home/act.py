"""Does service calls, and knows what it left undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Entity, Home, PartlyDone

GONE = ("unavailable",)
"""States of devices that cannot be reached."""
_ONE_BY_ONE = ("home.refused", "home.unable", "home.unknown")
"""Failures of a group of which one alone may be the cause."""


@dataclass(frozen=True, slots=True)
class Step:
    """One service call."""

    domain: str
    service: str
    entities: tuple[Entity, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done and how it is told.

    did: "turned on", "set the brightness of"; now: the same at the beginning of a whole
    answer, "Opening"; tail: " to 50 percent"; what: "the lights in the Kitchen".
    note: a sentence that is said with it. left_out: (device, why) that cannot do it.
    """

    steps: tuple[Step, ...]
    did: str
    what: str
    tail: str = ""
    now: str = ""
    note: str = ""
    left_out: tuple[tuple[Entity, str], ...] = ()
    undo: bool = True

    @property
    def entities(self) -> tuple[Entity, ...]:
        found = {e.id: e for step in self.steps for e in step.entities}
        return tuple(found.values())


@dataclass(slots=True)
class Result:
    """done, failed: by device; a failed one has the reason, as the end of a sentence."""

    done: list[Entity] = field(default_factory=list)
    failed: list[tuple[Entity, str]] = field(default_factory=list)
    error: SkillError | None = None


def run(home: Home, steps: Iterable[Step]) -> Result:
    """Does all steps; what cannot be reached is not tried. Raises nothing."""
    result = Result()
    for step in steps:
        there = tuple(e for e in step.entities if e.state not in GONE)
        result.failed += [(e, "did not answer") for e in step.entities if e.state in GONE]
        if there or not step.entities:
            _call(home, step, there, result)
    return result


def _call(home: Home, step: Step, entities: Sequence[Entity], result: Result) -> None:
    try:
        home.call(step.domain, step.service, [e.id for e in entities], step.data)
    except PartlyDone as error:
        result.error = result.error or error
        silent = [e for e in entities if e.id in error.failed]
        result.failed += [(e, "did not answer") for e in silent]
        result.done += [e for e in entities if e.id not in error.failed]
    except SkillError as error:
        result.error = result.error or error
        if len(entities) > 1 and error.code in _ONE_BY_ONE:
            for entity in entities:
                _call(home, step, (entity,), result)
        else:
            why = "did not do it" if error.code in _ONE_BY_ONE else "may not have done it"
            result.failed += [(e, why) for e in entities]
    else:
        result.done += entities


def grouped(
    entities: Iterable[Entity], call: Callable[[Entity], tuple[str, str, Mapping[str, Any]]]
) -> tuple[Step, ...]:
    """Steps for each device, those with the same service and data in one.

    call: (domain, service, data) of a device.
    """
    groups: dict[tuple[str, str, str], tuple[Mapping[str, Any], list[Entity]]] = {}
    for entity in entities:
        domain, service, data = call(entity)
        key = (domain, service, repr(sorted(data.items())))
        groups.setdefault(key, (data, []))[1].append(entity)
    return tuple(
        Step(domain, service, tuple(members), data)
        for (domain, service, _), (data, members) in groups.items()
    )
