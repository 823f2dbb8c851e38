"""Settings of the home: what is wrong is told with its key, secrets are not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.config import Config, load
from assistant.errors import ConfigError

HA = "home.home_assistant"


def mistake(tmp_path: Path, text: str) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, environ={})
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("home: {home_assistant: {url: homeassistant.local, token: x}}", "http://homeassistant"),
        ("home: {home_assistant: {url: 'http://a:b@h', token: x}}", "holds a password"),
        ("home: {home_assistant: {url: 'http://h:8123'}}", "a token is needed"),
        ("home: {home_assistant: {url: 'http://h', token: a, token_file: b}}", "only one"),
        ("home: {home_assistant: {urll: x}}", "Did you mean home.home_assistant.url?"),
        ("home: {mqtt: {host: 'mqtt://h'}}", "without mqtt://"),
        ("home: {mqtt: {host: h, base_topic: 'z/#'}}", "without # and +"),
        ("home: {mqtt: {host: h, devices: {lamp: {domain: light}}}}", "command_topic"),
        ("home: {mqtt: {host: h, devices: {lamp: {command_topic: t}}}}", "needs a domain"),
        ("home: {mqtt: {host: h, devices: {lamp: {area: hall}}}}", "zigbee2mqtt: true"),
        ("home: {mqtt: {host: h, devices: {lamp: {domain: lamp}}}}", "one of"),
        ("home: {mqtt: {host: h, devices: {lamp: {domain: light, comand_topic: t}}}}",
         "Did you mean home.mqtt.devices.lamp.command_topic?"),
        ("home: {mqtt: {host: h, devices: {'x.y': {domain: light, command_topic: 'a/#'}}}}",
         "cannot go to"),
        ("home: {mqtt: {host: h, devices: {'!': {domain: light, command_topic: a}}}}",
         "no word that could be said"),
        ("home: {mqtt: {host: h, devices: {s: {domain: sensor, command_topic: a}}}}",
         "needs a state_topic"),
    ],
)  # fmt: skip
def test_mistakes_are_told(tmp_path: Path, text: str, told: str) -> None:
    assert told in mistake(tmp_path, text)


def test_a_token_is_never_shown(tmp_path: Path) -> None:
    assert "918273" not in mistake(tmp_path, "home: {home_assistant: {url: x, token: 918273}}")
    shown = repr(Config.model_validate({"home": {"home_assistant": {"token": "se-cret"}}}))
    assert "se-cret" not in shown
