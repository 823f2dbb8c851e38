"""The numpy model against transformers in float32, and against itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import reference
from kvquant.errors import ModelFileError, SettingError
from kvquant.gguf import ModelFile
from kvquant.reference import ReferenceModel
from kvquant.tokenizer import Tokenizer
from tests.kvquant.transformers_model import TransformersModel

PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Water boils at 100 degrees",
    "Der schnelle braune Fuchs",
]
NEW_TOKENS = 16


@pytest.fixture(scope="module")
def small(tiny_path: Path) -> ReferenceModel:
    return reference.load(str(tiny_path), threads=1, kv="fp32")


def ids(n: int, vocab: int = 270, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, vocab, n).astype(np.int32)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 65, 200])
def test_chunks_give_what_one_pass_gives(small: ReferenceModel, n: int) -> None:
    tokens = ids(n)
    whole = small.cache(256).forward(tokens, 0, n)
    cache = small.cache(256)
    parts = [cache.forward(tokens[at : at + 7], at, len(tokens[at : at + 7]))
             for at in range(0, n, 7)]  # fmt: skip
    assert np.allclose(np.concatenate(parts), whole, atol=1e-4)
    assert cache.length == n


def test_rows(small: ReferenceModel) -> None:
    tokens = ids(9)
    every = small.cache(16).forward(tokens, 0, 9)
    last = small.cache(16).forward(tokens, 0, 1)
    none = small.cache(16).forward(tokens, 0, 0)
    assert every.shape == (9, small.params.n_vocab)
    assert none.shape == (0, small.params.n_vocab)
    assert np.allclose(last[0], every[-1], atol=1e-5)
    assert every.dtype == last.dtype == np.float32


def test_going_back_forgets(small: ReferenceModel) -> None:
    tokens = ids(20)
    cache = small.cache(32)
    cache.forward(tokens, 0, 0)
    again = cache.forward(tokens[10:12], 5, 1)
    fresh = small.cache(32)
    fresh.forward(tokens[:5], 0, 0)
    assert np.allclose(again, fresh.forward(tokens[10:12], 5, 1), atol=1e-5)
    assert cache.length == 7
    cache.truncate(3)
    assert cache.length == 3


def test_caches_do_not_share(small: ReferenceModel) -> None:
    one, other = small.cache(32), small.cache(32)
    one.forward(ids(8, seed=1), 0, 0)
    expected = small.cache(32).forward(ids(8, seed=2), 0, 1)
    assert np.array_equal(other.forward(ids(8, seed=2), 0, 1), expected)


def test_halves_stay_near_floats(tiny_path: Path, small: ReferenceModel) -> None:
    half = reference.load(str(tiny_path), threads=1, kv="fp16")
    a, b = half.cache(64), small.cache(64)
    x, y = a.forward(ids(50), 0, 50), b.forward(ids(50), 0, 50)
    assert 0 < np.abs(x - y).max() < 0.05
    assert (a.kv_bytes, b.kv_bytes) == (50 * 2 * 2 * 2 * 16 * 2, 50 * 2 * 2 * 2 * 16 * 4)


def test_wrong_calls(tiny_path: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="q4_0"):
        reference.load(str(tiny_path), threads=1, kv="q4_0")
    with pytest.raises(SettingError, match="multiple of 32"):
        reference.load(str(tiny_path), threads=1, kv="static4")
    with pytest.raises(ModelFileError):
        reference.load(str(tmp_path / "none"), threads=1, kv="fp16")


class _Real:
    """Our model and transformers' with the same float32 weights."""

    def __init__(self, path: Path, torch: Any, transformers: Any) -> None:
        file = ModelFile.open(path)
        self.tokenizer = Tokenizer.from_metadata(file.metadata)
        self.ours = reference.load(str(path), threads=1, kv="fp32")
        self.theirs = TransformersModel(file, torch, transformers)


@pytest.fixture(scope="module")
def real(model_path: Path) -> Iterator[_Real]:
    torch = pytest.importorskip("torch", reason="compares with the extra train")
    transformers = pytest.importorskip("transformers", reason="compares with the extra train")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield _Real(model_path, torch, transformers)
    torch.set_num_threads(threads)


def test_logits_of_transformers(real: _Real) -> None:
    text = " ".join(PROMPTS) * 2
    tokens = real.tokenizer.encode(text)
    ours = real.ours.cache(512).forward(np.array(tokens, np.int32), 0, len(tokens))
    theirs = real.theirs.logits(tokens)
    assert np.abs(ours - theirs).max() < 2e-3
    assert np.array_equal(ours.argmax(1), theirs.argmax(1))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_text_of_transformers(real: _Real, prompt: str) -> None:
    """Each of our greedy tokens is the one that transformers takes after the same tokens."""
    tokens = real.tokenizer.encode(prompt)
    start = len(tokens)
    cache = real.ours.cache(128)
    logits = cache.forward(np.array(tokens, np.int32), 0, 1)
    for _ in range(NEW_TOKENS):
        tokens.append(int(logits[0].argmax()))
        logits = cache.forward(np.array(tokens[-1:], np.int32), cache.length, 1)
    theirs = real.theirs.logits(tokens)[start - 1 : -1].argmax(1)
    assert tokens[start:] == theirs.tolist()
