"""Labelled sentences of the own intents: how they are read, counted and told of."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.bench import own_plain, own_report
from assistant.bench.own_plain import NONE, Row, Verdict
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.intent.base import Intent

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def verdicts() -> list[Verdict]:
    timer = Intent("timer.set", {"duration": 300})
    guessed = Intent("timer.set", {"duration": "ten minutes"}, score=0.9, source="heads")
    return [
        Verdict(Row("five minutes", "timer.set", {"duration": 300}), timer, 1.0),
        Verdict(Row("ten minutes", "timer.set", {"duration": 600}), guessed, 20.0),
        Verdict(Row("six minutes", "timer.set", {"duration": 360}), timer, 2.0),
        Verdict(Row("stop it", "timer.cancel"), timer, 2.0),
        Verdict(Row("drop it", "timer.cancel"), None, 30.0),
        Verdict(Row("hello there", NONE), None, 30.0),
        Verdict(Row("how are you", NONE), guessed, 25.0),
    ]


def test_what_is_counted() -> None:
    row = own_plain.figures(verdicts(), NOW)
    assert row["n"] == 7
    assert row["accuracy"] == 0.6
    assert row["oos_recall"] == 0.5
    assert row["oos_rejected_in_scope"] == 0.2
    assert row["frame_accuracy"] == pytest.approx(2 / 3, abs=1e-4)
    assert row["wrong_action"] == pytest.approx(2 / 7, abs=1e-4)
    assert row["by_source"] == {"grammar": 3, "heads": 2, "none": 2}
    assert row["by_intent"] == {"timer.cancel": [0, 2], "timer.set": [3, 3]}
    assert {w["text"] for w in row["wrong"]} == {"stop it", "drop it", "how are you"}
    text = own_plain.table({**row, "kv": "fp16"})
    assert "right, in scope" in text
    assert "60.0%" in text


def test_rows_are_read_as_labels_are_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [
        {"text": "ring in a minute", "intent": "timer.set", "slots": {"duration": 60}},
        {"text": "hi", "intent": "oos"},
        {"text": "so what", "intent": "dialogue.talk"},
        {"text": "well", "intent": None},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    rows = own_plain.read_rows(path)
    assert rows[0] == Row("ring in a minute", "timer.set", {"duration": 60})
    assert [row.intent for row in rows[1:]] == [NONE] * 3


@pytest.mark.parametrize("line", ["{", '{"text": "a"}', '{"text": 1, "intent": "a"}', "[1]"])
def test_a_row_that_is_none_is_placed(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "hi", "intent": "oos"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputFileError, match=r"Line 2 of .*rows\.jsonl"):
        own_plain.read_rows(path)


def test_sentences_go_through_the_assistant(tmp_path: Path) -> None:
    rows = [Row("set a timer for five minutes", "timer.set", {"duration": 300}), Row("hm", NONE)]
    cfg = Config.model_validate({"llm": {"enabled": False}})
    row, found = own_plain.score(cfg, rows, kv="static4")
    assert (row["accuracy"], row["oos_recall"], row["frame_accuracy"]) == (1.0, 1.0, 1.0)
    assert row["kv"] == "static4"
    assert [v.source for v in found] == ["grammar", "none"]


def test_tables_and_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    row = own_plain.figures(verdicts(), NOW)
    files = own_report.write(row, verdicts(), tmp_path / "out")
    assert {path.name for path in files} == {
        "intents.csv", "intents.md", "confusions.csv", "confusions.md", "latency.csv",
        "latency.md", "confusion.png",
    }  # fmt: skip
    table = (tmp_path / "out" / "intents.csv").read_text(encoding="utf-8").splitlines()
    assert "timer.cancel,2,0,1,1,0.000," in table
    assert "timer.set,3,3,0,0,1.000,0.600" in table
    assert "none,2,1,0,1,0.500,0.500" in table
    confused = (tmp_path / "out" / "confusions.md").read_text(encoding="utf-8")
    assert "| timer.cancel | timer.set | 1 |" in confused
    assert (tmp_path / "out" / "confusion.png").read_bytes().startswith(b"\x89PNG")
