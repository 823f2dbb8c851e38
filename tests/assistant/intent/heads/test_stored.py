"""States that are kept in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import InputFileError
from assistant.intent.heads.states import TextStates, TokenStates
from assistant.intent.heads.stored import Stored


class Counting(TextStates):
    """Two tokens whose values are the numbers of the layers; counts how often it reads."""

    fingerprint = 7

    def __init__(self) -> None:
        self.read: list[tuple[str, tuple[int, ...]]] = []

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        self.read.append((text, tuple(layers)))
        values = np.array([np.full((2, 4), layer) for layer in layers], np.float32)
        return TokenStates(values, np.array([[0, 1], [1, 2]]))


def test_a_text_is_read_once(tmp_path: Path) -> None:
    below = Counting()
    for _ in range(2):  # a second one finds what the first one kept
        got = Stored(below, tmp_path / "kept").states("hi", [3, 1], twice=True, prefix="p")
        assert got.values[:, 0, 0].tolist() == [3, 1]
        assert got.values.dtype == np.float16
        assert got.spans.tolist() == [[0, 1], [1, 2]]
    assert below.read == [("hi", (1, 3))]


def test_another_text_prefix_way_or_layer_is_read(tmp_path: Path) -> None:
    below = Counting()
    stored = Stored(below, tmp_path, layers=[2])
    stored.states("hi", [3])
    stored.states("ho", [3])
    stored.states("hi", [3], twice=True)
    stored.states("hi", [3], prefix="other")
    stored.states("hi", [2])  # was kept along
    assert len(below.read) == 4
    assert stored.states("hi", [5]).values[0, 0, 0] == 5
    assert below.read[-1] == ("hi", (2, 5))


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    below = Counting()
    stored = Stored(below, tmp_path)
    stored.states("hi", [3])
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:50])
    assert stored.states("hi", [3]).values[0, 0, 0] == 3
    assert len(below.read) == 2
    kept.write_bytes(b"")
    stored.states("hi", [3])
    assert len(below.read) == 3


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("", encoding="utf-8")
    with pytest.raises(InputFileError, match="is no folder"):
        Stored(Counting(), place)
