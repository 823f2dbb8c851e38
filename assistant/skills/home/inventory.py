"""What there is in the home: rooms and devices, whatever their states are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from assistant.skills.home.resolve import Resolver
from assistant.skills.home.words import called, common_noun, noun, plural, the
from assistant.skills.spoken import listing

MOST = 10
"""So many devices are read out by their names; more are counted by room."""

ANY = "device"
_NO_DEVICES = frozenset(
    "person device_tracker weather sun zone scene script automation group update".split()
)

Slots = Mapping[str, Any]


def rooms(resolver: Resolver) -> str:
    """ "There are 2 rooms: the Hall and the Kitchen."."""
    names = [the(name) for name in resolver.area_names()]
    if not names:
        return "I don't know of any rooms."
    if len(names) == 1:
        return f"There is one room: {names[0]}."
    return f"There are {len(names)} rooms: {listing(names)}."


def devices(slots: Slots, resolver: Resolver) -> str:
    """Those of a kind (slot ``domain``, "device" for any) in a room or the whole home.

    Raises SkillError for a room that is not there.
    """
    domain = str(slots.get("domain") or ANY)
    place = resolver.place({"everywhere": True, **slots})
    where = f" {place.said}" if place.said else ""
    found = [
        entity
        for entity in resolver.snapshot.entities
        if (entity.domain == domain or (domain == ANY and entity.domain not in _NO_DEVICES))
        and (place.areas is None or entity.area in place.areas)
    ]
    kind = common_noun(found) if domain != ANY and found else noun(domain)
    if not found:
        return f"I don't know of any {plural(kind)}{where}."
    if len(found) == 1:
        return f"There is one {kind}{where}: {called(found[0])}."
    head = f"There are {len(found)} {plural(kind)}{where}: "
    if len(found) <= MOST or place.areas is not None:
        return f"{head}{listing(map(called, found))}."
    by_room = Counter(entity.area for entity in found)
    told = [
        f"{by_room[area.id]} in {the(area.name)}"
        for area in resolver.snapshot.areas
        if by_room[area.id]
    ]
    elsewhere = len(found) - sum(by_room[area.id] for area in resolver.snapshot.areas)
    told += [f"{elsewhere} elsewhere"] if elsewhere else []
    return f"{head}{listing(told)}. Ask for those of a room."
