"""The benchmark of home sentences: how it judges, and what our grammars reach on real cases."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assistant.bench import intents, own_home
from assistant.bench.home_terms import agree, expected, understood
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.intent.base import Intent

ROOT = Path(__file__).resolve().parents[3]
CASES = Path(os.environ.get("ASSISTANT_DATA", ROOT.parent / "shared" / "data"))
CASES /= "home-assistant-intents"

HOME = {
    "areas": [{"name": "Attic"}],
    "entities": [
        {"name": "Old Lamp", "domain": "light", "area": "Attic"},
        {"name": "Hatch", "domain": "cover", "attributes": {"device_class": "door"}},
    ],
}


def rows() -> list[dict[str, Any]]:
    return [
        {"intent": "HassTurnOn", "sentences": ["turn on the old lamp"],
         "slots": {"name": "Old Lamp"}},
        {"intent": "HassTurnOff", "sentences": ["close the hatch", "close the hatch"],
         "slots": {"name": "Hatch"}, "setup": HOME, "lang": "en"},
        {"intent": "HassStartTimer", "sentences": ["set a 7 minute timer called tea"],
         "slots": {"minutes": 7, "name": "tea"}},
        {"intent": "HassTurnOn", "sentences": ["mach das licht an"], "lang": "de"},
        {"intent": "HassTurnOn", "sentences": ["turn on the old lamp"], "slots": {"name": "Hatch"}},
        {"intent": "HassTurnOn", "sentences": ["tell me about lamps"], "setup": HOME},
        {"kind": "sentences", "content": {}},
    ]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "cases"
    folder.mkdir()
    lines = [json.dumps(row) for row in rows()]
    (folder / "some.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_scores_each_english_sentence_once(data: Path) -> None:
    args = argparse.Namespace(set="own", data=data, limit=None)
    row = intents.run(Config(), args)
    assert (row["what"], row["set"], row["n"]) == ("intents", "own", 5)
    assert row["accuracy"] == pytest.approx(4 / 5)
    assert row["frame_accuracy"] == pytest.approx(3 / 5)
    assert row["by_intent"] == {
        "HassStartTimer": [1, 1],
        "HassTurnOff": [1, 1],
        "HassTurnOn": [1, 3],
    }
    assert [item["sentence"] for item in row["wrong"]] == [
        "turn on the old lamp",
        "tell me about lamps",
    ]
    assert "5" in intents.table(row)
    assert intents.run(Config(), argparse.Namespace(set="own", data=data, limit=1))["n"] == 1


def test_the_shared_home_is_beside_the_data_or_above_it(data: Path) -> None:
    assert own_home.fixtures(data) is None, "without one it is made of what the cases set up"
    shared = {"entities": [{"name": "Gong", "id": "switch.gong"}]}
    (data.parent / own_home.FIXTURES).write_text(json.dumps(shared), encoding="utf-8")
    assert own_home.fixtures(data) == shared
    assert own_home.fixtures(data / "some.jsonl") == shared


def test_a_file_of_something_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "broken.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(InputFileError, match=r"broken\.jsonl"):
        list(own_home.read_rows(tmp_path))
    with pytest.raises(InputFileError):
        list(own_home.read_rows(tmp_path / "nothing.jsonl"))


@pytest.mark.parametrize(
    ("ours", "name", "slots"),
    [
        (Intent("timer.set", {"duration": 3900}), "HassStartTimer", {"hours": 1, "minutes": 5}),
        (Intent("timer.set", {"duration": 90, "name": "tea"}), "HassStartTimer",
         {"minutes": 1, "seconds": 30, "name": "Tea"}),
        (Intent("timer.add", {"amount": 60, "duration": 600}), "HassIncreaseTimer",
         {"minutes": 1, "start_minutes": 10}),
        (Intent("timer.cancel", {"which": "all"}), "HassCancelAllTimers", {}),
        (Intent("timer.pause", {"name": "attic"}), "HassPauseTimer", {"area": "Attic"}),
        (Intent("volume.set", {"level": 0}), "HassSetVolume", {"volume_level": 0}),
        (Intent("volume.down", {"step": 20}), "HassSetVolumeRelative", {"volume_step": -20}),
        (Intent("volume.up"), "HassSetVolumeRelative", {"volume_step": "up"}),
        (Intent("lists.add", {"items": ["figs"], "list": "shopping"}), "HassShoppingListAddItem",
         {"item": "figs"}),
        (Intent("lists.add", {"items": ["figs"], "list": "to-do"}), "HassListAddItem",
         {"item": "figs", "name": "Chores"}),
        (Intent("system.stop"), "HassNevermind", {}),
        (Intent("home.HassLightSet", {"brightness": 5, "domain": "light", "here": True}),
         "HassLightSet", {"brightness": 5}),
    ],
)  # fmt: skip
def test_the_same_command_in_two_words(ours: Intent, name: str, slots: dict[str, Any]) -> None:
    wanted = expected(name, slots)
    assert any(agree(wanted, meaning) == (True, True) for meaning in understood(ours))


@pytest.mark.parametrize(
    ("ours", "name", "slots"),
    [
        (Intent("timer.set", {"duration": 60, "name": "tea"}), "HassStartTimer", {"minutes": 1}),
        (Intent("timer.set", {"duration": 61}), "HassStartTimer", {"minutes": 1}),
        (Intent("volume.set", {"level": 10}), "HassSetVolume", {"volume_level": 0}),
        (Intent("volume.down", {"step": 20}), "HassSetVolumeRelative", {"volume_step": 20}),
        (Intent("lists.add", {"items": ["figs", "nuts"]}), "HassShoppingListAddItem",
         {"item": "figs and nuts"}),
        (Intent("home.HassTurnOn", {"name": "Lamp 2"}), "HassTurnOn", {"name": "Lamp 1"}),
        (Intent("home.HassTurnOn", {"domain": "fan"}), "HassTurnOn", {"domain": "light"}),
        (Intent("home.HassTurnOn", {"name": "Lamp", "area": "Attic"}), "HassTurnOn",
         {"name": "Lamp"}),
    ],
)  # fmt: skip
def test_another_value_is_a_mistake(ours: Intent, name: str, slots: dict[str, Any]) -> None:
    wanted = expected(name, slots)
    assert not any(whole for _, whole in (agree(wanted, m) for m in understood(ours)))


@pytest.mark.skipif(not CASES.is_dir(), reason="Home Assistant's test cases are not here")
def test_nearly_all_of_home_assistants_sentences() -> None:
    row = own_home.score(Config(), own_home.read_rows(CASES), CASES)
    assert row["n"] > 0
    assert row["frame_accuracy"] >= 0.99, row["wrong"]
