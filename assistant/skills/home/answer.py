"""Answers questions about the home from what is known; nothing is called, nothing changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Entity
from assistant.skills.home.act import GONE
from assistant.skills.home.plans import EVERYTHING
from assistant.skills.home.resolve import Resolver
from assistant.skills.home.states import is_in, spoken_state
from assistant.skills.home.words import MANY, called, common_noun, names, number, plural, the
from assistant.skills.spoken import listing

_READ = (
    "light switch fan input_boolean media_player climate humidifier siren remote water_heater "
    "automation group cover valve lock scene script vacuum lawn_mower sensor binary_sensor person "
    "device_tracker weather sun input_number number select input_select counter timer zone "
    "alarm_control_panel camera calendar todo update"
).split()
_QUESTIONS = (
    ("how many", "how_many"),
    ("which", "which"),
    ("what lights", "which"),
    ("where", "where"),
    ("are all", "all"),
    ("is every", "all"),
    ("are any", "any"),
    ("is any", "any"),
    ("are there any", "any"),
    ("is there", "any"),
)

_SET_TO = re.compile(r"\b(?:set (?:to|at|for)|target|setpoint)\b|\bset\s*\??$")

Slots = Mapping[str, Any]


def state(slots: Slots, resolver: Resolver, utterance: str) -> str:
    """HassGetState: is it, which, how many, are all, where, what."""
    kind = str(slots.get("response") or _kind(slots, utterance))
    wanted = str(slots.get("state") or "")
    if kind in ("one", "where") or (slots.get("name") and not wanted):
        return _one(slots, resolver)
    entities = _meant(slots, resolver)
    gone = [entity for entity in entities if entity.state in GONE]
    there = [entity for entity in entities if entity.state not in GONE]
    if not there:
        raise SkillError("home.gone", f"I can't reach {names(gone)}.")
    yes = [entity for entity in there if is_in(entity, wanted)]
    no = [entity for entity in there if entity not in yes]
    if kind == "one_yesno" or (kind == "any" and slots.get("name")):
        return _yes_no(there, yes, no)
    doubt = f" I can't reach {names(gone)}." if gone else ""
    if kind == "how_many":
        return _count(len(yes), there, wanted) + doubt
    if kind == "all":
        if no:
            return f"No, {_are(no)} not {_said(no, wanted)}." + doubt
        return "Yes." + doubt
    if kind == "any":
        return (f"Yes, {names(yes)}." if yes else "No.") + doubt
    if not yes:
        return f"{_none(there)} {_said(there, wanted)}." + doubt
    return f"{_capital(_listed(yes))}." + doubt


def temperature(slots: Slots, resolver: Resolver, utterance: str = "") -> str:
    """HassClimateGetTemperature: of a thermostat, else of a sensor in the room.

    What it is set to, when that was asked.
    """
    if _SET_TO.search(utterance.casefold()):
        (entity, *_) = resolver.find(slots, ("climate", "water_heater")).entities
        wanted = entity.attributes.get("temperature")
        if not isinstance(wanted, int | float):
            raise SkillError("home.gone", f"{_capital(the(entity.name))} is set to nothing.")
        return f"{_capital(the(entity.name))} is set to {_with_unit(float(wanted))}."
    if slots.get("name"):
        domains = ("climate", "water_heater", "sensor", "weather")
        return _degrees(resolver.find(slots, domains).entities)
    measures = [
        entity
        for entity in resolver.snapshot.entities
        if entity.domain == "climate"
        or (entity.domain == "sensor" and entity.attributes.get("device_class") == "temperature")
    ]
    inside = replace(resolver.snapshot, entities=tuple(measures))
    narrowed = Resolver(inside, resolver.here.name if resolver.here else "")
    found = narrowed.find(slots, ("climate", "sensor"), thing="thermometer").entities
    measured = [entity for entity in found if _measured(entity) is not None]
    if not measured:
        raise SkillError("home.gone", f"{_capital(names(found))} did not tell the temperature.")
    thermostats = [entity for entity in measured if entity.domain == "climate"]
    return _degrees(thermostats or measured)


def _kind(slots: Slots, utterance: str) -> str:
    """What is asked, by the words of the question."""
    said = utterance.casefold()
    for words, kind in _QUESTIONS:
        if words in said:
            return kind
    if slots.get("name"):
        return "one_yesno" if slots.get("state") else "one"
    return "any"


def _meant(slots: Slots, resolver: Resolver) -> Sequence[Entity]:
    """Doors and windows are told by sensors as well as by what moves them."""
    wider = dict(slots)
    domains = list(_READ)
    if wider.get("device_class") and wider.get("domain") in ("cover", "binary_sensor", None):
        wider.pop("domain", None)
        domains = ["cover", "binary_sensor"] if not wider.get("name") else domains
    elif wider.get("state") in ("on", "off") and not (wider.get("name") or wider.get("domain")):
        domains = list(EVERYTHING)  # an open window is "on" too, but not what is meant
    if not any(wider.get(key) for key in ("here", "area", "floor", "name")):
        wider["everywhere"] = True
    return resolver.find(wider, domains).entities


def _one(slots: Slots, resolver: Resolver) -> str:
    """What a thing is, with its unit; where a person is."""
    entities = _meant(slots, resolver)
    parts = []
    for entity in entities:
        name = _capital(called(entity))
        if entity.state in GONE:
            parts.append(f"I can't reach {the(entity.name)}.")
        elif entity.state == "unknown":
            parts.append(f"{name} has not told its state yet.")
        else:
            parts.append(f"{name} is {spoken_state(entity)}.")
    return " ".join(dict.fromkeys(parts))


def _yes_no(there: Sequence[Entity], yes: Sequence[Entity], no: Sequence[Entity]) -> str:
    if not no:
        return "Yes."
    if len(there) == 1:
        who = no[0].name if no[0].domain == "person" else "it"
        return f"No, {who} is {spoken_state(no[0])}."
    if not yes:
        return "No."
    return f"{_capital(_listed(yes))} yes, {_listed(no)} no."


def _none(there: Sequence[Entity]) -> str:
    """ "No lights are", "Nobody is", "Nothing is"."""
    if all(entity.domain == "person" for entity in there):
        return "Nobody is"
    thing = common_noun(there)
    return "Nothing is" if thing == "device" else f"No {plural(thing)} are"


def _count(count: int, there: Sequence[Entity], wanted: str) -> str:
    thing = common_noun(there)
    said = _said(there, wanted)
    if count == 1:
        return f"One {thing} is {said}."
    return f"{count or 'No'} {plural(thing)} are {said}."


def _said(entities: Sequence[Entity], wanted: str) -> str:
    """The state in the words that fit these devices: "open" for a sensor that is "on"."""
    if entities and entities[0].domain == "binary_sensor" and wanted in ("on", "off"):
        return spoken_state(replace(entities[0], state=wanted))
    if entities and entities[0].domain == "person":
        return spoken_state(replace(entities[0], state=wanted))
    return wanted.replace("_", " ")


def _listed(entities: Sequence[Entity]) -> str:
    """All names, also of many: they were asked for."""
    if len(entities) <= 2 * MANY:
        return listing(dict.fromkeys(map(called, entities)))
    return names(entities)


def _are(entities: Sequence[Entity]) -> str:
    named = names(entities)
    return f"{named} {'is' if len(entities) == 1 else 'are'}"


def _measured(entity: Entity) -> float | None:
    if entity.state in GONE:
        return None
    raw: Any = entity.attributes.get("current_temperature")
    if entity.domain == "weather":
        raw = entity.attributes.get("temperature")
    if entity.domain == "sensor":
        raw = entity.state
    try:
        return float(raw)
    except (TypeError, ValueError):
        return None


def _degrees(entities: Sequence[Entity]) -> str:
    values = [(entity, _measured(entity)) for entity in entities]
    known = [(entity, value) for entity, value in values if value is not None]
    if not known:
        raise SkillError("home.gone", f"{_capital(names(entities))} did not tell the temperature.")
    if len(known) == 1 or len({value for _, value in known}) == 1:
        return f"It's {_with_unit(known[0][1])}."
    told = (f"{_with_unit(value)} at {the(entity.name)}" for entity, value in known[:MANY])
    return f"It's {listing(told)}."


def _with_unit(value: float) -> str:
    return f"{number(round(value, 1))} degree{'' if abs(value) == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
