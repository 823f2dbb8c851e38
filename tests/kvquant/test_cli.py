"""The smolllm command: its keys, its exit codes, one sentence for every mistake."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from kvquant.cli import find_model, main
from kvquant.errors import ModelFileError

KEYS = {
    "text", "prompt_tokens", "new_tokens", "prefill_ms", "decode_ms_per_token", "kv_bytes",
    "kv_bytes_fp16", "bits_mean", "peak_rss_mb", "finish",
}  # fmt: skip


@pytest.fixture(autouse=True)
def plain_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own work is tested here, with any head size that the tests like."""
    monkeypatch.setitem(sys.modules, "kvquant._native", None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def command(tiny_path: Path, *options: str) -> list[str]:
    return ["--model", str(tiny_path), "--max_seq_len", "64", "--threads", "1", *options]


def test_json(tiny_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tiny_path, "--prompt", "hello the", "--n", "6", "--json")) == 0
    out = capsys.readouterr().out
    report = json.loads(out)
    assert report.keys() == KEYS
    assert out.count("\n") == 1
    assert report["prompt_tokens"] == 2
    assert 0 <= report["new_tokens"] <= 6
    assert report["bits_mean"] == 16.0
    assert report["kv_bytes"] == report["kv_bytes_fp16"] > 0
    assert report["prefill_ms"] > 0
    assert report["peak_rss_mb"] > 1


def test_text_and_seed(tiny_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(seed: str) -> str:
        options = ("--prompt", "hello", "--temperature", "1", "--seed", seed, "--n", "30")
        assert main(command(tiny_path, *options)) == 0
        return capsys.readouterr().out

    assert run("1") == run("1")
    assert run("1") != run("2")


def test_prompt_from_standard_input(
    tiny_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("hello the"))
    assert main(command(tiny_path, "--n", "2", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["prompt_tokens"] == 2


def test_prompt_as_a_message(tiny_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tiny_path, "--prompt", "hello", "--chat", "--n", "2", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["prompt_tokens"] > 10


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--kv_quant", "static5"], 2, "not available; there is fp16"),
        (["--controller_path", "c.bin"], 2, "adaptive, not to fp16"),
        (["--budget_bits", "3"], 2, "adaptive, not to fp16"),
        (["--window", "16"], 2, "belongs to quantized"),
        (["--temperature", "nan"], 2, "temperature"),
        (["--temperature", "-1"], 2, "temperature"),
        (["--seed", "-1"], 2, "seed"),
        (["--n", "-1"], 2, "max_new_tokens"),
        (["--threads", "0"], 2, "threads"),
        (["--max_seq_len", "100000"], 2, "from 1 to 512"),
        (["--prompt", ""], 2, "empty"),
        (["--prompt", "a b " * 100], 2, "context holds 64"),
        (["--model", "/nowhere/m.gguf"], 3, "no model file"),
        (["--model", __file__], 3, "not a GGUF"),
    ],
)
def test_mistakes(
    tiny_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    word: str,
) -> None:
    assert main(command(tiny_path, "--prompt", "hello", *options)) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert word in shown.err
    assert shown.err.count("\n") == 1


def test_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--tempo", "1"])
    assert caught.value.code == 2
    assert "--tempo" in capsys.readouterr().err


def test_interrupt(
    tiny_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvquant.session.Session.prefill", interrupted)
    assert main(command(tiny_path, "--prompt", "hello")) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_chat_on_a_terminal(
    tiny_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["hello", "", "the " * 90, "the", "hello the"])

    def read(_: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", read)
    assert main(command(tiny_path, "--n", "4")) == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 3
    assert "context holds 64" in shown.err
    assert main(command(tiny_path, "--json")) == 2


def test_where_the_model_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = tmp_path / "models" / "some-model" / "some.gguf"
    fetched.parent.mkdir(parents=True)
    fetched.touch()
    folder = {"ASSISTANT_MODELS": str(tmp_path / "models")}
    assert find_model("a.gguf", {"SMOLLLM_MODEL": "b.gguf"}) == Path("a.gguf")
    assert find_model(None, {"SMOLLLM_MODEL": "b.gguf", **folder}) == Path("b.gguf")
    assert find_model(None, folder) == fetched
    assert find_model("~/m.gguf", {}) == Path.home() / "m.gguf"
    data = tmp_path / "assistant"
    data.mkdir()
    (tmp_path / "models").rename(data / "models")
    assert find_model(None, {"XDG_DATA_HOME": str(tmp_path)}).name == "some.gguf"
    with pytest.raises(ModelFileError, match="No model is given"):
        find_model(None, folder)
