"""The KV cache's settings on a command line, and the commands with every kind of cache."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from kvquant.cli import main
from kvquant.errors import SettingError
from kvquant.kv_options import add_options, keywords
from kvquant.kv_settings import KV_KINDS
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_tiny

QUANTIZED = [kind for kind in KV_KINDS if kind != "fp16"]


def given(kind: str, *argv: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return keywords(parser.parse_args(argv), kind)


def test_only_what_was_given_is_passed_on() -> None:
    assert given("fp16") == given("adaptive") == {}
    assert given("static4", "--window", "16") == {"window": 16}
    settings = given("adaptive", "--controller_path", "c.bin", "--budget_bits", "3", "--sinks", "0")
    assert settings == {"controller": "c.bin", "budget_bits": 3.0, "sinks": 0}
    assert given("static3", "--key_layout", "pre_rope") == {"key_layout": "pre_rope"}


@pytest.mark.parametrize(
    ("kind", "argv", "words"),
    [
        ("fp16", ["--window", "16"], "--window belongs to quantized"),
        ("fp16", ["--sinks", "2"], "--sinks belongs to quantized"),
        ("fp16", ["--key_layout", "pre_rope"], "--key_layout belongs to quantized"),
        ("fp16", ["--controller_path", "c.bin"], "--controller_path belongs"),
        ("static4", ["--budget_bits", "3"], "--budget_bits belongs to the KV cache adaptive"),
        ("half", [], "'half' is not available; there is fp16"),
    ],
)
def test_settings_of_another_kind(kind: str, argv: list[str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        given(kind, *argv)


# The commands, over the native engine.


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with heads of 32, the least that quantized caches take."""
    pytest.importorskip("kvquant._native", reason="the native engine is not built")
    heads = {"llama__attention.head_count": 2, "llama__attention.head_count_kv": 1}
    return write_tiny(tmp_path_factory.mktemp("kv") / "tiny.gguf", **heads)


@pytest.fixture(scope="module")
def controller(path: Path) -> str:
    write_features(path.with_name("features.bin"), path)
    return str(write_controller(path.with_name("ctrl.bin"), path))


def options(kind: str, controller: str) -> list[str]:
    return ["--controller_path", controller] if kind == "adaptive" else []


def report(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main([*argv, "--json", "--threads", "1"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("kind", QUANTIZED)
def test_a_text_of_every_kind(
    path: Path, controller: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--model", str(path), "--prompt", "hello the " * 60, "--n", "8", "--max_seq_len", "300"]
    found = report(capsys, *argv, "--kv_quant", kind, *options(kind, controller))
    assert found["kv_bytes"] < 0.9 * found["kv_bytes_fp16"]
    assert found["bits_mean"] == pytest.approx(
        16 * found["kv_bytes"] / found["kv_bytes_fp16"], abs=1e-3
    )
    assert 2 < found["bits_mean"] < 16
    assert found["new_tokens"] > 0


def test_keys_from_before_rope_take_the_same_room(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--model", str(path), "--prompt", "hello the " * 60, "--n", "8", "--max_seq_len", "300"]
    argv += ["--kv_quant", "static8"]
    rotated, before = (
        report(capsys, *argv, "--key_layout", layout) for layout in ("rotated", "pre_rope")
    )
    assert rotated["kv_bytes"] == before["kv_bytes"]
    assert rotated["new_tokens"] == before["new_tokens"]


def test_a_budget_is_kept(path: Path, controller: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--model", str(path), "--prompt", "hello the " * 120, "--n", "2"]
    argv += ["--max_seq_len", "512", "--kv_quant", "adaptive", "--controller_path", controller]
    few, many = (report(capsys, *argv, "--budget_bits", bits)["bits_mean"] for bits in ("4.5", "8"))
    assert few < many


def test_a_full_context_slides_only_when_told_to(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--model", str(path), "--prompt", "hello the " * 20, "--n", "150"]
    argv += ["--max_seq_len", "100", "--kv_quant", "static4", "--seed", "1", "--temperature", "1.5"]
    stopped = report(capsys, *argv)
    assert stopped["finish"] == "context"
    on = report(capsys, *argv, "--slide")
    assert on["new_tokens"] > stopped["new_tokens"]


def test_slide_needs_a_cache_that_can(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(path), "--prompt", "hello", "--slide"]) == 2
    assert "slide" in capsys.readouterr().err


def test_the_benchmark_of_every_kind(
    path: Path, controller: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["bench", "--model", str(path), "--depths", "0,200", "--batch", "1,2", "--prompts", "9",
            "--prefill_depths", "200", "--batch_depths", "0,200", "--rounds", "1",
            "--kv", "fp16,static4,adaptive", "--controller_path", controller]  # fmt: skip
    found = report(capsys, *argv)
    rows = {(r["kv"], r["features"], r["depth"], r["batch"], r["prompt"]): r for r in found["rows"]}
    for kind, features in (("fp16", None), ("static4", None), ("adaptive", "table")):
        for case in ((0, 1, 9), (0, 1, 0), (0, 2, 0), (200, 1, 128), (200, 1, 0), (200, 2, 0)):
            assert (kind, features, *case) in rows
    assert rows["fp16", None, 200, 1, 0]["bits_mean"] == 16
    assert rows["static4", None, 200, 1, 0]["bits_mean"] < 9
    decode = rows["adaptive", "table", 200, 1, 0]
    assert decode["controller_ms_per_token"] > 0
    assert 0 < decode["metadata_share"] < 1
    assert rows["static4", None, 200, 1, 0]["controller_ms_per_token"] is None
    # Where the features come from matters to prompts: measured with the table and without it.
    exact = {key[2:] for key in rows if key[1] == "exact"}
    assert exact == {(0, 1, 9), (200, 1, 128)}
    assert "adaptive decode depth 200 batch 1" in found["gains"]
    assert "adaptive exact features prefill 9" in found["gains"]
