"""The log of use: understood again without doing anything, and labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.cli import main
from assistant.dialogue.use_log import Entry
from assistant.errors import InputFileError
from assistant.log_review import label

NOON = "2026-03-10T12:00:00+00:00"


def log(path: Path, *entries: Entry) -> Path:
    lines = (json.dumps({k: getattr(e, k) for k in e.__slots__}) for e in entries)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTANT__SERVICE__STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("ASSISTANT__LLM__ENABLED", "false")


def test_what_is_asked_is_kept_and_understood_alike_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use = tmp_path / "use.jsonl"
    monkeypatch.setenv("ASSISTANT__PRIVACY__KEEP_LOG", str(use))
    for said in ("set a timer for nine minutes", "an alarm at half past five", "good old songs"):
        main(["ask", said, "--json"])
    capsys.readouterr()
    assert main(["log", "replay", str(use), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["n"], row["changed"], row["rows"]) == (3, 0, [])
    assert len(use.read_text().splitlines()) == 3, "replaying is no use"
    main(["ask", "what timers are there", "--json"])
    reply = json.loads(capsys.readouterr().out)["reply"]
    assert "9 minute" in reply, "no timer was added or taken away"


def test_nothing_is_kept_by_default(tmp_path: Path) -> None:
    main(["ask", "set a kumquat timer for nine minutes", "--json"])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.name.startswith("state.db") for path in files)


def test_changes_and_context_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use = log(
        tmp_path / "use.jsonl",
        Entry(NOON, "set a timer", "timer.set"),
        Entry("2026-03-10T12:00:09+00:00", "four minutes", "timer.set", {"duration": 240}),
        Entry("2026-03-10T12:01:00+00:00", "alarm at one", "dialogue.talk"),
    )
    assert main(["log", "replay", str(use), "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["rows"]
    assert change["text"] == "alarm at one"
    assert change["was"] == {"intent": "oos", "slots": {}}
    assert change["now"]["intent"] == "timer.set"
    assert change["now"]["slots"]["until"].startswith("2026-03-10T13:00"), "as at that time"
    assert main(["log", "replay", str(use)]) == 0
    assert "1 of 3" in capsys.readouterr().out


def test_a_person_puts_it_right(tmp_path: Path) -> None:
    shown: list[str] = []
    entries = [
        Entry(NOON, "wake me at six", "timer.set", {"until": "2026-03-11T06:00:00"}),
        Entry(NOON, "shh", "dialogue.talk"),
        Entry(NOON, "eggs", "none"),
        Entry(NOON, "no idea", "none"),
        Entry(NOON, "shh", "dialogue.talk"),
        Entry(NOON, "the rest", "none"),
    ]
    out = tmp_path / "labels.jsonl"
    answers = ["", "nonsense", "system.stop", 'timer.set name="soft eggs" duration=240', "-", "q"]
    assert label(entries, out, answers, shown.append) == 4
    assert any('no intent "nonsense"' in line for line in shown)
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"text": "wake me at six", "intent": "timer.set",
         "slots": {"until": "2026-03-11T06:00:00"}},
        {"text": "shh", "intent": "system.stop", "slots": {}},
        {"text": "eggs", "intent": "timer.set", "slots": {"name": "soft eggs", "duration": 240}},
        {"text": "no idea", "intent": "oos", "slots": {}},
    ]  # fmt: skip
    # what has a label is not asked for again
    assert label(entries, out, ["s"], shown.append) == 0
    assert "the rest" in shown[-1]


def test_intents_of_ones_own_skills_are_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kettle = tmp_path / "skills" / "kettle"
    kettle.mkdir(parents=True)
    (kettle / "skill.py").write_text("raise AssertionError('run to know its name')\n")
    monkeypatch.setenv("ASSISTANT__SKILLS__FOLDER", str(kettle.parent))
    use = log(tmp_path / "use.jsonl", Entry(NOON, "tea now", "none", {}))
    said, out = tmp_path / "said", tmp_path / "labels.jsonl"
    said.write_text("teapot.boil\nkettle.boil cups=2\n")
    with said.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        main(["log", "label", str(use), "--out", str(out)])
    assert 'no intent "teapot.boil"' in capsys.readouterr().out
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows == [{"text": "tea now", "intent": "kettle.boil", "slots": {"cups": 2}}]


def test_labels_do_not_go_into_another_file(tmp_path: Path) -> None:
    out = tmp_path / "diary.txt"
    out.write_text("Dear diary\n")
    with pytest.raises(InputFileError, match="other things"):
        label([], out, [], lambda text: None)
    assert out.read_text() == "Dear diary\n"


def test_a_wrong_log_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "replay", str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_labels_that_cannot_be_written(tmp_path: Path) -> None:
    entry = Entry("2026-03-10T14:00:00+00:00", "hello", "system.hello")
    for out in (Path("/dev/full"), tmp_path / "none" / "labels", tmp_path):
        with pytest.raises(InputFileError, match="The labels cannot be written"):
            label([entry], out, [""], lambda text: None)
