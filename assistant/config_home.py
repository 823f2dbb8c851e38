"""Settings of the home, and those of them that are right by themselves but not together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from assistant.config_section import Section
from assistant.config_yaml import KeyPath

_SCHEMES = ("http", "https", "ws", "wss")


class HomeAssistantConfig(Section):
    """One Home Assistant; used when it has a url."""

    url: str = ""
    token: Annotated[str, Field(repr=False)] = ""
    """A long-lived access token; better in a file."""
    token_file: str = ""
    """File with the token alone."""
    verify_tls: bool = True


class MqttDevice(Section):
    """One device behind topics; a topic that is "" is not used."""

    domain: Literal[
        "", "light", "switch", "fan", "cover", "valve", "lock", "climate", "scene", "button",
        "sensor", "binary_sensor",
    ] = ""  # fmt: skip
    """What it is; "" takes it from zigbee2mqtt, which then must know the name."""
    area: str = ""
    aliases: tuple[str, ...] = ()
    device_class: str = ""
    """Such as curtain, garage or door, as Home Assistant names them."""
    unit: str = ""
    command_topic: str = ""
    state_topic: str = ""
    payload_on: str = "ON"
    """On, open, unlocked."""
    payload_off: str = "OFF"
    """Off, closed, locked."""
    payload_stop: str = "STOP"
    level_command_topic: str = ""
    """For brightness, speed, position or wanted temperature."""
    level_state_topic: str = ""
    level_scale: Annotated[float, Field(gt=0)] = 100
    """The level that is full; a temperature is not scaled."""
    json_key: str = ""
    """The state is JSON, and its value stands under this key."""
    availability_topic: str = ""
    payload_available: str = "online"


class MqttConfig(Section):
    """One broker; used when it has a host."""

    host: str = ""
    port: Annotated[int, Field(ge=1, le=65_535)] = 1883
    username: str = ""
    password_file: str = ""
    tls: bool = False
    ca_file: str = ""
    """Certificate that the broker's is signed by; "" trusts those of the system."""
    availability_topic: str = ""
    """Where it says "online" and "offline"; "" says it nowhere."""
    zigbee2mqtt: bool = False
    base_topic: str = "zigbee2mqtt"
    devices: dict[str, MqttDevice] = Field(default={})


class HomeConfig(Section):
    area: str = ""
    """The room that this device stands in."""
    home_assistant: HomeAssistantConfig = HomeAssistantConfig()
    mqtt: MqttConfig = MqttConfig()


def home_faults(cfg: HomeConfig) -> Iterator[tuple[tuple[str, ...], str]]:
    """(the keys below ``home``, dotted, what to tell of the first)."""
    ha, mqtt = cfg.home_assistant, cfg.mqtt
    if ha.url:
        yield from _url(ha.url)
        if not ha.token and not ha.token_file:
            text = "a token is needed; give home.home_assistant.token_file"
            yield ("home_assistant.url", "home_assistant.token"), text
    if ha.token and ha.token_file:
        text = "there is a token_file too; give only one of them"
        yield ("home_assistant.token", "home_assistant.token_file"), text
    if "/" in mqtt.host:
        yield ("mqtt.host",), "give a name or an address, without mqtt:// and without a path"
    if "#" in mqtt.base_topic or "+" in mqtt.base_topic or not mqtt.base_topic:
        yield ("mqtt.base_topic",), "give a topic without # and +"
    for name, device in mqtt.devices.items():
        for text in _device(name, device, mqtt.zigbee2mqtt):
            yield (f"mqtt.devices.{name}",), text


def as_paths(keys: tuple[str, ...]) -> list[KeyPath]:
    """The keys as paths; the name of a device may hold dots."""
    paths: list[KeyPath] = []
    for key in keys:
        head, found, name = key.partition("mqtt.devices.")
        paths.append(("home", "mqtt", "devices", name) if found else ("home", *head.split(".")))
    return paths


def _url(url: str) -> Iterator[tuple[tuple[str, ...], str]]:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        text = "it is no address; write it as http://homeassistant.local:8123"
        yield ("home_assistant.url",), text
    elif parts.username or parts.password:
        yield ("home_assistant.url",), "it holds a password; use token_file"


def _device(name: str, device: MqttDevice, zigbee2mqtt: bool) -> Iterator[str]:
    topics = (device.command_topic, device.state_topic, device.level_command_topic)
    if not any(char.isalnum() for char in name):
        yield "the name has no word that could be said"
    if not device.domain:
        if any(topics):
            yield "it has topics, so it needs a domain, such as light or switch"
        elif not zigbee2mqtt:
            yield "it needs a domain and topics, or zigbee2mqtt: true that knows it"
    elif not any(topics):
        yield "it needs a command_topic or a state_topic"
    elif device.domain in ("sensor", "binary_sensor") and not device.state_topic:
        yield f"a {device.domain} needs a state_topic"
    for topic in (device.command_topic, device.level_command_topic):
        if "#" in topic or "+" in topic:
            yield f'a command cannot go to "{topic}": # and + stand for several topics'
