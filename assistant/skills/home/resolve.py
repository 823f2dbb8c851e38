"""From the names and rooms in an utterance to the devices that are meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Area, Entity, Snapshot
from assistant.intent.sound_alike import best_match, similarity
from assistant.skills.home.words import called, common_noun, in_room, noun, plural, the
from assistant.skills.spoken import listing

_AND = re.compile(r"\s*(?:,| and )\s*")
_EVERYWHERE = re.compile(
    r"\b(?:everywhere|everything|all|every|whole|entire)\b(?!.*\b(?:in here|this room|here)\b)"
)
_IN_HERE = re.compile(r"\b(?:in here|this room|here)\b")
MAX_OPTIONS = 5


class Unclear(Exception):
    """Several things could be meant.

    question: what is to be asked; slot: what the answer fills, with one of ``options``.
    """

    def __init__(self, question: str, slot: str, options: Sequence[str]) -> None:
        super().__init__(question)
        self.question = question
        self.slot = slot
        self.options = tuple(options)


@dataclass(frozen=True, slots=True)
class Found:
    """entities: never empty; what: how they are called in an answer; one: it has a name."""

    entities: tuple[Entity, ...]
    what: str
    named: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """areas: ids, None for anywhere; said: "in the Kitchen", "" for anywhere.

    own: it is the room of this device because nobody named another.
    """

    areas: frozenset[str] | None
    said: str = ""
    own: bool = False


class Resolver:
    """For one turn."""

    def __init__(self, snapshot: Snapshot, here: str, utterance: str = "") -> None:
        """here: name of the room of this device, "" when it is not known."""
        self.snapshot = snapshot
        self._utterance = utterance.casefold()
        self._here_name = here
        self._here = self._area(here) if here else None

    @property
    def here(self) -> Area | None:
        return self._here

    def find(
        self,
        slots: Mapping[str, Any],
        domains: Iterable[str],
        *,
        many: bool = True,
        thing: str = "",
    ) -> Found:
        """The devices that the slots mean, of these domains.

        many: all that fit; False: one has to be meant, such as one player.
        thing: what is looked for, in case that there is none; "" tells it by the slots.
        Raises SkillError naming what is not there, Unclear when it has to be asked.
        """
        allowed = frozenset(domains)
        if slots.get("domain") in allowed:
            allowed = frozenset([slots["domain"]])
        device_class = str(slots.get("device_class") or "")
        place = self.place(slots)
        if slots.get("name"):
            return self._named(slots, allowed, place)
        fitting = [e for e in self._usable(allowed) if _has_class(e, device_class)]
        left_out = self._left_out(slots, fitting)
        fitting = [entity for entity in fitting if entity not in left_out]
        inside = _inside(fitting, place)
        heating = allowed == {"climate"} and many and slots.get("domain") == "climate"
        if (
            not inside
            and place.own
            and (len(fitting) == 1 or (heating and not _IN_HERE.search(self._utterance)))
        ):
            # The only one there is, wherever it is; and "the heating" is that of the home.
            inside, place = fitting, Place(None)
        thing = thing or self._noun(allowed, device_class, slots)
        if not inside:
            where = f" {place.said}" if place.said else ""
            raise SkillError("home.none", f"I don't know of any {plural(thing)}{where}.")
        if not many and len(inside) > 1:
            raise self._which(inside)
        what = called(inside[0]) if len(inside) == 1 else self._group(inside, place, fitting)
        if left_out and len(inside) > 1:
            what = f"{what} except {listing(map(the, _texts(slots['except'])))}"
        return Found(tuple(inside), what)

    def _left_out(self, slots: Mapping[str, Any], fitting: Sequence[Entity]) -> list[Entity]:
        """Those of the devices and rooms that the command is not for."""
        names = {name.casefold() for name in _texts(slots.get("except") or [])}
        areas = {area.id for area in self.snapshot.areas if area.name.casefold() in names}
        return [e for e in fitting if e.name.casefold() in names or e.area in areas]

    def place(self, slots: Mapping[str, Any]) -> Place:
        """Where it is to be. Raises SkillError for a room that is not there."""
        if slots.get("area"):
            areas = [self._known_area(name) for name in _texts(slots["area"])]
            said = f"in {listing(the(area.name) for area in areas)}"
            return Place(frozenset(area.id for area in areas), said)
        if slots.get("floor"):
            return self._floor(str(slots["floor"]))
        if slots.get("everywhere") or slots.get("name"):
            return Place(None)
        if self._here is not None and (slots.get("here") or not self._everywhere()):
            return Place(frozenset([self._here.id]), in_room(self._here), own=True)
        return Place(None)

    def area_names(self) -> list[str]:
        return [area.name for area in self.snapshot.areas]

    def needs_room(self, slots: Mapping[str, Any], domains: Iterable[str]) -> bool:
        """True when the room of this device is meant, but not known, and it matters."""
        if self._here is not None or not slots.get("here"):
            return False
        fitting = [
            e
            for e in self._usable(frozenset(domains))
            if _has_class(e, str(slots.get("device_class") or ""))
            and slots.get("domain") in (None, e.domain)
        ]
        return len({entity.area for entity in fitting}) > 1

    def _everywhere(self) -> bool:
        return _EVERYWHERE.search(self._utterance) is not None

    def _usable(self, domains: frozenset[str]) -> list[Entity]:
        return [e for e in self.snapshot.entities if e.domain in domains]

    def _named(self, slots: Mapping[str, Any], allowed: frozenset[str], place: Place) -> Found:
        found: list[Entity] = []
        device_class = str(slots.get("device_class") or "")
        for said in self._split(slots["name"]):
            same = [
                entity
                for entity in self._by_name(said, allowed)
                if _has_class(entity, device_class) or not device_class
            ]
            inside = _inside(same, place)
            if same and not inside:
                raise SkillError("home.none", f"There is no {said} {place.said}.")
            found += self._nearest(inside)
        unique = list({entity.id: entity for entity in found}.values())
        what = listing(dict.fromkeys(map(called, unique)))
        return Found(tuple(unique), what, named=True)

    def _by_name(self, said: str, allowed: frozenset[str]) -> list[Entity]:
        """All with that name or alias; an exact name comes before one that only sounds so."""
        usable = self._usable(allowed)
        folded = said.casefold()
        for exact in (
            [e for e in usable if e.name.casefold() == folded],
            [e for e in usable if folded in (alias.casefold() for alias in e.aliases)],
            [e for e in usable if any(similarity(said, n) == 1.0 for n in (e.name, *e.aliases))],
        ):
            if exact:
                return exact
        every = {name: entity for entity in usable for name in (entity.name, *entity.aliases)}
        near = best_match(said, every)
        if near is not None:
            return [e for e in usable if near in (e.name, *e.aliases)]
        if any(e.name.casefold() == folded for e in self.snapshot.entities):
            raise SkillError("home.unable", f"That does not work with {the(said)}.")
        raise SkillError("home.unknown_name", f"I don't know a device called {said}.")

    def _nearest(self, same: list[Entity]) -> list[Entity]:
        """Of several with one name those in the room of this device; else it is asked."""
        if self._here is not None:
            own = [entity for entity in same if entity.area == self._here.id]
            same = own or same
        if len({entity.area for entity in same}) > 1:
            raise self._which(same)
        return same

    def _which(self, entities: Sequence[Entity]) -> Unclear:
        rooms = {area.id: area for area in self.snapshot.areas}
        by_room = len({e.area for e in entities}) == len(entities) and all(
            e.area in rooms for e in entities
        )
        if by_room and len({e.name for e in entities}) < len(entities):
            options = [rooms[entity.area].name for entity in entities][:MAX_OPTIONS]
            choice = listing((f"in {the(name)}" for name in options), "or")
            return Unclear(f"Which one: {choice}?", "area", options)
        options = list(dict.fromkeys(entity.name for entity in entities))[:MAX_OPTIONS]
        return Unclear(f"Which one: {listing(map(the, options), 'or')}?", "name", options)

    def _group(self, inside: Sequence[Entity], place: Place, fitting: Sequence[Entity]) -> str:
        things = plural(common_noun(inside))
        if place.said:
            return f"the {things} {place.said}"
        return f"all {things}" if len(inside) == len(fitting) else f"{len(inside)} {things}"

    def _noun(self, allowed: frozenset[str], device_class: str, slots: Mapping[str, Any]) -> str:
        domain = str(slots.get("domain") or (next(iter(allowed)) if len(allowed) == 1 else ""))
        return noun(domain, device_class) if domain or device_class else "device"

    def _split(self, said: Any) -> list[str]:
        """Several names in one text, unless the whole is a name."""
        texts = _texts(said)
        if len(texts) > 1:
            return texts
        every = {name.casefold() for e in self.snapshot.entities for name in (e.name, *e.aliases)}
        text = texts[0] if texts else ""
        parts = [part for part in _AND.split(text) if part]
        return [text] if text.casefold() in every or len(parts) < 2 else parts

    def _known_area(self, name: str) -> Area:
        area = self._area(name)
        if area is None:
            raise SkillError("home.unknown_room", f"I don't know a room called {name}.")
        return area

    def _area(self, name: str) -> Area | None:
        for area in self.snapshot.areas:
            if name.casefold() in (n.casefold() for n in (area.id, area.name, *area.aliases)):
                return area
        every = {n: area for area in self.snapshot.areas for n in (area.name, *area.aliases)}
        near = best_match(name, every)
        return None if near is None else every[near]

    def _floor(self, name: str) -> Place:
        every = {n: floor for floor in self.snapshot.floors for n in (floor.name, *floor.aliases)}
        near = best_match(name, every)
        if near is None:
            raise SkillError("home.unknown_floor", f"I don't know a floor called {name}.")
        floor = every[near]
        areas = frozenset(a.id for a in self.snapshot.areas if a.floor == floor.id)
        bare = floor.name.casefold() in ("upstairs", "downstairs")
        said = floor.name.lower() if bare else f"on {the(floor.name)}"
        return Place(areas, said)


def _inside(entities: Sequence[Entity], place: Place) -> list[Entity]:
    areas = place.areas
    return [e for e in entities if areas is None or e.area in areas]


def _has_class(entity: Entity, device_class: str) -> bool:
    """Also "the door" for a garage door, when doors are meant."""
    if not device_class:
        return True
    own = str(entity.attributes.get("device_class", ""))
    return own == device_class or (device_class, own) in _LIKE


_LIKE = frozenset(
    [("door", "garage_door"), ("door", "opening"), ("garage", "garage_door"), ("window", "opening")]
)


def _texts(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
