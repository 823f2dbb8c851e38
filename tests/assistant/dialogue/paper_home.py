"""A home on paper: what is switched is so at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.home.base import Area, Entity, Home, Snapshot

_STATES = {"turn_on": "on", "turn_off": "off", "open_cover": "open", "close_cover": "closed"}


class PaperHome(Home):
    """Three rooms. calls: what was done, in order."""

    def __init__(self) -> None:
        lamp = {"supported_color_modes": ["brightness"], "brightness": 255}
        self._entities = {
            entity.id: entity
            for entity in (
                Entity("light.desk", "Desk lamp", area="study", state="off", attributes=lamp),
                Entity("light.kitchen", "Kitchen light", area="kitchen", state="off",
                       attributes=lamp),
                Entity("light.bed", "Bedroom light", area="bedroom", state="off", attributes=lamp),
                Entity("cover.blind", "Blind", area="bedroom", state="open",
                       attributes={"device_class": "blind"}),
            )
        }  # fmt: skip
        self.calls: list[tuple[str, str, tuple[str, ...]]] = []

    def start(self) -> None:
        """It is there."""

    def snapshot(self) -> Snapshot:
        rooms = (Area("study", "Study"), Area("kitchen", "Kitchen"), Area("bedroom", "Bedroom"))
        return Snapshot(areas=rooms, entities=tuple(self._entities.values()), version=1)

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        self.calls.append((domain, service, tuple(entities)))
        for name in entities:
            state = _STATES.get(service, self._entities[name].state)
            self._entities[name] = replace(self._entities[name], state=state)

    def trouble(self) -> str:
        return ""
