"""What training reads, and what it never does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kvquant.chat import ChatFormat
from kvquant.errors import DataFileError
from kvquant.texts import Part
from kvquant.tokenizer import Tokenizer
from kvquant.training.data import tokens_of, windows
from tests.kvquant.tiny_model import tiny_metadata
from tests.kvquant.training.texts_for_training import write_texts

METADATA = tiny_metadata() | {
    "tokenizer.ggml.token_type": np.array(tiny_metadata()["tokenizer.ggml.token_type"])
}
TOKENIZER = Tokenizer.from_metadata(METADATA)
CHAT = ChatFormat(TOKENIZER, METADATA)


def places(data: Path, part: Part) -> set[str]:
    """The marked lines of which a part has something, by windows and by all of its tokens."""
    chosen = windows(data, part, TOKENIZER, CHAT, length=300, count=40)
    tokens = [w.tokens for w in chosen] + [tokens_of(data, part, TOKENIZER, CHAT)]
    return {m for t in tokens for m in re.findall(r"(?:wiki|novel|chat)\d+x", TOKENIZER.decode(t))}


def test_no_held_out_text_is_trained_on(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data")
    train, held_out = places(data, "train"), places(data, "held_out")
    for name in ("wiki", "novel", "chat"):
        assert any(x.startswith(name) for x in train), name
        assert any(x.startswith(name) for x in held_out), name
    assert not train & held_out


def test_windows_are_full_and_the_sets_take_turns(tmp_path: Path) -> None:
    found = windows(write_texts(tmp_path / "data"), "train", TOKENIZER, CHAT, length=200, count=2)
    assert [w.name for w in found] == [
        "wikitext2-0", "gutenberg-0", "sgd-dialogues-0",
        "wikitext2-1", "gutenberg-1", "sgd-dialogues-1",
    ]  # fmt: skip
    assert {len(w.tokens) for w in found} == {200}


def test_a_set_that_is_short_gives_fewer_windows(tmp_path: Path) -> None:
    found = windows(write_texts(tmp_path / "data"), "train", TOKENIZER, CHAT, length=900, count=50)
    counts = {name: sum(w.name.startswith(name) for w in found) for name in ("wiki", "sgd")}
    assert 0 < counts["sgd"] < counts["wiki"] < 50


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="--data"):
        windows(tmp_path, "train", TOKENIZER, CHAT, length=100, count=1)
