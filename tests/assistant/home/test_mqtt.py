"""Devices behind a real broker."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import assistant.home.broker
from assistant.config import MqttConfig
from assistant.errors import SkillError
from assistant.home.base import Entity, PartlyDone
from assistant.home.mqtt import Mqtt
from tests import certificate
from tests.broker import Devices, Mosquitto
from tests.cable import Cable
from tests.patience import PATIENCE_S
from tests.ports import free_port

LAMP = {
    "domain": "light",
    "area": "kitchen",
    "aliases": ["big lamp"],
    "command_topic": "lamp/set",
    "state_topic": "lamp/state",
    "level_command_topic": "lamp/level/set",
    "level_state_topic": "lamp/level",
    "level_scale": 254,
}
HEATER = {"domain": "switch", "area": "Living Room", "command_topic": "heater/set"}
BLIND = {
    "domain": "cover",
    "command_topic": "blind/set",
    "payload_on": "UP",
    "payload_off": "DOWN",
    "state_topic": "blind/state",
    "level_command_topic": "blind/to",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path_factory.mktemp("broker")) as one:
        yield one


@pytest.fixture
def devices(broker: Mosquitto) -> Iterator[Devices]:
    with Devices(broker.port) as one:
        yield one


@contextmanager
def connected(
    port: int, confirm_s: float = PATIENCE_S, lasting: bool = False, **settings: Any
) -> Iterator[Mqtt]:
    cfg = MqttConfig.model_validate({"host": "127.0.0.1", "port": port, **settings})
    home = Mqtt(cfg, confirm_s=confirm_s, reconnect_s=0.1)
    if lasting:
        home.announce()
    home.start()
    home.settle(PATIENCE_S)
    try:
        yield home
    finally:
        home.close()


def until(home: Mqtt, true: Callable[[], bool]) -> None:
    with home._changed:
        assert home._changed.wait_for(true, PATIENCE_S), "it did not come true"


def entity(home: Mqtt, name: str) -> Entity:
    return next(e for e in home.snapshot().entities if e.name == name)


def test_a_lamp_is_switched_and_tells_so(broker: Mosquitto, devices: Devices) -> None:
    devices.answers["lamp/set"] = ("lamp/state", lambda said: said)
    with connected(broker.port, devices={"kitchen lamp": LAMP}) as home:
        assert home.trouble() == ""
        lamp = entity(home, "kitchen lamp")
        assert (lamp.id, lamp.aliases, lamp.area) == (
            "light.kitchen_lamp",
            ("big lamp",),
            "kitchen",
        )
        assert [area.name for area in home.snapshot().areas] == ["kitchen"]
        home.call("light", "turn_on", [lamp.id], {})
        assert entity(home, "kitchen lamp").state == "on"
        home.call("light", "turn_off", [lamp.id], {})
        assert entity(home, "kitchen lamp").state == "off"
        assert devices.commands("lamp/set") == ["ON", "OFF"]
        assert not any(retained for topic, _, retained in devices.heard if "set" in topic)


def test_nothing_is_kept_by_the_broker(broker: Mosquitto, devices: Devices) -> None:
    devices.answers["lamp/set"] = ("lamp/state", lambda said: said)
    with connected(broker.port, devices={"lamp": LAMP}) as home:
        home.call("light", "turn_on", ["light.lamp"], {"brightness_pct": 50})
    with Devices(broker.port) as later:
        later.tell("mark", "x")
        later.wait("mark")
        assert [topic for topic, _, _ in later.heard] == ["mark"]


@pytest.mark.parametrize(
    ("percent", "level", "switched"), [(0, "0", "OFF"), (50, "127", "ON"), (100, "254", "ON")]
)
def test_brightness_has_the_scale_of_the_lamp(
    broker: Mosquitto, devices: Devices, percent: int, level: str, switched: str
) -> None:
    devices.answers["lamp/set"] = ("lamp/state", lambda said: said)
    with connected(broker.port, devices={"lamp": LAMP}) as home:
        home.call("light", "turn_on", ["light.lamp"], {"brightness_pct": percent})
        assert devices.wait("lamp/level/set") == [level]
        assert devices.commands("lamp/set") == [switched]
        devices.tell("lamp/level", level)
        wanted = round(int(level) * 255 / 254)
        until(home, lambda: entity(home, "lamp").attributes.get("brightness") == wanted)


def test_a_device_that_never_tells_is_taken_at_its_word(
    broker: Mosquitto, devices: Devices
) -> None:
    with connected(broker.port, devices={"heater": HEATER}) as home:
        assert entity(home, "heater").state == "unknown"
        home.call("switch", "turn_on", ["switch.heater"], {})
        assert devices.wait("heater/set") == ["ON"]
        assert entity(home, "heater").state == "on"
        with pytest.raises(SkillError, match="heater can't do that"):
            home.call("switch", "turn_on", ["switch.heater"], {"brightness_pct": 20})


def test_a_device_that_does_not_answer_is_no_success(broker: Mosquitto, devices: Devices) -> None:
    devices.answers["lamp/set"] = ("lamp/state", lambda said: said)
    hall = {**LAMP, "command_topic": "hall/set", "state_topic": "hall/state"}
    with connected(broker.port, devices={"lamp": LAMP, "hall lamp": hall}) as home:
        wait_for = home._changed.wait_for

        def enough(true: Callable[[], bool], limit: float) -> bool:
            """The time to answer is over once the lamp has answered."""
            return wait_for(lambda: entity(home, "lamp").state == "on", limit)

        home._changed.wait_for = enough  # type: ignore[assignment,method-assign]
        with pytest.raises(PartlyDone, match="hall lamp did not answer") as caught:
            home.call("light", "turn_on", ["light.lamp", "light.hall_lamp"], {})
        assert caught.value.failed == ("light.hall_lamp",)
        assert entity(home, "lamp").state == "on"
        assert entity(home, "hall lamp").state == "unknown"


def test_blinds_and_other_words(broker: Mosquitto, devices: Devices) -> None:
    devices.answers["blind/set"] = ("blind/state", lambda said: "opening" if said == "UP" else said)
    with connected(broker.port, devices={"blind": BLIND}) as home:
        devices.tell("blind/state", "down")
        until(home, lambda: entity(home, "blind").state == "closed")
        devices.answers["blind/set"] = ("blind/state", lambda said: said.lower())
        home.call("cover", "open_cover", ["cover.blind"], {})
        home.call("cover", "set_cover_position", ["cover.blind"], {"position": 0})
        home.call("cover", "stop_cover", ["cover.blind"], {})
        assert devices.wait("blind/to") == ["0"]
        assert devices.wait("blind/set", 2) == ["UP", "STOP"]


def test_state_in_json_and_availability(broker: Mosquitto, devices: Devices) -> None:
    sensor = {
        "domain": "sensor",
        "state_topic": "probe",
        "json_key": "temp",
        "unit": "°C",
        "device_class": "temperature",
        "availability_topic": "probe/there",
    }
    with connected(broker.port, devices={"probe": sensor}) as home:
        for payload in (b"\xff\xfe", "[" * 5000, '{"temp": null}', "x" * 100_000, '{"temp": {}}'):
            devices.tell("probe", payload)
        devices.tell("probe", {"temp": 21.5})
        until(home, lambda: entity(home, "probe").state == "21.5")
        assert entity(home, "probe").attributes["unit_of_measurement"] == "°C"
        devices.tell("probe/there", "offline")
        until(home, lambda: entity(home, "probe").state == "unavailable")
        with pytest.raises(SkillError, match="can't do that"):
            home.call("sensor", "turn_on", ["sensor.probe"], {})


def bridge() -> list[dict[str, Any]]:
    def feature(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "property": name, **more}

    switch = {"value_on": "ON", "value_off": "OFF"}
    light = [
        feature("state", **switch),
        feature("brightness", value_max=254),
        feature("color_temp"),
        {"name": "color_xy", "property": "color", "type": "composite"},
    ]
    left = {"name": "state", "property": "state_left", **switch}
    return [
        {"friendly_name": "Coordinator", "type": "Coordinator", "definition": None},
        {
            "friendly_name": "kitchen/ceiling",
            "definition": {"exposes": [{"type": "light", "features": light}]},
        },
        {
            "friendly_name": "back_door",
            "definition": {
                "exposes": [
                    {**feature("contact"), "type": "binary", "value_on": False, "value_off": True},
                    {**feature("battery"), "type": "numeric", "unit": "%"},
                ]
            },
        },
        {
            "friendly_name": "wall",
            "definition": {"exposes": [{"type": "switch", "endpoint": "left", "features": [left]}]},
        },
        {"friendly_name": "off", "disabled": True, "definition": {"exposes": []}},
        {"friendly_name": "a/#", "definition": {"exposes": [{"type": "light", "features": light}]}},
        {"friendly_name": 7},
        "no device",
    ]


def test_devices_of_zigbee2mqtt(broker: Mosquitto, devices: Devices) -> None:
    devices.tell("zigbee2mqtt/bridge/devices", bridge(), retain=True)
    set_topic = "zigbee2mqtt/kitchen/ceiling/set"
    devices.answers[set_topic] = ("zigbee2mqtt/kitchen/ceiling", lambda said: said)
    known = {"back_door": {"area": "Hall", "aliases": ["garden door"]}}
    try:
        with connected(broker.port, zigbee2mqtt=True, devices=known) as home:
            until(home, lambda: len(home.snapshot().entities) == 4)
            snapshot = home.snapshot()
            assert sorted((e.id, e.name, e.area) for e in snapshot.entities) == [
                ("binary_sensor.back_door", "back door", "hall"),
                ("light.ceiling", "ceiling", "kitchen"),
                ("sensor.back_door_battery", "back door battery", "hall"),
                ("switch.wall_left", "wall left", ""),
            ]
            assert sorted(area.name for area in snapshot.areas) == ["Hall", "kitchen"]
            assert entity(home, "back door").aliases == ("garden door",)
            # asking for the state is the only thing that is sent unasked
            devices.wait("zigbee2mqtt/kitchen/ceiling/get")
            home.call("light", "turn_on", ["light.ceiling"], {"brightness_pct": 50})
            home.call("light", "turn_on", ["light.ceiling"], {"color_name": "red"})
            home.call("light", "turn_on", ["light.ceiling"], {"color_temp_kelvin": 2700})
            home.call("light", "turn_on", ["light.ceiling"], {"brightness_pct": 0})
            home.call("light", "turn_on", ["light.ceiling"], {"rgb_color": [0, 16, 255]})
            sent = [json.loads(text) for text in devices.wait(set_topic, 5)]
            assert sent == [
                {"state": "ON", "brightness": 127},
                {"state": "ON", "color": {"hex": "#ff0000"}},
                {"state": "ON", "color_temp": 370},
                {"state": "OFF"},
                {"state": "ON", "color": {"hex": "#0010ff"}},
            ]
            assert entity(home, "ceiling").state == "on"
            devices.tell("zigbee2mqtt/back_door", {"contact": False, "battery": 0})
            until(home, lambda: entity(home, "back door").state == "on")
            assert entity(home, "back door battery").state == "0"
            devices.tell("zigbee2mqtt/bridge/state", {"state": "offline"})
            until(home, lambda: entity(home, "ceiling").state == "unavailable")
            version = home.snapshot().version
            devices.tell("zigbee2mqtt/bridge/devices", bridge()[:2], retain=True)
            until(home, lambda: len(home.snapshot().entities) == 1)
            assert home.snapshot().version > version
    finally:
        devices.tell("zigbee2mqtt/bridge/devices", "", retain=True)


def test_a_bridge_that_tells_nonsense(broker: Mosquitto, devices: Devices) -> None:
    with connected(broker.port, zigbee2mqtt=True) as home:
        for payload in ("{", "[[[]]]", "null", "5", b"\xff", "[" * 100_000):
            devices.tell("zigbee2mqtt/bridge/devices", payload)
        devices.tell("zigbee2mqtt/bridge/devices", bridge()[1:2])
        until(home, lambda: len(home.snapshot().entities) == 1)


def test_says_that_it_is_there(broker: Mosquitto, devices: Devices) -> None:
    topic = "rooms/kitchen/assistant"
    with connected(broker.port, lasting=True, availability_topic=topic):
        assert devices.wait(topic) == ["online"]
        # a command beside the service says nothing of its own coming and going
        with connected(broker.port, availability_topic=topic):
            pass
    assert devices.wait(topic, 2) == ["online", "offline"]
    devices.tell(topic, "", retain=True)


def test_password_from_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secret = tmp_path / "secret"
    secret.write_text("pass-word-7\n", encoding="utf-8")
    login = {"username": "pi", "password_file": str(secret)}
    with Mosquitto(tmp_path, user="pi", password="pass-word-7") as broker:
        with connected(broker.port, **login) as home:
            assert home.trouble() == ""
        secret.write_text("other-word", encoding="utf-8")
        with connected(broker.port, **login) as home, caplog.at_level(logging.DEBUG):
            assert "does not accept" in home.trouble()
            assert "other-word" not in home.trouble() + home.hint() + caplog.text
        secret.unlink()
        with connected(broker.port, **login) as home:
            assert "cannot be read" in home.trouble()


def test_broker_is_away_and_comes_back(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker, connected(broker.port, devices={"lamp": LAMP}) as home:
        broker.stop()
        until(home, lambda: entity(home, "lamp").state == "unavailable")
        with pytest.raises(SkillError, match="can't reach"):
            home.call("light", "turn_on", ["light.lamp"], {})
        broker.start()
        assert home._keeper.wait_connected(PATIENCE_S)
        assert home.trouble() == ""
        with Devices(broker.port) as devices:
            devices.answers["lamp/set"] = ("lamp/state", lambda said: said)
            home.call("light", "turn_off", ["light.lamp"], {})
            assert devices.commands("lamp/set") == ["OFF"], "nothing of before is sent now"


def test_no_broker_at_all() -> None:
    port = free_port()
    tries: list[float] = []
    over, end = threading.Event(), threading.Event()

    def wait(wake: threading.Event, seconds: float) -> bool:
        tries.append(seconds)
        if sum(tries) > 3600:
            over.set()
            end.wait(2 * PATIENCE_S)
        return wake.is_set()

    home = Mqtt(MqttConfig(host="127.0.0.1", port=port), wait=wait, now=lambda: sum(tries))
    before = set(threading.enumerate())
    home.start()
    assert over.wait(PATIENCE_S)
    assert len(tries) < 100
    assert "Nothing answers" in home.trouble()
    assert len(set(threading.enumerate()) - before) == 1
    end.set()
    home.close()


def test_something_else_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        def talk() -> None:
            connection, _ = other.accept()
            connection.recv(10)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=talk)
        thread.start()
        with connected(port) as home:
            assert home.trouble()
        thread.join()


def test_a_pulled_cable_is_noticed(
    broker: Mosquitto, devices: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant.home.broker, "KEEPALIVE_S", 2)
    with (
        Cable(broker.port) as cable,
        connected(cable.port, devices={"heater": HEATER}) as home,
    ):
        until(home, lambda: entity(home, "heater").state == "unknown")
        cable.pull()
        until(home, lambda: entity(home, "heater").state == "unavailable")
        assert "lost" in home.trouble()
        cable.plug()
        assert home._keeper.wait_connected(PATIENCE_S)
        home.call("switch", "turn_on", ["switch.heater"], {})
        assert devices.wait("heater/set") == ["ON"]


def test_a_certificate_is_checked(tmp_path: Path, broker: Mosquitto) -> None:
    files = certificate.make(tmp_path)
    with Mosquitto(tmp_path, tls=files) as secure:
        with connected(secure.port, tls=True) as home:
            assert "certificate" in home.trouble()
        with connected(secure.port, tls=True, ca_file=str(files[0])) as home:
            assert home.trouble() == ""
        with connected(secure.port, tls=True, ca_file=str(tmp_path / "none")) as home:
            assert "cannot be read" in home.trouble()
    with connected(broker.port, tls=True) as home:
        assert home.trouble()
