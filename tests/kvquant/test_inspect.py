"""What is shown of a text's precision is what the cache holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, plots
from kvquant.__main__ import main
from kvquant.inspection.classes import cut, drift, pieces, precision
from kvquant.inspection.stability import spread, verdict
from kvquant.inspection.view import legend, page, terminal
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_wide


@dataclass
class Held:
    """A session that holds given classes, (n, layers, heads)."""

    tokens: list[int]
    given: np.ndarray
    ladder: tuple[int, ...] = (2, 3, 4, 8)
    info: Any = field(default=None)

    def classes(self) -> np.ndarray:
        return self.given


def held(tags: list[tuple[int, int]], engine: Engine, text: str, window: int = 2) -> Held:
    """One (key tag, value tag) a quantized token, for all layers and heads."""
    tokens = engine.tokenizer.encode(text)
    classes = np.zeros((len(tags), 2, 2), np.uint8)
    for i, (key, value) in enumerate(tags):
        classes[i] = key | value << 2
    assert len(tokens) == 1 + len(tags) + window, len(tokens)
    return Held(tokens, classes)


def test_bits_by_token_and_layer(tiny: Engine) -> None:
    session: Any = held([(0, 0), (3, 2), (1, 0)], tiny, "abcdef")
    session.given[2, 1] = 3 | 3 << 2
    found = precision(session, tiny.tokenizer, 1)
    np.testing.assert_allclose(found.per_token, [16, 2, 6, (2.5 + 8) / 2, 16, 16])
    assert found.bits.shape == (6, 2)
    assert (found.first, found.last) == (1, 4)
    np.testing.assert_allclose(found.keys, [(2 + 8 + 3) / 3, (2 + 8 + 8) / 3])
    np.testing.assert_allclose(found.values, [(2 + 4 + 2) / 3, (2 + 4 + 8) / 3])
    assert found.pieces == list("abcdef")


def test_a_text_that_is_all_window(tiny: Engine) -> None:
    session: Any = Held(tiny.tokenizer.encode("ab"), np.zeros((0, 2, 2), np.uint8))
    found = precision(session, tiny.tokenizer, 4)
    assert found.per_token.tolist() == [16, 16]
    assert "too short" in drift(found, 512).verdict


def test_drift_is_seen_and_steadiness_too(tiny: Engine) -> None:
    def along(tags: list[tuple[int, int]]) -> Any:
        session: Any = held(tags, tiny, "a" * (len(tags) + 3))
        return drift(precision(session, tiny.tokenizer, 1), 16)

    falling = along([(3, 3)] * 16 + [(1, 1)] * 16 + [(0, 0)] * 19)
    assert [(a, b) for a, b, _ in falling.stretches] == [(1, 17), (17, 33), (33, 52)]
    assert falling.change == pytest.approx(2 - 8)
    assert "fewer" in falling.verdict
    assert "more" in along([(0, 0)] * 16 + [(3, 3)] * 16).verdict
    assert along([(0, 3), (3, 0)] * 20).verdict.startswith("No drift")
    assert falling.report()["segments"][0] == {"from": 1, "to": 17, "bits": 8.0}


def test_characters_of_several_tokens_come_whole(tiny: Engine) -> None:
    tokens = tiny.tokenizer.encode("né")
    assert pieces(tiny.tokenizer, tokens) == ["n", "", "é"]


def test_colours_only_where_they_are_wanted(tiny: Engine) -> None:
    session: Any = held([(0, 0), (2, 2)], tiny, "a\nb\x1bx")
    found = precision(session, tiny.tokenizer, 1)
    plain = terminal(found, colour=False)
    assert plain == "a\n{2.0}b{4.0}�x"
    coloured = terminal(found, colour=True)
    assert coloured.startswith("a")
    assert coloured.count("\x1b[38;5;255;48;5;") == 1
    assert coloured.replace("\x1b[0m", "").endswith("b�x")
    assert "16" in legend()


def test_the_page_escapes_the_text(tiny: Engine) -> None:
    session: Any = held([(0, 0), (2, 2)], tiny, "a<b&c")
    html = page(precision(session, tiny.tokenizer, 1), "a <title>", "a summary")
    assert "&lt;" in html
    assert "<b&" not in html
    assert "a &lt;title&gt;" in html
    assert 'title="token 2, 4.00 bits"' in html


def test_a_long_text_is_cut_for_a_terminal(tiny: Engine) -> None:
    session: Any = held([(0, 0)] * 4, tiny, "abcdefg")
    assert len(cut(precision(session, tiny.tokenizer, 1), 3).pieces) == 3


def test_stability_figures() -> None:
    values = np.array([[1.0, 2.0, 4.0], [10.0, 20.0, 40.0]], np.float32)
    found = spread(values)
    assert found["range"] == [1, 40]
    assert found["non_finite"] == 0
    assert found["layers_ratio"] == 10
    assert found["tokens_ratio"] == pytest.approx(4, rel=0.1)
    wild = spread(np.array([[1e-9, 1e6], [np.nan, 0]], np.float32))
    assert wild["non_finite"] == 0.25
    assert wild["half_lost"] == 1
    assert wild["layers_ratio"] is None
    assert "unusable" in verdict(found, wild)
    assert "finite" in verdict(wild, found)


def test_the_plot_of_a_long_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    bits = np.full((5000, 3), 3.0)
    bits[:4] = 16
    plots.precision(bits, tmp_path / "p.png", "title", [(4, 2500, 3.0), (2500, 5000, 3.0)])
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that name a tiny model and a controller for it."""
    folder = tmp_path_factory.mktemp("wide")
    model = write_wide(folder / "wide.gguf")
    controller = write_controller(folder / "ctrl-w.bin", model)
    write_features(folder / "features-w.bin", model)
    return ["--model", str(model), "--controller", str(controller), "--threads", "1"]


@pytest.mark.parametrize("mode", ["prefill", "decode"])
def test_the_command_reports_every_token(
    wide: list[str], tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Hello the other day 1 2. " * 10, encoding="utf-8")
    given = ["inspect", *wide, "--file", str(text), "--segment", "64", "--mode", mode,
             "--budget", "5.5"]  # fmt: skip
    assert main([*given, "--json", "--html", str(tmp_path / "p.html")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "".join(t["text"] for t in report["tokens"]) == text.read_text(encoding="utf-8")
    n = report["n_tokens"]
    assert n == len(report["tokens"])
    a, b = report["quantized"]["from"], report["quantized"]["to"]
    assert (a, b) == (4, n - 32)
    bits = [t["bits"] for t in report["tokens"]]
    assert bits[:a] == [16] * a
    assert bits[b:] == [16] * 32
    assert len(set(bits[a:b])) > 3
    # Codes, a scale for each vector and a tag for each pair explain the bytes of the cache.
    mean = sum(bits[a:b]) / (b - a)
    full = 16 * (n - (b - a))
    assert report["bits_mean"] * n > mean * (b - a) + full
    assert report["bits_mean"] * n < (mean + 0.6) * (b - a) + full
    assert sum(report["class_tokens"]) == (b - a) * 2 * 2
    assert len(report["layers"]) == 2
    assert report["pool"]["page_bytes"] >= 0
    assert report["stability"]["normalised"]["non_finite"] == 0
    assert "<span" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_the_command_in_words(wide: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *wide, "--kv", "static4", "hello the " * 20]) == 0
    out = capsys.readouterr().out
    assert "{4.0}" in out
    assert "No drift" in out or "too short" in out
    assert "\x1b" not in out
    assert main(["inspect", *wide, "--kv", "static4", "hello"]) == 0
    assert "none is quantized" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--kv", "fp16", "hello"], 2),
        (["--segment", "0", "hello"], 2),
        (["--file", "/nowhere/at/all.txt"], 3),
        ([" "], 2),
        (["--policy", "guess", "hello"], 2),
    ],
)
def test_mistakes_get_one_sentence(
    wide: list[str], given: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *wide, *given]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kvquant inspect: ")
    assert len(err.splitlines()) == 1


def test_a_file_that_is_no_text(wide: list[str], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    assert main(["inspect", *wide, "--file", str(tmp_path / "x")]) == 3
