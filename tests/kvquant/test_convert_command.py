"""``python -m kvquant convert``: one line for a user's mistake, one for what was done."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kvquant import __main__ as tools
from kvquant.convert_command import ProgressLine
from kvquant.gguf import ModelFile
from tests.kvquant.hf_model import HfModel


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return HfModel().write(tmp_path / "Small-1M")


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = tools.main([str(arg) for arg in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_default_name_and_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "convert", folder)
    assert (code, err) == (0, "")
    assert out.startswith("Small-1M.Q4_1+Q8.gguf: 0.1 million weights as q4_1+q8, ")
    file = ModelFile.open("Small-1M.Q4_1+Q8.gguf")
    assert file.metadata["general.name"] == "Small-1M"


def test_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.gguf"
    code, out, _ = run(capsys, "convert", folder, path, "--type", "f16", "--json")
    assert code == 0
    report = json.loads(out)
    assert report.pop("bytes") == path.stat().st_size
    assert report.pop("weights") > 50_000
    assert report == {"path": str(path), "type": "f16", "tensors": 20}
    assert run(capsys, "convert", folder, path)[0] == 2
    assert run(capsys, "convert", folder, path, "--force")[0] == 0


def test_mistakes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    code, out, err = run(capsys, "convert", folder)
    assert (code, out) == (3, "")
    assert err == "kvquant convert: config.json has model_type 'gpt2'; only llama is known.\n"
    code, _, err = run(capsys, "convert", tmp_path / "none")
    assert code == 3
    assert err.count("\n") == 1
    with pytest.raises(SystemExit) as caught:
        run(capsys, "convert", folder, "--type", "q5")
    assert caught.value.code == 2


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert "convert" in err
    code, _, err = run(capsys, "convrt")
    assert code == 2
    assert "no command 'convrt'" in err
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    assert "convert" in out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        line = ProgressLine(out)
        line.show(1, 4, "blk.0.attn_q.weight")
        line.show(4, 4, "")
    assert " 25 %  blk.0.attn_q.weight" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert "\n" not in terminal.getvalue()
    assert file.getvalue() == ""
