"""Several homes as one: the devices of all, each switched where it belongs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Area, Entity, Floor, Home, PartlyDone, Snapshot


class Combined(Home):
    def __init__(self, homes: Sequence[Home]) -> None:
        """homes: what the first of them has too is not taken from the others."""
        self._homes = tuple(homes)

    def announce(self) -> None:
        for home in self._homes:
            home.announce()

    def start(self) -> None:
        for home in self._homes:
            home.start()

    def settle(self, timeout_s: float) -> None:
        for home in self._homes:
            home.settle(timeout_s)

    def close(self) -> None:
        for home in self._homes:
            home.close()

    def trouble(self) -> str:
        """Why nothing works; while one of them does, its devices do."""
        troubles = [home.trouble() for home in self._homes]
        return " ".join(troubles) if all(troubles) else ""

    def hint(self) -> str:
        return next((hint for home in self._homes if (hint := home.hint())), "")

    def troubles(self) -> list[str]:
        """What is wrong with each that does not work."""
        return [trouble for home in self._homes if (trouble := home.trouble())]

    def snapshot(self) -> Snapshot:
        floors: dict[str, Floor] = {}
        areas: dict[str, Area] = {}
        entities: dict[str, Entity] = {}
        version = 0
        for home in self._homes:
            part = home.snapshot()
            version += part.version
            for floor in part.floors:
                floors.setdefault(floor.id, floor)
            same = self._same_areas(part, areas.values())
            for area in part.areas:
                if same[area.id] == area.id:
                    areas.setdefault(area.id, area)
            for entity in part.entities:
                known = replace(entity, area=same.get(entity.area, entity.area))
                entities.setdefault(entity.id, known)
        return Snapshot(
            tuple(floors.values()), tuple(areas.values()), tuple(entities.values()), version
        )

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        if not entities:
            self._homes[0].call(domain, service, entities, data)
            return
        failed: list[str] = []
        errors: list[SkillError] = []
        for home, part in self._owners(entities):
            try:
                home.call(domain, service, part, data)
            except SkillError as error:
                errors.append(error)
                failed += error.failed if isinstance(error, PartlyDone) else part
        if not errors:
            return
        if len(failed) < len(entities):
            raise PartlyDone(errors[0].code, errors[0].message, tuple(failed))
        raise errors[0]

    def ask(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        for home, part in self._owners(entities):
            return home.ask(domain, service, part, data)
        return self._homes[0].ask(domain, service, entities, data)

    def _owners(self, entities: Sequence[str]) -> list[tuple[Home, list[str]]]:
        """Which home has which of the entities."""
        left, owners = list(entities), []
        for home in self._homes:
            has = {entity.id for entity in home.snapshot().entities}
            part = [id_ for id_ in left if id_ in has]
            if part:
                owners.append((home, part))
                left = [id_ for id_ in left if id_ not in has]
        return owners

    def _same_areas(self, part: Snapshot, known: Iterable[Area]) -> dict[str, str]:
        """Id of the room that is meant, by id of each room of a part: a name is one room."""
        names = {name.casefold(): area.id for area in known for name in (area.name, *area.aliases)}
        return {area.id: names.get(area.name.casefold(), area.id) for area in part.areas}
