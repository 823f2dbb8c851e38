"""One device behind MQTT: which messages make it do something, and what its own ones mean."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assistant.errors import SkillError
from assistant.home.base import Entity

ON_STATES = {"cover": "open", "valve": "open", "lock": "unlocked"}
OFF_STATES = {"cover": "closed", "valve": "closed", "lock": "locked"}
ON_SERVICES = ("turn_on", "open_cover", "open_valve", "unlock", "press")
OFF_SERVICES = ("turn_off", "close_cover", "close_valve", "lock")


class Message(NamedTuple):
    topic: str
    payload: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message told: state None says nothing of it, attributes only what is new."""

    state: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


class Device(ABC):
    """entity: its names and fixed attributes, without a state."""

    entity: Entity
    reads: tuple[str, ...] = ()
    """Topics that tell of it."""
    confirms = False
    """It tells of its state after it has been told to change it."""

    @abstractmethod
    def read(self, topic: str, payload: bytes) -> Reading | None:
        """What a message of one of its topics means; None when it means nothing."""

    @abstractmethod
    def write(self, service: str, data: Mapping[str, Any], state: str) -> list[Message]:
        """What is to be sent. state: as known now. Raises SkillError when it cannot do it."""

    def on_start(self) -> list[Message]:
        """What asks the device to tell its state; changes nothing."""
        return []

    def unable(self) -> SkillError:
        return SkillError("home.unable", f"The {self.entity.name} can't do that.")

    @property
    def on_state(self) -> str:
        return ON_STATES.get(self.entity.domain, "on")

    @property
    def off_state(self) -> str:
        return OFF_STATES.get(self.entity.domain, "off")

    def after(self, service: str, data: Mapping[str, Any]) -> str | None:
        """The state that a service leads to; None when it changes something else."""
        if self.entity.domain in ("scene", "button"):
            return None
        if service in OFF_SERVICES or data.get("brightness_pct") == 0:
            return self.off_state
        return self.on_state if service in ON_SERVICES else None


def entity_id(domain: str, name: str) -> str:
    """ "light.kitchen_lamp"; any letters of any language are kept."""
    return f"{domain}.{re.sub(r'[^0-9a-z]+', '_', name.casefold()).strip('_') or name}"


def area_id(name: str) -> str:
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def text_of(payload: bytes) -> str | None:
    """None for what is no text, or too long to be a state."""
    if len(payload) > 255:
        return None
    try:
        return payload.decode("utf-8").strip()
    except UnicodeDecodeError:
        return None


def number_of(value: Any) -> float | None:
    """A finite number, also one that was sent as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e12 else None


def plain(number: float) -> int | float:
    """50 for 50.0; at most two decimals."""
    number = round(number, 2)
    return int(number) if number == int(number) else number
