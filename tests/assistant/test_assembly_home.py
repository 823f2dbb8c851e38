"""An assistant with a home: what is away or missing does not take the rest with it."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import pytest
import yaml

from assistant.assembly import Assembly
from assistant.config import Config
from assistant.config_rules import contradictions
from assistant.home.home_assistant import HomeAssistant
from tests.assistant.test_assembly import answer, assembled
from tests.home_server import TOKEN, HomeServer
from tests.patience import PATIENCE_S, until

DOCS = Path(__file__).resolve().parents[2] / "docs" / "home.md"


def settings(server: HomeServer, area: str = "study") -> dict[str, object]:
    return {"area": area, "home_assistant": {"url": server.url, "token": TOKEN}}


def loaded(assembly: Assembly) -> Assembly:
    assembly.load(sound=False, talk=False)
    return assembly


def test_switches_what_is_said(tmp_path: Path) -> None:
    with HomeServer() as server:
        server.entity("light.desk", "Desk lamp", area=server.area("Study"))
        with assembled(tmp_path, home=settings(server), llm={"enabled": False}) as assembly:
            assert not loaded(assembly).troubles
            assert answer(assembly, "turn on the lights") == "Turned on the Desk lamp."
            assert server.state("light.desk") == "on"
            assert answer(assembly, "undo that") == "Okay, I took that back."
            assert server.state("light.desk") == "off"
            assert answer(assembly, "set a timer for three minutes") == "Timer set for 3 minutes."
            # what is new can be said at once
            server.entity("switch.kettle", "Tea kettle", exposed=None)
            server.set_state("switch.kettle", "off", friendly_name="Tea kettle")
            assert assembly.home is not None
            home = assembly.home
            until(lambda: any(e.id == "switch.kettle" for e in home.snapshot().entities))
            assert answer(assembly, "switch on the tea kettle") == "Turned on the Tea kettle."
        assert server.logins == [TOKEN]


def test_a_home_that_is_away_is_told(tmp_path: Path) -> None:
    with HomeServer() as server:
        away = settings(server)
    with assembled(tmp_path, home=away, llm={"enabled": False}) as assembly:
        (trouble,) = loaded(assembly).troubles
        assert trouble.code == "home.away"
        assert "Nothing answers" in trouble.message
        assert answer(assembly, "what time is it").startswith("It's")
        assert "urned on" not in answer(assembly, "turn on the lights")


def test_an_interrupted_call_ends_at_once(tmp_path: Path) -> None:
    with HomeServer() as server:
        server.entity("light.desk", "Desk lamp", area=server.area("Study"))
        server.behaviour.silent.add("light.turn_on")
        with assembled(tmp_path, home=settings(server), llm={"enabled": False}) as assembly:
            loaded(assembly)
            assert isinstance(assembly.home, HomeAssistant)
            assembly.home._answer_s = 2 * PATIENCE_S
            stop = threading.Event()
            assembly.let_go_on(stop)
            said: list[str] = []
            turn = threading.Thread(
                target=lambda: said.append(answer(assembly, "turn on the desk lamp"))
            )
            turn.start()
            until(lambda: "call_service" in server.requests)
            stop.set()
            turn.join(PATIENCE_S)
            assert len(said) == 1
            assert "don't know whether it worked" in said[0]


def test_a_missing_package_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] in ("websockets", "paho")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("websockets", "websockets.exceptions", "paho", "paho.mqtt", "paho.mqtt.client"):
        monkeypatch.setitem(sys.modules, name, None)
    home = {
        "home_assistant": {"url": "http://127.0.0.1:1", "token": "t"},
        "mqtt": {"host": "127.0.0.1"},
    }
    with assembled(tmp_path, home=home, llm={"enabled": False}) as assembly:
        (trouble,) = loaded(assembly).troubles
        assert "websockets is not installed" in trouble.message
        assert "paho-mqtt is not installed" in trouble.message
        assert answer(assembly, "what time is it").startswith("It's")


def test_examples_in_the_documentation_are_right() -> None:
    blocks = re.findall(r"^( *)```yaml\n(.*?)^ *```", DOCS.read_text(encoding="utf-8"), re.S | re.M)
    assert len(blocks) >= 4
    for indent, block in blocks:
        data = yaml.safe_load(re.sub(f"(?m)^{indent}", "", block))
        assert list(contradictions(Config.model_validate(data))) == []
