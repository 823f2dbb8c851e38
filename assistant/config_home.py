"""Settings of the home that are right by themselves but not together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assistant.config_yaml import KeyPath

if TYPE_CHECKING:
    from assistant.config import HomeConfig, MqttDevice

_SCHEMES = ("http", "https", "ws", "wss")


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
