"""What is shown of a text's precision is what the cache holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, plots
from kvquant.inspection.classes import cut, drift, pieces, precision
from kvquant.inspection.stability import spread, verdict
from kvquant.inspection.view import legend, page, terminal


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
