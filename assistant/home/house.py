"""What Home Assistant tells about a home, read into a snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assistant.home.base import Area, Entity, Floor, Snapshot

UNAVAILABLE = "unavailable"
ASSISTANT = "conversation"
"""Home Assistant's name for voice assistants of its own, where it keeps what they may use."""

# What Home Assistant exposes where nobody has decided, and what is only read.
_DOMAINS = frozenset(
    """climate cover fan humidifier light media_player scene switch todo vacuum water_heater
    weather assist_satellite""".split()
)
_CLASSES = {
    "binary_sensor": frozenset("door garage_door lock motion opening presence window".split()),
    "sensor": frozenset(
        """aqi carbon_monoxide carbon_dioxide humidity pm10 pm25 temperature
        volatile_organic_compounds""".split()
    ),
}
_ALWAYS = ("weather", "assist_satellite")
"""Needed for the forecast and for announcements; nothing of them is switched."""


class House:
    """Areas, names and states; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._floors: tuple[Floor, ...] = ()
        self._areas: tuple[Area, ...] = ()
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._device_areas: dict[str, str] = {}
        self._exposed: dict[str, bool] = {}
        self._chooses = True
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._states: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._names: object = None
        self._snapshot: Snapshot | None = Snapshot()
        self._version = 0
        self._lost = False

    def set_registries(
        self,
        *,
        floors: Sequence[Any],
        areas: Sequence[Any],
        devices: Sequence[Any],
        entities: Sequence[Any],
        exposed: Mapping[str, Any] | None,
    ) -> None:
        """The answers to the list commands, as they came; rows without an id are left out.

        exposed: by entity id; None when it is not told.
        """
        with self._lock:
            self._floors = tuple(
                Floor(row["floor_id"], _text(row.get("name")), _texts(row.get("aliases")))
                for row in _rows(floors, "floor_id")
            )
            self._areas = tuple(
                Area(
                    row["area_id"],
                    _text(row.get("name")),
                    _texts(row.get("aliases")),
                    _text(row.get("floor_id")),
                )
                for row in _rows(areas, "area_id")
            )
            self._device_areas = {
                row["id"]: _text(row.get("area_id")) for row in _rows(devices, "id")
            }
            self._rows = {row["entity_id"]: row for row in _rows(entities, "entity_id")}
            self._exposed = {
                entity: bool(row[ASSISTANT])
                for entity, row in (exposed or {}).items()
                if isinstance(row, Mapping) and ASSISTANT in row
            }
            self._chooses = exposed is not None or any(map(_choice, self._rows.values()))
            self._snapshot = None

    def set_states(self, states: Sequence[Any]) -> None:
        """All states at once."""
        with self._lock:
            self._states = {
                row["entity_id"]: (_text(row.get("state")), _mapping(row.get("attributes")))
                for row in _rows(states, "entity_id")
            }
            self._lost = False
            self._snapshot = None

    def set_aliases(self, entries: Mapping[str, Any]) -> None:
        """Further names by entity id, from the full rows of the registry."""
        with self._lock:
            self._aliases = {
                entity: _texts(row.get("aliases"))
                for entity, row in entries.items()
                if isinstance(row, Mapping)
            }
            self._snapshot = None

    def exposed(self) -> list[str]:
        """Ids of the entities that may be used by voice."""
        with self._lock:
            return sorted(entity for entity in self._states if self._may_use(entity))

    def change(self, entity: str, state: Mapping[str, Any] | None) -> bool:
        """One new state, or None for an entity that is gone; True when it was unknown."""
        with self._lock:
            new = entity not in self._states
            if state is None:
                self._states.pop(entity, None)
                new = False
            else:
                self._states[entity] = (
                    _text(state.get("state")),
                    _mapping(state.get("attributes")),
                )
            if new or state is None or self._may_use(entity):
                self._snapshot = None
            return new

    def lose(self) -> None:
        """Nothing is known any more about the states; the names stay."""
        with self._lock:
            self._lost = True
            self._snapshot = None

    def snapshot(self) -> Snapshot:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._build()
            return self._snapshot

    def _build(self) -> Snapshot:
        entities = tuple(
            self._entity(entity) for entity in sorted(self._states) if self._may_use(entity)
        )
        names = (
            self._floors,
            self._areas,
            [(e.id, e.name, e.aliases, e.area, e.attributes.get("device_class")) for e in entities],
        )
        if names != self._names:
            self._names = names
            self._version += 1
        return Snapshot(self._floors, self._areas, entities, self._version)

    def _entity(self, entity: str) -> Entity:
        state, attributes = self._states[entity]
        row = self._rows.get(entity, {})
        area = _text(row.get("area_id")) or self._device_areas.get(_text(row.get("device_id")), "")
        name = _text(attributes.get("friendly_name")) or entity.partition(".")[2].replace("_", " ")
        return Entity(
            entity,
            name,
            self._aliases.get(entity, ()),
            area,
            UNAVAILABLE if self._lost else state,
            attributes,
        )

    def _may_use(self, entity: str) -> bool:
        domain = entity.partition(".")[0]
        row = self._rows.get(entity, {})
        if row.get("disabled_by"):
            return False
        if domain in _ALWAYS:
            return True
        if entity in self._exposed:
            return self._exposed[entity]
        options = _choice(row)
        if "should_expose" in options:
            return bool(options["should_expose"])
        if row.get("hidden_by") or row.get("entity_category"):
            return False
        if not self._chooses:
            return True  # a version that knows no such choice shows all it has
        if domain in _DOMAINS:
            return True
        device_class = self._states[entity][1].get("device_class")
        return device_class in _CLASSES.get(domain, ())


def _choice(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in a row of the registry about use by voice."""
    return _mapping(_mapping(row.get("options")).get(ASSISTANT))


def _rows(rows: Iterable[Any], key: str) -> list[Mapping[str, Any]]:
    """The rows that are mappings with a text under ``key``."""
    return [row for row in rows if isinstance(row, Mapping) and isinstance(row.get(key), str)]


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        return ()
    return tuple(value.strip() for value in values if isinstance(value, str) and value.strip())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
