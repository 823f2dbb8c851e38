"""The compiled tokenizer and sampler against the Python ones."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from kvquant.config import Sampling
from kvquant.gguf import ModelFile
from kvquant.sampler import Sampler
from kvquant.tokenizer import Tokenizer

_native = pytest.importorskip("kvquant._native", reason="the native engine is not built")

TEXTS = [
    "", " ", "  ", "   x", "\n\n  y", "Hello, world!", "it's we're they'll I'd 'tis o'clock",
    "room 101, 1 234.5 ½ ² Ⅷ ١٢٣", "naïve façade — “quoted” …", "Straße, Ægir, Łódź, İstanbul",
    "Привет, как дела?", "你好，世界。", "こんにちは 世界", "안녕하세요", "مرحبا بالعالم", "שלום",
    "नमस्ते दुनिया", "สวัสดีชาวโลก", "👍🏽👩‍👩‍👧‍👦🇩🇪", "e\u0301a\u0308\u200d\ufeff",
    "a\u00a0b\u3000c\u2028d",
    "def f(x):\n\treturn x ** 2  # ok\n", "<|im_start|>system\nno<|im_end|>", "<|im_end|", "'" * 7,
    "x" * 500, " " * 77 + "z", "\x00\x01\x7f\x80",
]  # fmt: skip


def random_text(rng: random.Random) -> str:
    size = rng.randrange(1, 24)
    if rng.random() < 0.4:
        return "".join(rng.choice(" 'stmdrevlab\n\t019.,") for _ in range(size))
    limit = rng.choice([0x250, 0x3000, 0x110000])
    codes = (rng.randrange(limit) for _ in range(size))
    return "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)


@pytest.fixture(scope="module", params=["tiny", "real"])
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, _native.Tokenizer]:
    name = "tiny_path" if request.param == "tiny" else "model_path"
    path: Path = request.getfixturevalue(name)
    plain = Tokenizer.from_metadata(ModelFile.open(path).metadata)
    return plain, _native.Tokenizer.open(str(path))


def test_tokens_are_equal(pair: tuple[Tokenizer, _native.Tokenizer]) -> None:
    plain, native = pair
    rng = random.Random(5)
    for text in TEXTS + [random_text(rng) for _ in range(10_000)]:
        for special in (False, True):
            got = native.encode(text.encode(), special=special)
            assert got == plain.encode(text, special=special), repr(text)


def test_bytes_are_equal(pair: tuple[Tokenizer, _native.Tokenizer]) -> None:
    plain, native = pair
    assert native.n_vocab == plain.n_vocab
    for token in range(plain.n_vocab):
        for special in (False, True):
            got = native.token_bytes(token, special=special)
            assert got == plain.token_bytes(token, special=special), token
    assert native.special_id("<|im_end|>") == plain.special_id("<|im_end|>")
    assert native.special_id("the") == -1
    for wrong in (-1, plain.n_vocab):
        with pytest.raises(ValueError):
            native.token_bytes(wrong)


def test_what_a_user_says_is_never_a_control_token(
    pair: tuple[Tokenizer, _native.Tokenizer],
) -> None:
    plain, native = pair
    for token in plain.control_ids:
        spelling = native.token_bytes(token, special=True)
        assert token not in native.encode(b"say " + spelling + b" now")
        assert token in native.encode(b"say " + spelling + b" now", special=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 1.0},
        {"temperature": 0.7, "top_k": 5},
        {"temperature": 1.3, "top_p": 0.6},
        {"temperature": 1.0, "min_p": 0.2},
        {"temperature": 0.9, "top_k": 40, "top_p": 0.9, "min_p": 0.05},
    ],
)
def test_both_samplers_follow_one_distribution(settings: dict[str, float]) -> None:
    logits = (np.random.default_rng(1).normal(size=300) * 2).astype(np.float32)
    none = np.zeros(0, np.int32)
    native = _native.Sampler(**settings, seed=1)
    plain = Sampler(Sampling(**settings, seed=1))  # type: ignore[arg-type]
    n = 6000
    a = np.bincount([native.pick(logits, none) for _ in range(n)], minlength=300)
    b = np.bincount([plain.pick(logits) for _ in range(n)], minlength=300)
    assert np.abs(a - b).max() < 6 * np.sqrt(n / 4)
    if len(settings) > 1:
        common = (a > 20) | (b > 20)
        assert ((a > 0) == (b > 0))[common].all()
        assert np.count_nonzero(a) < 300


def test_greedy_and_penalty_agree() -> None:
    rng = np.random.default_rng(2)
    for seed in range(50):
        logits = rng.normal(size=1000).astype(np.float32)
        recent = rng.integers(0, 1000, 30).astype(np.int32)
        recent[0] = logits.argmax()
        native = _native.Sampler(repetition_penalty=1.7, seed=seed)
        plain = Sampler(Sampling(repetition_penalty=1.7))
        before = logits.copy()
        assert native.pick(logits, recent) == plain.pick(logits, recent.tolist())
        assert np.array_equal(before, logits)
