"""A home on paper for benchmarks: what is switched there is noted nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistant.home.base import Area, Entity, Home, Snapshot

ROOMS = ("kitchen", "study", "hall", "bedroom", "bathroom", "living room", "garage")

LAMP = {"supported_color_modes": ["brightness", "hs"], "brightness": 255}

DEVICES = (
    Entity("light.kitchen", "Kitchen light", area="kitchen", state="off", attributes=LAMP),
    Entity("light.desk", "Desk lamp", area="study", state="off", attributes=LAMP),
    Entity("light.hall", "Hall lamp", area="hall", state="off", attributes=LAMP),
    Entity("light.bed", "Bedroom light", area="bedroom", state="off", attributes=LAMP),
    Entity("light.bath", "Bathroom light", area="bathroom", state="off", attributes=LAMP),
    Entity("light.living", "Living room light", area="living_room", state="off", attributes=LAMP),
    Entity("switch.coffee", "Coffee machine", area="kitchen", state="off"),
    Entity("switch.heater", "Towel heater", area="bathroom", state="off"),
    Entity("fan.bed", "Ceiling fan", area="bedroom", state="off", attributes={"percentage": 50}),
    Entity("cover.blind", "Blinds", area="bedroom", state="open",
           attributes={"device_class": "blind"}),
    Entity("cover.garage", "Garage door", area="garage", state="closed",
           attributes={"device_class": "garage"}),
    Entity("lock.front", "Front door", area="hall", state="locked"),
    Entity("climate.living", "Thermostat", area="living_room", state="heat",
           attributes={"current_temperature": 21, "temperature": 20}),
    Entity("media_player.tv", "TV", area="living_room", state="off"),
    Entity("media_player.radio", "Radio", area="kitchen", state="off"),
    Entity("vacuum.robot", "Vacuum cleaner", area="hall", state="docked"),
    Entity("scene.movie", "Movie night"),
)  # fmt: skip


class PaperHome(Home):
    def start(self) -> None:
        """It is there."""

    def snapshot(self) -> Snapshot:
        rooms = tuple(Area(name.replace(" ", "_"), name.capitalize()) for name in ROOMS)
        return Snapshot(areas=rooms, entities=DEVICES, version=1)

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        """It is done."""

    def trouble(self) -> str:
        return ""
