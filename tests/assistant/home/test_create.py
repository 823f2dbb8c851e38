"""Which home the settings make, and two as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assistant.config import HomeConfig
from assistant.errors import SkillError
from assistant.home import create
from assistant.home.base import Area, Entity, Floor, Home, PartlyDone, Snapshot
from assistant.home.combined import Combined
from assistant.home.home_assistant import HomeAssistant
from assistant.home.mqtt import Mqtt

HA = {"url": "http://127.0.0.1:1", "token": "t"}
BROKER = {"host": "127.0.0.1"}


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, type(None)),
        ({"area": "kitchen"}, type(None)),
        ({"home_assistant": HA}, HomeAssistant),
        ({"mqtt": BROKER}, Mqtt),
        ({"home_assistant": HA, "mqtt": BROKER}, Combined),
    ],
)
def test_what_is_configured_is_made(settings: dict[str, Any], kind: type) -> None:
    assert isinstance(create(HomeConfig.model_validate(settings)), kind)


class Part(Home):
    """Remembers what it was told."""

    def __init__(self, snapshot: Snapshot, trouble: str = "") -> None:
        self.known = snapshot
        self.wrong = trouble
        self.calls: list[tuple[str, str, tuple[str, ...]]] = []
        self.fails: Exception | None = None

    def start(self) -> None:
        self.calls.append(("start", "", ()))

    def snapshot(self) -> Snapshot:
        return self.known

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        self.calls.append((domain, service, tuple(entities)))
        if self.fails is not None:
            raise self.fails

    def ask(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return {"asked": tuple(entities)}

    def trouble(self) -> str:
        return self.wrong


@pytest.fixture
def parts() -> tuple[Part, Part, Combined]:
    kitchen = Area("kitchen_1", "Kitchen", ("cookhouse",), "ground")
    first = Part(
        Snapshot(
            (Floor("ground", "Ground"),),
            (kitchen,),
            (Entity("light.one", "One", (), "kitchen_1", "on"), Entity("light.both", "Both")),
            3,
        )
    )
    second = Part(
        Snapshot(
            (),
            (Area("kitchen", "kitchen"), Area("hall", "hall")),
            (
                Entity("light.two", "Two", (), "kitchen"),
                Entity("light.three", "Three", (), "hall"),
                Entity("light.both", "Both twice"),
            ),
            4,
        )
    )
    return first, second, Combined([first, second])


def test_two_homes_are_one(parts: tuple[Part, Part, Combined]) -> None:
    first, second, both = parts
    snapshot = both.snapshot()
    assert snapshot.version == 7
    assert [area.id for area in snapshot.areas] == ["kitchen_1", "hall"]
    assert {e.id: (e.name, e.area) for e in snapshot.entities} == {
        "light.one": ("One", "kitchen_1"),
        "light.both": ("Both", ""),
        "light.two": ("Two", "kitchen_1"),
        "light.three": ("Three", "hall"),
    }
    both.call("light", "turn_on", ["light.two", "light.one", "light.both"], {})
    assert first.calls == [("light", "turn_on", ("light.one", "light.both"))]
    assert second.calls == [("light", "turn_on", ("light.two",))]
    assert both.ask("weather", "x", ["light.two"], {}) == {"asked": ("light.two",)}


def test_one_that_fails_does_not_hide_the_other(parts: tuple[Part, Part, Combined]) -> None:
    _, second, both = parts
    second.fails = SkillError("home.away", "I can't reach it.")
    with pytest.raises(PartlyDone) as caught:
        both.call("light", "turn_on", ["light.one", "light.two"], {})
    assert caught.value.failed == ("light.two",)
    with pytest.raises(SkillError, match="can't reach") as alone:
        both.call("light", "turn_on", ["light.two"], {})
    assert not isinstance(alone.value, PartlyDone)


def test_trouble_of_one_is_not_that_of_all(parts: tuple[Part, Part, Combined]) -> None:
    first, second, both = parts
    first.wrong = "The first is away."
    assert both.trouble() == ""
    assert both.troubles() == ["The first is away."]
    second.wrong = "The second too."
    assert both.trouble() == "The first is away. The second too."
