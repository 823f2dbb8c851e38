from __future__ import annotations

from pathlib import Path

import pytest

from assistant.asr.sentences import WordNetwork
from assistant.bench.slot_grammar import SlotGrammar
from assistant.errors import InputFileError

GRAMMAR = """
context:
  expressions:
    water:
      - "[water, please water] (all) the $plant:plant [for, during] $long:time"
      - "water the $plant:plant"
    stop:
      - "stop watering"
  slots:
    plant: [fern, tree fern, "Ottavia's palm"]
    long: [twelve minutes, an hour]
"""


@pytest.fixture
def grammar(tmp_path: Path) -> SlotGrammar:
    path = tmp_path / "garden.yaml"
    path.write_text(GRAMMAR, encoding="utf-8")
    return SlotGrammar.read(path)


@pytest.mark.parametrize(
    ("heard", "intent", "slots"),
    [
        ("Water the fern.", "water", {"plant": "fern"}),
        ("Water the tree fern!", "water", {"plant": "tree fern"}),
        (
            "Please water all the fern for 12-minutes.",
            "water",
            {"plant": "fern", "time": "twelve minutes"},
        ),
        ("Stop watering.", "stop", {}),
        # No whole expression: the slots tell.
        ("uh the fern for an hour", "water", {"plant": "fern", "time": "an hour"}),
        # Misheard, but not its number.
        ("Water the treeferm.", "water", {"plant": "tree fern"}),
        ("Water the fern for twenty minutes", "water", {"plant": "fern"}),
        ("Water Ottavia's palm", "water", {"plant": "Ottavia's palm"}),
    ],
)
def test_intents_and_slots(grammar: SlotGrammar, heard: str, intent: str, slots: object) -> None:
    found = grammar.understand(heard)
    assert found is not None
    assert (found.name, found.slots) == (intent, slots)


@pytest.mark.parametrize("heard", ["", "What time is it?", "stop it"])
def test_other_things_are_not_understood(grammar: SlotGrammar, heard: str) -> None:
    assert grammar.understand(heard) is None


def test_its_sentences_are_what_a_recogniser_takes(grammar: SlotGrammar) -> None:
    network = WordNetwork(grammar.sentences)
    assert network.takes("please water the tree fern during an hour".split())
    assert not network.takes("water during an hour".split())


@pytest.mark.parametrize("text", ["", "context: []", "context: {expressions: 3}", "a: b", "x: ["])
def test_what_is_no_grammar_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputFileError, match="as a grammar"):
        SlotGrammar.read(path)
