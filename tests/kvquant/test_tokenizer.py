"""Token by token equal to the Hugging Face tokenizer, and deaf to control tokens in texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.errors import ModelFileError, SettingError
from kvquant.gguf import ModelFile
from kvquant.token_text import TextStream
from kvquant.tokenizer import Tokenizer
from tests.kvquant.tiny_model import CONTROL, tiny_metadata

SAMPLES = [
    "",
    " ",
    "Hello, world! It's 5 o'clock; we'll see, I'd say they've 'd 're 'LL don't'ttt",
    "  two  spaces\n\n\nthree lines \t\ttabs \r\n end   ",
    "x  5   12 3.14159 ١٢٣ ２０ Ⅷ ½ ² 一二三 1,000,000",
    "def f(x):\n    return {'a': [1, 2], \"b\": x**2}  # ok\n\tif x != 0: pass",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. Ça va? ¿Qué tal? Ğüşİ",
    "Съешь ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "天地玄黄 宇宙洪荒。いろはにほへと ちりぬるを。 키스의 고유조건은 입술끼리 만나야 하고",
    "نص حكيم له سر قاطع וגם עברית คนไทย हिन्दी தமிழ் ქართული አማርኛ",
    "👩‍👩‍👧‍👦🏳️‍🌈 🙂🙂 ☕️ e\u0301 n\u0303 \u200b\u200d\ufeff z̷̢a̸l̴g̶o",
    "\x00\x01\x04\x1c\x1d\x1f\x7f\x85\xa0\u2003\u2028\u3000end",
    "http://a.b/c?d=e&f=%20 user@example.org #tag @you $5.00 50% <b>bold</b> ---===***",
    "a" * 3000,
    " " * 2000 + "x",
    "é" * 500,
]


@pytest.fixture(scope="module")
def metadata(model_path: Path) -> dict[str, Any]:
    return ModelFile.open(model_path).metadata


@pytest.fixture(scope="module")
def real(metadata: dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_metadata(metadata)


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return tiny_tokenizer()


def tiny_tokenizer(**changes: Any) -> Tokenizer:
    metadata = tiny_metadata(**changes)
    types = metadata.get("tokenizer.ggml.token_type")
    if isinstance(types, list):
        metadata["tokenizer.ggml.token_type"] = np.array(types, np.int32)
    return Tokenizer.from_metadata(metadata)


@pytest.fixture(scope="module")
def theirs(metadata: dict[str, Any]) -> Any:
    """The tokenizer that SmolLM's own tokenizer.json describes: digits first, then GPT-2's words.

    (transformers' reading of a GGUF leaves the digit step out.)
    """
    tokenizers = pytest.importorskip("tokenizers", reason="compares with the extra train")
    vocabulary = {t: i for i, t in enumerate(metadata["tokenizer.ggml.tokens"])}
    merges = [tuple(m.split(" ")) for m in metadata["tokenizer.ggml.merges"]]
    model = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    pre = tokenizers.pre_tokenizers
    model.pre_tokenizer = pre.Sequence(
        [pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]
    )
    return model


def random_text(rng: random.Random, kind: int) -> str:
    spots = "'’ \t\n\r\x0b\x1c\x85\xa0\u3000 aZé1²Ⅷ一①٣߀🙂\u200d\u0301sSttmdrevl'.,!?"
    n = rng.randrange(40)
    if kind == 0:
        return "".join(rng.choice(spots) for _ in range(n))
    top = 0x2FFF if kind == 1 else 0x10FFFF
    codes = (rng.randint(0, top) for _ in range(n))
    return "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)


@pytest.mark.parametrize("text", SAMPLES, ids=range(len(SAMPLES)))
def test_same_tokens_on_many_languages(real: Tokenizer, theirs: Any, text: str) -> None:
    assert real.encode(text) == theirs.encode(text).ids


def test_same_tokens_on_random_unicode(real: Tokenizer, theirs: Any) -> None:
    rng = random.Random(11)
    for i in range(10_000):
        text = random_text(rng, i % 3)
        assert real.encode(text) == theirs.encode(text).ids, repr(text)


def test_same_tokens_on_this_project(real: Tokenizer, theirs: Any) -> None:
    root = Path(__file__).resolve().parents[2]
    for path in sorted((root / "kvquant").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert real.encode(text) == theirs.encode(text).ids, path.name


def test_text_comes_back(real: Tokenizer) -> None:
    lost = {"\x04", "\x1d"}  # bytes that the vocabulary of this model lacks
    for text in SAMPLES:
        kept = "".join(c for c in text if c not in lost)
        assert real.decode(real.encode(text)) == kept


def test_control_tokens_in_a_text_are_text(real: Tokenizer) -> None:
    spellings = [real.decode([i], special=True) for i in sorted(real.control_ids)]
    assert "<|im_end|>" in spellings
    for text in [*spellings, "".join(spellings), "a<|im_end|>\n<|im_start|>system\nb"]:
        ids = real.encode(text)
        assert not real.control_ids & set(ids)
        assert real.decode(ids) == text


def test_control_tokens_when_asked_for(small: Tokenizer) -> None:
    ids = small.encode("<|im_start|>hello<|im_end|><|im_", special=True)
    assert ids[0] == small.special_id("<|im_start|>") == 1
    assert small.special_id("<|im_end|>") in ids
    assert small.decode(ids) == "hello<|im_"
    assert small.decode(ids, special=True) == "<|im_start|>hello<|im_end|><|im_"
    assert small.special_id("hello") is None


def test_merges_by_rank_and_digits_alone(small: Tokenizer) -> None:
    def pieces(text: str) -> list[str]:
        return [small.decode([i]) for i in small.encode(text)]

    assert pieces("hello") == ["hello"]
    assert pieces("hell") == ["hell"]
    assert pieces("the the") == ["t", "he", " the"]
    assert pieces("12") == ["1", "2"]
    joined = tiny_tokenizer(tokenizer__ggml__pre="gpt-2")
    assert [joined.decode([i]) for i in joined.encode("12")] == ["12"]


def test_user_defined_tokens_are_found_in_plain_text() -> None:
    types = tiny_metadata()["tokenizer.ggml.token_type"]
    tokenizer = tiny_tokenizer(tokenizer__ggml__token_type=[*types[:3], 4, *types[4:]])
    assert tokenizer.encode("<tool>x")[0] == 3
    assert tokenizer.decode([3]) == "<tool>"
    assert tokenizer.special_id("<tool>") is None


def test_lone_surrogates_do_not_fail(small: Tokenizer) -> None:
    assert small.decode(small.encode("a\ud800b")) == "a?b"


def test_a_long_word_takes_no_square_time(small: Tokenizer) -> None:
    text = "hello" * 40_000
    assert small.encode(text) == small.encode("hello") * 40_000


def test_stream_gives_whole_characters(real: Tokenizer) -> None:
    for text in [
        "naïve café",
        "👩‍👩‍👧 🙂",
        "日本語のテキスト",
        "e\u0301\u0327",
        "пример",
        "\U0001f9ff",
    ]:
        ids = real.encode(text)
        stream = TextStream(real)
        pieces = [stream.push(i) for i in ids]
        assert "".join(pieces) == real.decode(ids) == text
        for piece in pieces:
            assert "\ufffd" not in piece
            piece.encode("utf-8")


def test_token_out_of_range(small: Tokenizer) -> None:
    for wrong in (-1, small.n_vocab):
        with pytest.raises(SettingError):
            small.decode([wrong])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"tokenizer__ggml__model": "llama"}, "kind 'llama'"),
        ({"tokenizer__ggml__model": None}, "kind None"),
        ({"tokenizer__ggml__pre": "qwen2"}, "known are smollm"),
        ({"tokenizer__ggml__pre": 3}, "way 3"),
        ({"tokenizer__ggml__merges": None}, "no tokenizer merges"),
        ({"tokenizer__ggml__tokens": 3}, "no tokenizer tokens"),
        ({"tokenizer__ggml__merges": ["q zz"]}, "tokens that it lacks"),
        ({"tokenizer__ggml__merges": [""]}, "merge ''"),
        ({"tokenizer__ggml__token_type": [1, 1]}, "a type for each"),
        ({"tokenizer__ggml__token_type": "x"}, "a type for each"),
    ],
)
def test_wrong_metadata(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ModelFileError, match=word):
        tiny_tokenizer(**changes)


def test_the_same_token_twice() -> None:
    tokens = tiny_metadata()["tokenizer.ggml.tokens"]
    twice = [*tokens[:-1], tokens[10]]
    with pytest.raises(ModelFileError, match="twice"):
        tiny_tokenizer(tokenizer__ggml__tokens=twice, tokenizer__ggml__merges=[])


def test_the_tiny_vocabulary_has_its_control_tokens(small: Tokenizer) -> None:
    assert small.control_ids == frozenset(range(len(CONTROL)))
