"""What is polite or hesitant around a sentence does not change what it means."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.config import Config
from assistant.dialogue.history import History
from assistant.dialogue.manager import Manager
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.dialogue.echo import Echo
from tests.assistant.grammars import loaded
from tests.assistant.skills.clocks import FakeClock

CASES = Path(__file__).parents[2] / "data" / "intents"

BEFORE = """Hey, could you please; Um,; Okay so; Listen,; Would you be so kind and; Well,; Alright,
I'd like you to; Oh and; Please; Hi there, can you; Excuse me,; Be a dear and; Just; Er, yeah,
If you don't mind,; You know what,; Quick,; Would you please; I was wondering if you could"""
AFTER = """please; thank you; thanks a million; if you don't mind; for me please; you know; okay?
when you get a chance; will you; right now please; real quick; thank you very much; would you
please and thank you; if that's okay; my friend; when you can; um; cheers; thanks in advance"""


def phrases(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(";")]


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Manager:
    clock = FakeClock().clock
    state = State(tmp_path_factory.mktemp("courtesy") / "state.db", clock)
    registry = Registry.load(Config(), state)
    understander = loaded(registry.sentence_dirs, Config().understand, now=clock.now)
    return Manager(
        state=state,
        registry=registry,
        understander=understander,
        llm=Echo(),  # type: ignore[arg-type]
        history=History(Config().dialogue),
        now=clock.now,
        emit=lambda event: None,
    )


def sentences() -> list[str]:
    """One sentence of each intent, in the words of its test cases."""
    first: dict[str, str] = {}
    for file in sorted(CASES.glob("*.yaml")):
        for case in yaml.safe_load(file.read_text(encoding="utf-8")):
            first.setdefault(case["intent"], case["sentences"][0].rstrip(".?!"))
    return list(first.values())


def meaning(manager: Manager, text: str) -> tuple[str, dict[str, Any]] | None:
    intent = manager.understand(text)
    return (intent.name, intent.slots) if intent is not None else None


def test_every_intent_with_courtesy_around_it(manager: Manager) -> None:
    wrong: dict[str, str] = {}
    tried: Counter[bool] = Counter()
    for sentence in sentences():
        wanted = meaning(manager, sentence)
        assert wanted is not None, sentence
        start = sentence[0].lower() + sentence[1:]
        polite = [f"{before} {start}" for before in phrases(BEFORE)]
        polite += [f"{sentence} {after}" for after in phrases(AFTER)]
        for text in polite:
            tried[meaning(manager, text) == wanted] += 1
            if meaning(manager, text) != wanted:
                wrong[text] = str(meaning(manager, text))
    assert tried[False] <= 0.01 * tried.total(), wrong


@pytest.mark.parametrize("before", phrases(BEFORE))
@pytest.mark.parametrize("after", ["please", "thanks a million", "my friend"])
def test_an_answer_with_courtesy_around_it(manager: Manager, before: str, after: str) -> None:
    manager.respond("start a timer", turn=1, cancel=threading.Event())
    assert meaning(manager, f"{before} five minutes {after}") == ("timer.set", {"duration": 300})
