"""Real use in numbers, without a word of what was said."""

from __future__ import annotations

import json
from pathlib import Path

from assistant.bench.report import use
from assistant.config import PrivacyConfig
from assistant.dialogue.use_log import Entry, UseLog

SAID = [
    Entry("2026-02-03T10:00:00+00:00", "wake me at six", "alarm.set", source="grammar"),
    Entry("2026-02-01T10:00:00+00:00", "wake me at five", "alarm.set", source="heads"),
    Entry("2026-02-02T10:00:00+00:00", "who was caesar", "dialogue.talk", source="dialogue"),
    Entry("2026-02-02T10:00:00+00:00", "mumble", "none"),
]


def test_counts_only(tmp_path: Path) -> None:
    path = tmp_path / "use.jsonl"
    log = UseLog(path, lambda event: None)
    for entry in SAID:
        log.add(entry)
    found = use.statistics(use.log_of(PrivacyConfig(keep_log=str(path))))
    assert (found["turns"], found["commands"], found["talk"]) == (4, 2, 1)
    assert (found["first"], found["last"]) == ("2026-02-01", "2026-02-03")
    assert found["by_intent"] == {"alarm.set": 2}
    assert found["by_source"] == {"dialogue": 1, "grammar": 1, "heads": 1, "none": 1}
    assert not any(word in json.dumps(found) for word in ("caesar", "mumble", "five"))


def test_the_older_half_counts_too(tmp_path: Path) -> None:
    path = tmp_path / "use.jsonl"
    UseLog(path.with_name("use.jsonl.1"), lambda event: None).add(SAID[0])
    UseLog(path, lambda event: None).add(SAID[1])
    assert use.statistics(path)["turns"] == 2


def test_why_there_is_nothing(tmp_path: Path) -> None:
    assert "keep_log" in use.statistics(use.log_of(PrivacyConfig()))["reason"]
    path = tmp_path / "use.jsonl"
    assert "not there" in use.statistics(path)["reason"]
    path.write_text("", encoding="utf-8")
    assert "empty" in use.statistics(path)["reason"]
    path.write_text("no log", encoding="utf-8")
    assert "Line 1" in use.statistics(path)["reason"]


def test_labels_lie_beside_the_log(tmp_path: Path) -> None:
    path = tmp_path / "use.jsonl"
    assert use.labels_of(None) is None
    assert use.labels_of(path) is None
    labels = tmp_path / "use.jsonl.labels.jsonl"
    labels.touch()
    assert use.labels_of(path) == labels
