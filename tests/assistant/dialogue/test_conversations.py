"""Conversations of several turns with the real grammar and the real skills.

``tests/data/conversations.yaml``: a list of {name, turns} and {home: true} where there are devices
(those of PaperHome; the assistant stands in the study). A turn: say; intent (where none is given:
talk); slots (those named must have these values); reply (a part of it); wait (seconds that pass
before it); calls (what is switched, such as [light.turn_on light.desk]).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.config import Config
from assistant.dialogue.history import History
from assistant.dialogue.manager import Manager
from assistant.intent import create
from assistant.intent.chain import Chain
from assistant.intent.home_grammar import HomeGrammar
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.dialogue.echo import Echo
from tests.assistant.dialogue.paper_home import PaperHome
from tests.assistant.skills.clocks import FakeClock

CONVERSATIONS = yaml.safe_load(
    (Path(__file__).parents[2] / "data" / "conversations.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def understander(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One grammar for all; its clock is that of the conversation that runs."""
    clock = FakeClock()
    state = State(tmp_path_factory.mktemp("grammar") / "state.db", clock.clock)
    folders = Registry.load(Config(), state).sentence_dirs
    now = [clock]
    grammar = create(Config().understand, folders, now=lambda: now[0].wall)
    devices = HomeGrammar(PaperHome().snapshot)
    grammar.load()
    devices.load()
    return (grammar, devices), now


@pytest.mark.parametrize("talk", CONVERSATIONS, ids=lambda talk: talk["name"])
def test_conversation(talk: dict[str, Any], understander: Any, tmp_path: Path) -> None:
    grammars, now = understander
    time = now[0] = FakeClock()
    state = State(tmp_path / "state.db", time.clock)
    home = PaperHome() if talk.get("home") else None
    cfg = Config.model_validate({"home": {"area": "Study"}} if home else {})
    manager = Manager(
        state=state,
        registry=Registry.load(cfg, state, home),
        understander=Chain(grammars if home else grammars[:1]),
        llm=Echo(),  # type: ignore[arg-type]
        history=History(Config().dialogue, clock=lambda: time.uptime),
        now=lambda: time.wall,
        emit=lambda event: None,
    )
    for number, turn in enumerate(talk["turns"], start=1):
        time.wait(turn.get("wait", 1))
        answer = manager.respond(turn["say"], turn=number, cancel=threading.Event())
        reply = "".join(answer.pieces)
        manager.said(reply)
        shown = f"{turn['say']!r} -> {answer.intent} {reply!r}"
        assert answer.intent.name == turn.get("intent", "dialogue.talk"), shown
        for slot, value in turn.get("slots", {}).items():
            assert answer.intent.slots.get(slot) == value, shown
        assert turn.get("reply", "").lower() in reply.lower(), shown
        if home is not None and "calls" in turn:
            done = [f"{d}.{service} {' '.join(names)}" for d, service, names in home.calls]
            assert done == turn["calls"], shown
            home.calls.clear()
    state.close()
