from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant import config
from assistant.bench import speech_intent
from assistant.errors import InputFileError
from tests.assistant import clips
from tests.assistant.bench.sounds import arguments, write

OWN = """
language: en
intents:
  door.open:
    data:
      - sentences: ["open the (garage|gate) door"]
        slots: {what: door}
lists: {}
"""


def test_orders_of_people(tmp_path: Path) -> None:
    clips.model("moonshine-tiny-en")
    data = clips.data_dir("barista-speech")
    row = speech_intent.run(config.load(None), arguments(data, limit=3, out=tmp_path))
    assert row["n"] == 3
    assert row["accuracy"] == row["slot_recall"] == row["slot_precision"] == 1.0
    assert (row["what"], row["asr"], row["noise"], row["wer"]) == (
        "speech-intent",
        "moonshine",
        None,
        None,
    )
    assert set(row["ms"]) == {"p50", "p95", "p99"}
    told = (tmp_path / "speech-intent.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["right"] for line in told] == [True] * 3
    assert "100.0%" in speech_intent.table(row)


def test_sentence_files_of_our_own_and_words_that_are_known(tmp_path: Path) -> None:
    clips.model("moonshine-tiny-en")
    (tmp_path / "doors.yaml").write_text(OWN, encoding="utf-8")
    write(tmp_path / "a.wav", clips.spoken("Open the garage door."))
    write(tmp_path / "b.wav", clips.spoken("The sky is blue today."))
    rows = [
        {"file": "a.wav", "intent": "door.open", "slots": {"what": "door"}},
        {"file": "b.wav", "intent": "door.open", "slots": {"what": "door"}},
    ]
    rows = [{**r, "text": t} for r, t in zip(rows, ["open the garage door", ""], strict=True)]
    lines = "\n".join(map(json.dumps, rows))
    (tmp_path / "manifest.jsonl").write_text(lines, encoding="utf-8")
    row = speech_intent.run(config.load(None), arguments(tmp_path))
    assert row["accuracy"] == row["slot_recall"] == 0.5
    assert row["slot_precision"] == 1.0
    assert row["wer"] == 0.0


@pytest.mark.parametrize("line", ["{", "{}", '{"file": "a", "intent": "b", "slots": []}', "[]"])
def test_bad_rows_are_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "manifest.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(InputFileError, match="cannot be read"):
        speech_intent.run(config.load(None), arguments(tmp_path))


@pytest.mark.parametrize("text", [None, "a: b", "a: ["])
def test_a_folder_without_a_grammar_is_an_error(tmp_path: Path, text: str | None) -> None:
    row = {"file": "a.wav", "intent": "b", "slots": {}}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(row), encoding="utf-8")
    if text:
        (tmp_path / "grammar.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputFileError):
        speech_intent.run(config.load(None), arguments(tmp_path))
