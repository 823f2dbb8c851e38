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
from assistant.intent.base import Intent
from assistant.intent.chain import Chain
from assistant.intent.home_grammar import HomeGrammar
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.dialogue.echo import Echo
from tests.assistant.dialogue.paper_home import PaperHome
from tests.assistant.skills.clocks import FakeClock

DATA = Path(__file__).parents[2] / "data"
CONVERSATIONS = yaml.safe_load((DATA / "conversations.yaml").read_text(encoding="utf-8"))
TALK = [
    line
    for line in (DATA / "intents" / "talk.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#") and line != "every day at seven"
]
"""All but what is an answer where a time was spoken of."""


@pytest.fixture(scope="module")
def understander(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One grammar for all; its clock is that of the conversation that runs."""
    clock = FakeClock()
    state = State(tmp_path_factory.mktemp("grammar") / "state.db", clock.clock)
    folders = Registry.load(Config(), state).sentence_dirs
    now = [clock]
    grammar = create(Config().understand, folders, now=lambda: now[0].wall)
    devices = HomeGrammar(PaperHome().snapshot, lambda: now[0].wall)
    grammar.load()
    devices.load()
    return (grammar, devices), now


class Conversation:
    """A manager over its own state; with devices when ``devices`` is set."""

    def __init__(self, understander: Any, folder: Path, *, devices: bool) -> None:
        grammars, now = understander
        self.time = now[0] = FakeClock()
        self.home = PaperHome() if devices else None
        cfg = Config.model_validate({"home": {"area": "Study"}} if devices else {})
        state = State(folder / "state.db", self.time.clock)
        self.manager = Manager(
            state=state,
            registry=Registry.load(cfg, state, self.home),
            understander=Chain(grammars if devices else grammars[:1]),
            llm=Echo(),  # type: ignore[arg-type]
            history=History(cfg.dialogue, clock=lambda: self.time.uptime),
            now=lambda: self.time.wall,
            emit=lambda event: None,
        )

    def say(self, text: str) -> tuple[Intent, str]:
        answer = self.manager.respond(text, turn=1, cancel=threading.Event())
        reply = "".join(answer.pieces)
        self.manager.said(reply)
        return answer.intent, reply


@pytest.mark.parametrize("talk", CONVERSATIONS, ids=lambda talk: talk["name"])
def test_conversation(talk: dict[str, Any], understander: Any, tmp_path: Path) -> None:
    conversation = Conversation(understander, tmp_path, devices=talk.get("home", False))
    home = conversation.home
    for turn in talk["turns"]:
        conversation.time.wait(turn.get("wait", 1))
        intent, reply = conversation.say(turn["say"])
        shown = f"{turn['say']!r} -> {intent} {reply!r}"
        assert intent.name == turn.get("intent", "dialogue.talk"), shown
        for slot, value in turn.get("slots", {}).items():
            assert intent.slots.get(slot) == value, shown
        assert turn.get("reply", "").lower() in reply.lower(), shown
        if home is not None and "calls" in turn:
            done = [f"{d}.{service} {' '.join(names)}" for d, service, names in home.calls]
            assert done == turn["calls"], shown
            home.calls.clear()


@pytest.mark.parametrize(
    "command",
    [
        "set a timer for ten minutes",
        "add milk to the shopping list",
        "set the volume to 30",
        "what is the date",
        "what time is it",
        "remind me tomorrow at nine to ring the plumber",
        "what is twelve times four",
        "how many feet are in a mile",
        "roll a dice",
        "turn on the kitchen light",
        "is the bedroom light on",
        "start the stopwatch",
    ],
)
def test_talk_after_a_command_is_talk(command: str, understander: Any, tmp_path: Path) -> None:
    """What would be talk alone is no ellipsis, however much may be left out."""
    conversation = Conversation(understander, tmp_path, devices=True)
    alone = [line for line in TALK if conversation.manager.understand(line) is None]
    assert len(alone) > 60
    intent, _ = conversation.say(command)
    assert intent.source == "grammar"
    taken = {line: conversation.manager.understand(line) for line in alone}
    assert {line: found for line, found in taken.items() if found is not None} == {}
