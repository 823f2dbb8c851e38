"""Words that were marked in free phrasing become values; the skills take both alike."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from assistant.intent.base import Intent
from assistant.skills.marks import valued
from tests.assistant.skills.talk import Talk

NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)
KINDS = {"items": ("items",), "measure": ("measure",), "list": ("list_name", "name")}
SKILLS = Path(__file__).resolve().parents[3] / "assistant" / "skills"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("marks"))


def free(name: str, **slots: object) -> Intent:
    return Intent(name, dict(slots), score=0.9, source="heads")


def test_words_become_values() -> None:
    said = free("x.y", items="milk, eggs and Bread", measure="5 miles", list="groceries", who="Bo")
    assert valued(said, NOW, KINDS).slots == {
        "items": ["milk", "eggs", "Bread"],
        "amount": 5,
        "unit": "mile",
        "list": "shopping",
        "who": "Bo",
    }


def test_what_is_no_value_is_left_out() -> None:
    assert valued(free("x.y", measure="a while"), NOW, KINDS).slots == {}


def test_an_intent_of_the_grammar_stays_as_it_is() -> None:
    intent = Intent("x.y", {"items": "milk and eggs"})
    assert valued(intent, NOW, KINDS) is intent


@pytest.mark.parametrize(
    ("intent", "reply"),
    [
        (free("lists.add", items="lemons and limes", list="shopping"), "2 things to the shopping"),
        (free("lists.add"), "I didn't catch what you mean."),
        (free("lists.read", list="to do"), "The to-do list is empty."),
        (free("maths.sum", sum="7 times 8"), "7 times 8 is 56."),
        (free("maths.sum"), "I didn't catch the numbers."),
        (free("maths.convert", measure="half a litre", to="cups"), "Half a litre is about 2.11"),
        (free("maths.convert", to="cups"), "I didn't catch the numbers."),
        (free("chance.dice", dice="a twenty sided die"), "You rolled a"),
        (free("chance.dice"), "You rolled a"),
        (free("chance.pick"), "I didn't catch what there is to choose from."),
        (free("volume.set", level="forty percent"), "Volume 40."),
        (free("volume.up", step="20 percent"), "Volume 60."),
        (free("volume.set"), "To what level?"),
    ],
)
def test_skills_take_marked_words(talk: Talk, intent: Intent, reply: str) -> None:
    assert reply in talk.registry.handle(intent, talk.turn()).reply


def test_an_open_question_of_the_volume_is_answered(talk: Talk) -> None:
    talk.registry.handle(free("volume.set"), talk.turn())
    answer = talk.registry.complete("volume.set", "to thirty please")
    assert answer is not None
    assert answer.slots == {"level": 30}
    assert talk.registry.complete("volume.set", "what time is it") is None


@pytest.mark.parametrize("name", ["lists", "maths", "chance", "volume", "system"])
def test_examples_are_for_intents_that_there_are(talk: Talk, name: str) -> None:
    text = (SKILLS / name / "examples.yaml").read_text(encoding="utf-8")
    examples = yaml.safe_load(text)
    assert set(examples) <= set(talk.grammar._intents.intents)
    for intent, sentences in examples.items():
        assert len(sentences) == len(set(sentences)) >= 15, intent
