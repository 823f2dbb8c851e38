"""The devices of zigbee2mqtt, from what its bridge tells about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.config import MqttDevice
from assistant.home.base import Entity
from assistant.home.colours import hex_code
from assistant.home.device import (
    OFF_SERVICES,
    ON_SERVICES,
    Device,
    Message,
    Reading,
    area_id,
    entity_id,
    number_of,
    plain,
    text_of,
)

MAX_PAYLOAD = 8 << 20
"""A list of hundreds of devices has about a megabyte."""

_TOPIC = re.compile(r"[^#+\0]{1,200}")
_SWITCHED = ("light", "switch", "cover", "lock", "fan", "climate")
_BINARY = {
    "contact": "door",
    "occupancy": "motion",
    "presence": "presence",
    "water_leak": "moisture",
    "smoke": "smoke",
    "gas": "gas",
    "carbon_monoxide": "carbon_monoxide",
    "vibration": "vibration",
}
_NUMERIC = {
    "temperature": "temperature",
    "humidity": "humidity",
    "battery": "battery",
    "pressure": "atmospheric_pressure",
    "illuminance": "illuminance",
    "co2": "carbon_dioxide",
    "pm25": "pm25",
    "power": "power",
    "energy": "energy",
}
_STATES = {
    "ON": "on",
    "OFF": "off",
    "OPEN": "open",
    "CLOSE": "closed",
    "CLOSED": "closed",
    "LOCK": "locked",
    "UNLOCK": "unlocked",
}
_STATE_WORDS = {
    "on": ("ON", "OFF"),
    "open": ("OPEN", "CLOSE"),
    "unlocked": ("UNLOCK", "LOCK"),
}


class Zigbee(Device):
    """One thing that a device exposes: a light, a sensor, one of two switches, ..."""

    def __init__(
        self, base: str, friendly: str, entity: Entity, expose: Mapping[str, Any], value: str
    ) -> None:
        """value: the property with the state of the thing."""
        self.entity = entity
        self._topic = f"{base}/{friendly}"
        self.availability_topic = f"{self._topic}/availability"
        self.reads = (self._topic, self.availability_topic)
        self._expose = expose
        self._value = value
        self.confirms = entity.domain in _SWITCHED
        self._features = {
            str(f.get("name")): f for f in _list(expose.get("features")) if isinstance(f, Mapping)
        }

    def read(self, topic: str, payload: bytes) -> Reading | None:
        if len(payload) > MAX_PAYLOAD:
            return None
        message = _json(payload)
        if topic == self.availability_topic:
            told = message.get("state") if isinstance(message, Mapping) else text_of(payload)
            return Reading("unknown" if told == "online" else "unavailable")
        if not isinstance(message, Mapping):
            return None
        state = self._state(message.get(self._value))
        attributes = dict(self._attributes(message))
        return Reading(state, attributes) if state is not None or attributes else None

    def write(self, service: str, data: Mapping[str, Any], state: str) -> list[Message]:
        if not self.confirms:
            raise self.unable()
        fields: dict[str, Any] = {}
        if service in ("stop_cover", "stop_valve"):
            fields[self._value] = "STOP"
        elif service in OFF_SERVICES or data.get("brightness_pct") == 0:
            fields[self._value] = self._word(self.off_state)
        else:
            if service in ON_SERVICES and "state" in self._features:
                fields[self._value] = self._word(self.on_state)
            for key, value in data.items():
                fields |= self._field(key, value)
        if not fields:
            raise self.unable()
        return [Message(f"{self._topic}/set", json.dumps(fields))]

    def on_start(self) -> list[Message]:
        if not self.confirms:
            return []
        return [Message(f"{self._topic}/get", json.dumps({self._value: ""}))]

    def _field(self, key: str, value: Any) -> dict[str, Any]:
        if key == "brightness_pct" and (feature := self._feature("brightness")):
            top = number_of(feature.get("value_max")) or 254
            return {str(feature.get("property")): round(float(value) * top / 100)}
        if key == "color_temp_kelvin" and (feature := self._feature("color_temp")):
            return {str(feature.get("property")): round(1_000_000 / float(value))}
        if key in ("color_name", "rgb_color"):
            feature = self._feature("color_xy") or self._feature("color_hs")
            code = hex_code(value)
            if feature and code:
                return {str(feature.get("property", "color")): {"hex": code}}
        if key == "position" and (feature := self._feature("position")):
            return {str(feature.get("property")): round(float(value))}
        if key == "temperature":
            feature = self._feature("occupied_heating_setpoint") or self._feature(
                "current_heating_setpoint"
            )
            if feature:
                return {str(feature.get("property")): value}
        raise self.unable()

    def _feature(self, name: str) -> Mapping[str, Any] | None:
        feature = self._features.get(name)
        return feature if feature and feature.get("property") else None

    def _word(self, state: str) -> Any:
        on, off = _STATE_WORDS[self.on_state]
        feature = self._features.get("state", {})
        if state == self.on_state:
            return feature.get("value_on", on)
        return feature.get("value_off", off)

    def _state(self, value: Any) -> str | None:
        if value is None or isinstance(value, list | Mapping):
            return None
        domain = self.entity.domain
        if domain == "sensor":
            return str(plain(number)) if (number := number_of(value)) is not None else str(value)
        if domain == "binary_sensor":
            on = self._expose.get("value_on", True)
            if self._expose.get("name") == "contact" and isinstance(on, bool):
                on = False  # "contact" is true while the door is shut
            return "on" if value == on else "off"
        if value == self._word(self.on_state):
            return self.on_state
        if value == self._word(self.off_state):
            return self.off_state
        return _STATES.get(str(value).upper(), str(value).lower())

    def _attributes(self, message: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        def told(name: str) -> float | None:
            feature = self._feature(name)
            return number_of(message.get(str(feature["property"]))) if feature else None

        if (level := told("brightness")) is not None:
            feature = self._feature("brightness") or {}
            top = number_of(feature.get("value_max")) or 254
            yield "brightness", round(level * 255 / top)
        if (mired := told("color_temp")) is not None and mired > 0:
            yield "color_temp_kelvin", round(1_000_000 / mired)
        if (position := told("position")) is not None:
            yield "current_position", plain(position)
        if (warm := told("local_temperature")) is not None:
            yield "current_temperature", plain(warm)
        for name in ("occupied_heating_setpoint", "current_heating_setpoint"):
            if (wanted := told(name)) is not None:
                yield "temperature", plain(wanted)


def devices(
    payload: bytes, base: str, known: Mapping[str, MqttDevice]
) -> tuple[list[Zigbee], dict[str, str]]:
    """All things in the message of BASE/bridge/devices; rows that make no sense are left out.

    known: settings by name, for room and further names; "kitchen/lamp" stands in the kitchen
    of itself. Also returns the names of the rooms by id.
    """
    rows = _json(payload) if len(payload) <= MAX_PAYLOAD else None
    found: list[Zigbee] = []
    rooms: dict[str, str] = {}
    for row in rows if isinstance(rows, list) else ():
        friendly = row.get("friendly_name") if isinstance(row, Mapping) else None
        if not isinstance(friendly, str) or row.get("disabled") or not _TOPIC.fullmatch(friendly):
            continue
        definition = row.get("definition")
        exposes = definition.get("exposes") if isinstance(definition, Mapping) else None
        room, _, name = friendly.rpartition("/")
        cfg = known.get(friendly) or known.get(name)
        area = (cfg.area if cfg and cfg.area else room).replace("_", " ")
        if area:
            rooms[area_id(area)] = area
        for entity, expose, value in _things(name.replace("_", " "), exposes, area, cfg):
            found.append(Zigbee(base, friendly, entity, expose, value))
    return found, rooms


def _things(
    name: str, exposes: Any, area: str, cfg: MqttDevice | None
) -> Iterator[tuple[Entity, Mapping[str, Any], str]]:
    """(what it is, what the bridge says of it, property with its state)."""
    main = True
    for expose in _list(exposes):
        if not isinstance(expose, Mapping):
            continue
        kind, attributes = expose.get("type"), dict[str, Any]()
        title, value = name, str(expose.get("property", ""))
        if kind in _SWITCHED:
            domain = str(kind)
            features = [f for f in _list(expose.get("features")) if isinstance(f, Mapping)]
            wanted = "system_mode" if kind == "climate" else "state"
            value = next(
                (
                    str(f["property"])
                    for f in features
                    if f.get("name") == wanted and f.get("property")
                ),
                "",
            )
            if expose.get("endpoint"):
                title = f"{name} {expose['endpoint']}"
        elif kind == "binary" and str(expose.get("name")) in _BINARY:
            domain = "binary_sensor"
            attributes["device_class"] = _BINARY[str(expose["name"])]
        elif kind == "numeric" and str(expose.get("name")) in _NUMERIC:
            domain, title = "sensor", f"{name} {str(expose['name']).replace('_', ' ')}"
            attributes["device_class"] = _NUMERIC[str(expose["name"])]
            if isinstance(expose.get("unit"), str):
                attributes["unit_of_measurement"] = expose["unit"]
        else:
            continue
        if not value and kind != "climate":
            continue
        aliases = cfg.aliases if cfg and main and domain != "sensor" else ()
        if cfg and cfg.device_class and domain in ("cover", "binary_sensor"):
            attributes["device_class"] = cfg.device_class
        main = main and domain == "sensor"
        yield (
            Entity(entity_id(domain, title), title, aliases, area_id(area), "", attributes),
            expose,
            value,
        )


def _json(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
