"""Figures of a head on labelled sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.bench import public_intents
from assistant.config import Config
from assistant.errors import ModelError, UsageError
from assistant.intent.heads.example import OUT_OF_SCOPE, Example, Mark
from assistant.intent.heads.head import Head, Meaning, Setup
from assistant.intent.heads.training import train
from tests.assistant.intent.heads.fake_states import FakeStates

CITY, DAY = Mark(0, 4, "city"), Mark(5, 8, "day")


def test_what_is_counted() -> None:
    examples = [
        Example("rome now", "weather", (CITY, DAY)),
        Example("rome now", "weather", (CITY,)),
        Example("stop", "stop"),
        Example("hello", OUT_OF_SCOPE),
        Example("who", OUT_OF_SCOPE),
    ]
    meanings = [
        Meaning("weather", 0.9, (CITY, DAY)),
        Meaning("weather", 0.8, (CITY, DAY)),
        Meaning("weather", 0.2),
        Meaning("stop", 0.1),
        Meaning("stop", 0.6),
    ]
    row = public_intents.figures(examples, meanings, 0.5)
    assert row["n"] == 5
    assert row["accuracy"] == pytest.approx(2 / 3, abs=1e-4)
    assert row["oos_recall"] == 0.5
    assert row["oos_rejected_in_scope"] == pytest.approx(1 / 3, abs=1e-4)
    assert row["slot_f1"] == pytest.approx(2 * 3 / (4 + 3), abs=1e-4)
    assert row["frame_accuracy"] == pytest.approx(1 / 3, abs=1e-4)
    assert row["by_intent"] == {"stop": [0, 1], "weather": [2, 2]}


def test_figures_for_what_is_not_there_are_none() -> None:
    row = public_intents.figures([Example("stop", "stop")], [Meaning("stop", 0.9)], 0.5)
    assert (row["oos_recall"], row["slot_f1"]) == (None, None)
    assert (row["accuracy"], row["frame_accuracy"]) == (1.0, 1.0)
    row |= {"set": "plain", "kv": "fp16", "ms": {"p50": 1, "p95": 2, "p99": 3}}
    assert "intent right, in scope      100.0%" in public_intents.table(row)


def test_without_a_fitting_head_it_says_what_to_do(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text('{"text": "stop", "intent": "stop"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="A head for snips is needed"):
        public_intents.score(Config(), "snips", None, data, None, None)
    with pytest.raises(ModelError, match="cannot be read"):
        public_intents.score(Config(), "snips", tmp_path / "none.head", data, None, None)
    words = ("on", "away", "home", "left", "right")
    rows = [Example(f"{verb} {word}", verb) for verb in ("go", "stop") for word in words]
    head: Head = train("plain", rows, FakeStates(), Setup("x", (1,), (1,))).head
    head.save(tmp_path / "plain.head")
    with pytest.raises(UsageError, match="was trained for plain, not for snips"):
        public_intents.score(Config(), "snips", tmp_path / "plain.head", data, None, None)
