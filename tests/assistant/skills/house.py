"""A conversation with a home behind a real server, by text, with the real grammars."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assistant.config import Config
from assistant.home.home_assistant import HomeAssistant
from assistant.intent.base import Intent
from assistant.intent.grammar import Grammar
from assistant.intent.home_grammar import HomeGrammar
from assistant.skills.base import Outcome, TurnContext
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.skills.clocks import FakeClock
from tests.home_server import TOKEN, HomeServer
from tests.patience import PATIENCE_S

_GRAMMARS: dict[str, Any] = {}


def furnish(server: HomeServer) -> None:
    """Three rooms on two floors."""
    ground, upper = server.floor("Ground Floor", "downstairs"), server.floor("Upstairs")
    kitchen, hall = server.area("Kitchen", floor=ground), server.area("Hall", floor=ground)
    bedroom = server.area("Bedroom", floor=upper)
    server.entity("light.ceiling", "Kitchen ceiling", area=kitchen, brightness=100)
    server.entity("light.counter", "Counter light", "on", area=kitchen, brightness=255)
    server.entity("light.hall", "Hall lamp", "on", area=hall, aliases=("big lamp",))
    server.entity("light.bed", "Bedroom lamp", area=bedroom)
    server.entity("light.k", "Reading light", area=kitchen)
    server.entity("light.b", "Reading light", area=bedroom)
    server.entity("cover.garage", "Garage door", "closed", area=hall, device_class="garage")
    curtain = {"device_class": "curtain", "current_position": 100}
    server.entity("cover.curtain", "Curtain", "open", area=bedroom, **curtain)
    server.entity("lock.front", "Front door", "locked", area=hall)
    warm = {"current_temperature": 19.5, "temperature": 20, "min_temp": 7, "max_temp": 30}
    server.entity("climate.hall", "Thermostat", "heat", area=hall, **warm)
    window = {"device_class": "window"}
    server.entity("binary_sensor.bed", "Bedroom window", "on", area=bedroom, **window)
    server.entity("binary_sensor.kit", "Kitchen window", "off", area=kitchen, **window)
    server.entity("media_player.tv", "TV", "playing", area=kitchen, volume_level=0.5,
                  media_title="The Office")  # fmt: skip
    server.entity("media_player.radio", "Bedroom radio", "paused", area=bedroom, volume_level=0.2)
    server.entity("switch.lamp1", "Lamp 1", area=hall)
    server.entity("switch.lamp3", "Lamp 3", area=hall)
    server.entity("switch.mute", "TV mute", area=kitchen)
    server.entity("fan.kitchen", "Ceiling fan", area=kitchen, percentage=0)
    server.entity("vacuum.rover", "Rover", "docked", area=hall)
    server.entity("scene.party", "Party mode", "unknown")
    server.entity("person.ada", "Ada", "not_home")
    server.entity("sensor.out", "Outside temperature", "4.0", unit_of_measurement="°C")
    server.entity("weather.home", "Home", "rainy", temperature=8.4)


class House:
    """``say`` is one turn of a device that stands in ``area``."""

    def __init__(self, folder: Path, server: HomeServer, area: str, cfg: dict[str, Any]) -> None:
        self.server = server
        settings = {"url": server.url, "token": TOKEN}
        self.cfg = Config.model_validate(
            {"home": {"area": area, "home_assistant": settings}, **cfg}
        )
        self.time = FakeClock()
        self.state = State(folder / "state.db", self.time.clock)
        self.home = HomeAssistant(self.cfg.home.home_assistant, reconnect_s=0.1)
        self.home.start()
        self.home.settle(PATIENCE_S)
        assert self.home.trouble() == ""
        self.registry = Registry.load(self.cfg, self.state, self.home)
        assert not self.registry.troubles
        self.last: Intent | None = None
        self.expects = ""
        key = ",".join(str(path) for path in self.registry.sentence_dirs)
        if key not in _GRAMMARS:
            # they know nothing of one home, and take long to compile
            own = Grammar(self.registry.sentence_dirs, now=lambda: self.time.wall)
            home = HomeGrammar(lambda: self.home.snapshot())
            own.load()
            home.load()
            _GRAMMARS[key] = (own, home)
        own, grammar = _GRAMMARS[key]
        grammar._snapshot = self.home.snapshot
        grammar._version = None
        self.grammars = (own, grammar)

    def turn(self, text: str = "") -> TurnContext:
        return TurnContext(now=lambda: self.time.wall, state=self.state, utterance=text)

    def understand(self, text: str) -> Intent | None:
        intent = self.registry.complete(self.expects, text) if self.expects else None
        for grammar in self.grammars:
            intent = intent or grammar.understand(text)
        return intent

    def say(self, text: str) -> Outcome:
        intent = self.understand(text)
        if intent is None and self.last is not None:
            intent = self.registry.revise(self.last, text, self.turn(text))
        assert intent is not None, f"not understood: {text}"
        return self.handle(intent, text)

    def handle(self, intent: Intent, text: str = "") -> Outcome:
        outcome = self.registry.handle(intent, self.turn(text))
        self.expects = outcome.expects
        self.last = intent
        return outcome

    def reply(self, text: str) -> str:
        return self.say(text).reply

    def follows(self, text: str) -> Intent | None:
        """What the skill makes of a sentence after the last one, before any grammar."""
        assert self.last is not None
        return self.registry.revise(self.last, text, self.turn(text))

    def revised(self, text: str) -> Outcome:
        intent = self.follows(text)
        assert intent is not None, f"it means nothing after {self.last}: {text}"
        return self.handle(intent, text)

    @property
    def calls(self) -> list[tuple[str, tuple[str, ...], dict[str, Any]]]:
        return [(f"{d}.{s}", entities, data) for d, s, entities, data in self.server.calls]

    def settle(self, entity: str, state: str) -> None:
        """Waits until the home has heard of a new state."""
        end = time.monotonic() + PATIENCE_S
        while not any(e.id == entity and e.state == state for e in self.home.snapshot().entities):
            assert time.monotonic() < end, f"{entity} is not {state}"
            time.sleep(0.002)

    def close(self) -> None:
        self.registry.close()
        self.home.close()
        self.state.close()


@contextmanager
def living_in(
    folder: Path, area: str = "Kitchen", furnished: Any = furnish, **cfg: Any
) -> Iterator[House]:
    with HomeServer() as server:
        furnished(server)
        house = House(folder, server, area, cfg)
        try:
            yield house
        finally:
            house.close()
