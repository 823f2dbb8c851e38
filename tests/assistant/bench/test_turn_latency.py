from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant import cli, config
from assistant.bench import turn_latency
from assistant.bench.turn_latency import COMMANDS, Case, figures
from assistant.errors import InputFileError
from assistant.report import blank
from tests.assistant import clips
from tests.assistant.bench.sounds import arguments, folder


def test_its_own_voice_and_people_in_real_time(tmp_path: Path) -> None:
    for name in ("moonshine-tiny-en", "wake-hey_jarvis", "en_US-joe-medium"):
        clips.model(name)
    cfg = config.load(None, ("llm.enabled=false",))
    sentences = tmp_path / "said.jsonl"
    sentences.write_text(json.dumps({"text": COMMANDS[0], "intent": "timer.set"}), encoding="utf-8")
    row = turn_latency.run(cfg, arguments(sentences))
    assert (row["what"], row["n"], row["accuracy"], row["unheard"]) == ("latency", 1, 1.0, 0)
    assert set(row["stages"]) == {"endpoint", "asr", "understand", "act", "tts_first", "total"}
    assert row["ms"] == row["stages"]["total"]
    assert row["ms"]["p50"] > row["stages"]["endpoint"]["p50"] > 0
    assert "total" in turn_latency.table(row)
    spoken = clips.spoken("Start a timer for five minutes.")
    data = folder(tmp_path / "data", (spoken, {"intent": "timer.set"}))
    assert turn_latency.run(cfg, arguments(data))["understood"] == 1


def record(intent: str | None, total: float | None, text: str = "words") -> dict[str, object]:
    return blank() | {"intent": intent, "transcript": text, "ms": {"total": total}}


def test_only_what_was_understood_counts_as_fast() -> None:
    timer, anything, talk = (Case("x", None, i) for i in ("timer.set", None, "none"))
    row = figures(
        [
            (timer, record("timer.set", 400.0)),
            (timer, record("dialogue.talk", 3.0, "sat a time")),
            (timer, None),
            (anything, record("clock.time", 600.0)),
            (talk, record("dialogue.none", None)),
        ]
    )
    assert (row["n"], row["understood"], row["unheard"]) == (5, 3, 1)
    assert row["misheard"] == ["sat a time"]
    assert row["ms"]["p50"] == 500.0


def test_nothing_understood_has_no_time() -> None:
    assert figures([(Case("x", None, "timer.set"), None)])["ms"] is None


def test_own_commands_repeat_and_wrong_data_is_told(tmp_path: Path) -> None:
    cases = turn_latency._cases(None, 12)
    assert [case.text for case in cases] == [*COMMANDS, *COMMANDS[:2]]
    (tmp_path / "bad.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(InputFileError):
        turn_latency._cases(tmp_path / "bad.jsonl", None)
    assert cli.main(["bench", "latency", "--set", f"tts.voice={tmp_path}/none.onnx"]) == 3
