"""A device whose topics stand in the settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assistant.config import MqttDevice
from assistant.home.base import Entity
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

_LEVELS = {
    "light": "brightness",
    "fan": "percentage",
    "cover": "current_position",
    "valve": "current_position",
    "climate": "temperature",
}
_READ_ONLY = ("sensor", "binary_sensor")


class Declared(Device):
    def __init__(self, name: str, cfg: MqttDevice) -> None:
        self._cfg = cfg
        attributes: dict[str, Any] = {}
        if cfg.device_class:
            attributes["device_class"] = cfg.device_class
        if cfg.unit:
            attributes["unit_of_measurement"] = cfg.unit
        self.entity = Entity(
            entity_id(cfg.domain, name), name, cfg.aliases, area_id(cfg.area), "", attributes
        )
        topics = (cfg.state_topic, cfg.level_state_topic, cfg.availability_topic)
        self.reads = tuple(dict.fromkeys(topic for topic in topics if topic))
        self.confirms = bool(cfg.state_topic)

    def read(self, topic: str, payload: bytes) -> Reading | None:
        cfg = self._cfg
        text = text_of(payload) if not cfg.json_key else self._from_json(payload)
        if text is None:
            return None
        if topic == cfg.availability_topic:
            raw = text_of(payload)
            return Reading("unknown" if raw == cfg.payload_available else "unavailable")
        state, attributes = None, {}
        if topic == cfg.level_state_topic:
            attributes = self._level(text)
        if topic == cfg.state_topic:
            state = self._state(text)
        return Reading(state, attributes) if state is not None or attributes else None

    def write(self, service: str, data: Mapping[str, Any], state: str) -> list[Message]:
        cfg, domain = self._cfg, self.entity.domain
        if domain in _READ_ONLY:
            raise self.unable()
        level = self._wanted(service, data)
        if level is not None and not cfg.level_command_topic:
            # Without a level it can still be fully on or off.
            if level not in (0, 100) or domain == "climate":
                raise self.unable()
            service, level = ("turn_on" if level else "turn_off"), None
        if set(data) - {"brightness_pct", "percentage", "position", "temperature"}:
            raise self.unable()
        messages = []
        if level is not None:
            if domain != "climate":
                level = level * cfg.level_scale / 100
            messages.append(Message(cfg.level_command_topic, str(plain(level))))
            switches = domain in ("light", "fan") and cfg.command_topic
            if switches and (level == 0 or state != "on"):
                on = cfg.payload_on if level else cfg.payload_off
                messages.insert(0, Message(cfg.command_topic, on))
            return messages
        payload = None
        if service in ON_SERVICES:
            payload = cfg.payload_on
        elif service in OFF_SERVICES:
            payload = cfg.payload_off
        elif service in ("stop_cover", "stop_valve"):
            payload = cfg.payload_stop
        if payload is None or not cfg.command_topic:
            raise self.unable()
        return [Message(cfg.command_topic, payload)]

    def _wanted(self, service: str, data: Mapping[str, Any]) -> float | None:
        """0 to 100, or a temperature; None when only on or off is wanted."""
        for key in ("brightness_pct", "percentage", "position", "temperature"):
            if key in data and service not in OFF_SERVICES:
                return float(data[key])
        return None

    def _from_json(self, payload: bytes) -> str | None:
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError):
            return text_of(payload)
        if isinstance(value, Mapping):
            value = value.get(self._cfg.json_key)
        if value is None or isinstance(value, list | Mapping):
            return None
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _state(self, text: str) -> str | None:
        domain, cfg = self.entity.domain, self._cfg
        if domain == "sensor" or (domain == "climate" and not cfg.command_topic):
            return text
        known = {
            cfg.payload_on.casefold(): self.on_state,
            cfg.payload_off.casefold(): self.off_state,
        }
        words = {self.on_state: self.on_state, self.off_state: self.off_state}
        if cfg.json_key:
            words |= {"true": self.on_state, "false": self.off_state}
        return known.get(text.casefold()) or words.get(text.casefold())

    def _level(self, text: str) -> dict[str, Any]:
        number, key = number_of(text), _LEVELS.get(self.entity.domain)
        if number is None or key is None:
            return {}
        if key == "temperature":
            return {key: plain(number)}
        share = min(max(number / self._cfg.level_scale, 0.0), 1.0)
        return {key: round(share * (255 if key == "brightness" else 100))}
