"""The whole command, with real benchmarks that take little."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assistant import cli
from assistant.bench.report import command
from assistant.errors import AssistantError
from tests.assistant.bench.test_report_html import Checked

ROOT = Path(__file__).resolve().parents[3]

SPECIFICATION = [
    {"model": "NumberModel", "input": "twenty two",
     "results": [{"Text": "twenty two", "TypeName": "number", "Resolution": {"value": "22"}}]},
    {"model": "NumberModel", "input": "one",
     "results": [{"Text": "one", "TypeName": "number", "Resolution": {"value": "2"}}]},
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "recognizers-text"
    folder.mkdir(parents=True)
    write(folder, 2)
    return folder.parent


def write(folder: Path, rows: int) -> None:
    lines = [json.dumps(row) for row in SPECIFICATION[:rows]]
    (folder / "spec.jsonl").write_text("\n".join(lines), encoding="utf-8")


def report(out: Path, data: Path, *more: str) -> int:
    return cli.main(["report", "--json", "--out", str(out), "--data", str(data), *more])


def test_a_page_and_its_figures_against_the_last_ones(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert report(out, data, "--only", "values,wer,own") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(out / "report.html")
    assert told["measured"] == ["values"]
    assert "librispeech" in told["skipped"]["wer"]
    figure = told["figures"]["values.accuracy"]
    assert (figure["value"], figure["n"], figure["last"], figure["verdict"]) == (0.5, 2, None, None)
    assert told["figures"]["wer.wer"]["value"] is None
    page = Checked((out / "report.html").read_text(encoding="utf-8"))
    assert "50.0 %" in page.words
    assert "missing" in page.words
    assert "librispeech" in page.words
    kept = json.loads((out / "report.json").read_text(encoding="utf-8"))
    rows = kept["figures"]["values.accuracy"]
    rows["value"] = 0.25
    (out / "report.json").write_text(json.dumps(kept), encoding="utf-8")

    assert report(out, data, "--only", "values") == 0
    figure = json.loads(capsys.readouterr().out)["figures"]["values.accuracy"]
    assert (figure["last"], figure["change"], figure["verdict"]) == (0.25, 0.25, "better")
    page = Checked((out / "report.html").read_text(encoding="utf-8"))
    assert "+25.0 points" in page.words
    assert "25.0 %" in page.words


def test_headings_are_in_order_and_named_sections(tmp_path: Path, data: Path) -> None:
    assert report(tmp_path, data, "--only", "values,home") == 0
    page = Checked((tmp_path / "report.html").read_text(encoding="utf-8"))
    headings = [tag for tag, _ in page.seen if tag in ("h1", "h2", "h3")]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}
    ids = [h["id"] for h in page.all("h2")]
    assert [s["aria-labelledby"] for s in page.all("section")] == ids
    assert len(set(ids)) == len(ids)
    assert page.all("html")[0]["lang"] == "en"


def test_a_benchmark_that_fails_leaves_the_others(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "home-assistant-intents").mkdir()
    (data / "home-assistant-intents" / "tests.jsonl").write_text("no json", encoding="utf-8")
    assert report(tmp_path, data, "--only", "home,values") == 4
    told = json.loads(capsys.readouterr().out)
    assert told["measured"] == ["values"]
    assert "tests.jsonl" in told["failed"]["home"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--only", "valeus"], 'no benchmark "valeus"'),
        (["--only", ","], "names no benchmark"),
        (["--heads", "/nowhere"], "is no folder"),
    ],
)
def test_wrong_use(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    assert report(tmp_path / "out", data, *more) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert report(tmp_path / "file", data) == 4
    err = capsys.readouterr().err
    assert "cannot be written" in err
    assert "[1/" not in err


def test_a_full_disk_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    command.written(path, "old")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AssistantError, match="No space left") as caught:
        command.written(path, "new")
    assert caught.value.exit_code == 4
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, data: Path) -> None:
    write(data / "recognizers-text", 1)
    # Sentences without end: the second benchmark is under way when the signal comes.
    home = data / "home-assistant-intents"
    home.mkdir()
    os.mkfifo(home / "tests.jsonl")
    command_line = [sys.executable, "-m", "assistant", "report", "--only", "values,home",
                    "--data", str(data), "--out", str(tmp_path / "out")]  # fmt: skip
    with subprocess.Popen(
        command_line, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            # Home comes first in the report; nobody ever writes into its pipe.
            if "Sentences to the home" in line:
                process.send_signal(signal.SIGINT)
                break  # its end is told in a line like that too
        process.stderr.read()
        assert process.wait() == 130
    kept = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert {part["status"] for part in kept["parts"].values()} == {"stopped"}
    Checked((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
