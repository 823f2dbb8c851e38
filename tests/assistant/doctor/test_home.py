"""The doctor's look at the home, with a real connection."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from assistant.config import Config
from assistant.doctor.check import Check
from assistant.doctor.home import check
from tests.broker import Mosquitto
from tests.home_server import TOKEN, HomeServer


def checks(**home: Any) -> dict[str, Check]:
    return {one.name: one for one in check(Config.model_validate({"home": home}))}


def test_nothing_is_looked_at_when_nothing_is_set() -> None:
    assert checks() == {}


def test_home_assistant_is_there() -> None:
    with HomeServer() as server:
        server.entity("light.one", "One", area=server.area("Study"))
        settings = {"url": server.url, "token": TOKEN}
        found = checks(home_assistant=settings, area="study")
        assert found["home assistant"].ok
        assert "devices: 1, rooms: 1" in found["home assistant"].detail
        assert found["room"].ok
        assert not checks(home_assistant=settings, area="cellar")["room"].ok
        assert "Study" in checks(home_assistant=settings)["room"].hint
        server.stop()
        away = checks(home_assistant=settings)["home assistant"]
        assert not away.ok
        assert "Nothing answers" in away.detail


def test_secrets_are_not_told(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("very-secret-token", encoding="utf-8")
    file.chmod(0o644)
    with HomeServer() as server:
        found = checks(home_assistant={"url": server.url, "token_file": str(file)})
    assert not found["home assistant"].ok
    assert "token" in found["home assistant"].hint
    assert found["secrets"].hint.startswith("chmod 600")
    assert "very-secret" not in json.dumps([dataclasses.asdict(c) for c in found.values()])


def test_broker(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        lamp = {"domain": "light", "command_topic": "lamp/set"}
        settings = {"host": "127.0.0.1", "port": broker.port}
        assert checks(mqtt={**settings, "devices": {"lamp": lamp}})["mqtt"].ok
        empty = checks(mqtt=settings)["mqtt"]
        assert empty.ok
        assert "home.mqtt.devices" in empty.hint
    assert not checks(mqtt=settings)["mqtt"].ok
