"""Free phrasing: marked words become values, and every example of the skills has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.intent.slot_types import PARSERS, parse_slot
from assistant.skills import free_slots
from assistant.skills.base import TurnContext
from assistant.skills.registry import Registry
from assistant.state import Clock, State

SKILLS = Path(__file__).resolve().parents[3] / "assistant" / "skills"
NOW = datetime(2026, 3, 10, 14, 0, tzinfo=ZoneInfo("Europe/London"))
MARK = re.compile(r"\[([^\]]+)\]\((\w+)\)")
OURS = ("clock", "reminder", "stopwatch", "timer")


def examples() -> Iterator[tuple[str, str]]:
    for name in OURS:
        text = (SKILLS / name / "examples.yaml").read_text(encoding="utf-8")
        for intent, sentences in yaml.safe_load(text).items():
            for sentence in sentences:
                yield intent, sentence


def registry(tmp_path: Path) -> Registry:
    return Registry.load(Config(), State(tmp_path / "state.db", Clock(now=lambda: NOW)))


def do(registry: Registry, intent: Intent, text: str) -> str:
    turn = TurnContext(lambda: NOW, registry._state, utterance=text)
    outcome = registry.handle(intent, turn)
    return outcome.reply


def test_every_intent_has_examples() -> None:
    for name in OURS:
        sentences = yaml.safe_load((SKILLS / name / "en.yaml").read_text(encoding="utf-8"))
        with_examples = {intent for intent, _ in examples() if intent.startswith(f"{name}.")}
        assert with_examples == set(sentences["intents"])


def test_every_marked_value_is_one() -> None:
    wrong = []
    for intent, sentence in examples():
        for words, slot in MARK.findall(sentence):
            if slot in PARSERS and parse_slot(slot, slot, normalize(words), NOW) is None:
                wrong.append((intent, slot, words))
    assert wrong == []


def test_free_phrasing_never_fails(tmp_path: Path) -> None:
    """Whatever a head may give, with all values or with none, there is a sentence to say."""
    skills = registry(tmp_path)
    for intent, sentence in examples():
        text = MARK.sub(r"\1", sentence)
        slots: dict[str, Any] = {slot: words for words, slot in MARK.findall(sentence)}
        for given in (slots, {}):
            found = Intent(intent, given, score=0.9, source="heads")
            reply = do(skills, found, text)
            assert reply
            assert "didn't work" not in reply, (intent, sentence, given)


@pytest.mark.parametrize(
    ("name", "slots", "text", "reply"),
    [
        (
            "timer.set",
            {"duration": "eleven minutes", "name": "Pasta"},
            "I have pasta on, it needs eleven minutes",
            "Pasta timer set for 11 minutes.",
        ),
        (
            "timer.set",
            {"until": "half past six"},
            "I have to be out of bed at half past six tomorrow",
            "Alarm set for 6:30 PM, in 4 hours 30 minutes.",
        ),
        (
            "reminder.set",
            {"task": "buy stamps", "moment": "tomorrow at ten"},
            "I mustn't forget to buy stamps tomorrow at ten",
            "I'll remind you at 10 AM tomorrow, in 20 hours: buy stamps.",
        ),
        ("clock.time", {"zone": "Tokyo"}, "how late is it for my aunt", "It's 11 PM in Tokyo."),
        (
            "clock.between",
            {"from": "july 3rd", "to": "july 19th"},
            "I'm away from july 3rd to july 19th",
            "16 days from Friday, July 3rd to Sunday, July 19th.",
        ),
        ("clock.convert", {"until": "3 pm"}, "at 3 pm", "I didn't catch which place you mean."),
    ],
)
def test_words_become_values(
    tmp_path: Path, name: str, slots: dict[str, Any], text: str, reply: str
) -> None:
    found = Intent(name, slots, score=0.9, source="heads")
    assert do(registry(tmp_path), found, text) == reply


def test_values_of_the_grammar_and_of_a_finisher_stay() -> None:
    said = Intent("timer.set", {"until": "2026-03-10T17:00:00+00:00", "duration": 600})
    assert free_slots.read(said, NOW, {}) is said
    read = free_slots.read(Intent("timer.set", said.slots, source="heads"), NOW, {})
    assert read.slots == said.slots
