"""Reading with the real language model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelError
from assistant.intent.heads.example import OUT_OF_SCOPE, Example, Mark
from assistant.intent.heads.head import Head, Setup
from assistant.intent.heads.heads import Heads
from assistant.intent.heads.reader import MAX_TOKENS, Reader
from assistant.intent.heads.training import train
from assistant.models import path_of

pytest.importorskip("kvquant._native", reason="the native engine is not built")

PREFIX = "You are a friendly voice assistant."
LAYERS = (6, 12)


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return path_of("smollm2-135m-instruct")
    except ModelError:
        pytest.skip("the language model is not fetched: assistant models fetch")


@pytest.fixture(scope="module")
def reader(model: Path) -> Iterator[Reader]:
    reader = Reader.load(model, PREFIX, threads=1)
    yield reader
    reader.close()


def test_tokens_cover_the_text(reader: Reader) -> None:
    text = "  Play “Zoë” by 東京 band, in 5 minutes! \n"
    got = reader.states(text, LAYERS)
    assert got.values.shape == (2, len(got.spans), 576)
    assert got.spans[0, 0] == 2
    assert got.spans[-1, 1] == len(text.rstrip())
    starts, ends = got.spans.T
    assert (starts < ends).all()
    assert (starts[1:] <= ends[:-1]).all()  # a character may need several tokens
    assert {text[a:b].strip() for a, b in got.spans} >= {"by", "band", "minutes", "!"}


def test_a_text_does_not_depend_on_the_one_before(reader: Reader) -> None:
    first = reader.states("turn on the light", LAYERS, twice=True).values
    reader.states("what is the capital of france", LAYERS, twice=True)
    assert np.array_equal(reader.states("turn on the light", LAYERS, twice=True).values, first)


def test_the_second_reading_knows_the_end(reader: Reader) -> None:
    """The first word is read alike whatever follows, but only once."""
    one, other = "set the alarm off", "set the table please"
    once = [reader.states(t, (12,)).values[0, 0] for t in (one, other)]
    twice = [reader.states(t, (12,), twice=True).values[0, 0] for t in (one, other)]
    assert np.allclose(once[0], once[1], atol=0.05)
    assert np.abs(twice[0] - twice[1]).max() > 1


def test_the_prefix_counts(reader: Reader) -> None:
    own = reader.states("good morning", LAYERS).values
    assert np.array_equal(reader.states("good morning", LAYERS, prefix=PREFIX).values, own)
    other = reader.states("good morning", LAYERS, prefix="You are a pirate.").values
    assert np.abs(other - own).max() > 0.1


@pytest.mark.parametrize("text", ["", "  \n ", "\udcff", "a", "🙂" * 500, "word " * 3000])
def test_awkward_texts(reader: Reader, text: str) -> None:
    for twice in (False, True):
        got = reader.states(text, LAYERS, twice=twice)
        assert got.values.shape[1] == len(got.spans) <= MAX_TOKENS
        assert bool(len(got.spans)) == bool(text.strip())
        assert np.isfinite(got.values).all()


@pytest.mark.parametrize("kv", ["static4", "adaptive"])
def test_quantized_caches_change_little(reader: Reader, model: Path, kv: str) -> None:
    text = "remind me to water the plants in the living room tomorrow at nine"
    exact = reader.states(text, LAYERS, twice=True).values.mean(axis=1)
    quantized = Reader.load(model, PREFIX, threads=1, kv=kv)
    try:
        first = quantized.states(text, LAYERS, twice=True).values
        assert np.array_equal(quantized.states(text, LAYERS, twice=True).values, first)
    finally:
        quantized.close()
    mean = first.mean(axis=1)
    norms = np.linalg.norm(mean, axis=1) * np.linalg.norm(exact, axis=1)
    assert ((mean * exact).sum(axis=1) / norms > 0.99).all()


def test_a_head_understands_words_it_has_not_seen(reader: Reader, tmp_path: Path) -> None:
    asked = (
        "what is the weather in",
        "will it rain in",
        "weather",
        "tell me the forecast for",
        "how cold does it get in",
    )
    rows = [
        Example(f"{ask} {place}", "weather", (Mark(len(ask) + 1, len(ask) + 1 + len(place), "c"),))
        for ask in asked
        for place in ("london", "paris", "oslo", "new york", "rome")
    ]
    rows += [
        Example(f"{ask} {who}", "music")
        for ask in ("play a song by", "put on", "i want to hear")
        for who in ("abba", "queen", "sting")
    ]
    talk = ("who are you", "tell me a story", "i am sad", "why is the sky blue", "do you dream")
    rows += [Example(text, OUT_OF_SCOPE) for text in talk]
    head = train("tiny", rows, reader, Setup(PREFIX, layers=(6, 12), tag_layers=(12,))).head
    head.save(tmp_path / "tiny.head")
    assert Head.load(tmp_path / "tiny.head").labels == ["music", "weather", OUT_OF_SCOPE]
    heads = Heads(tmp_path / "tiny.head", reader, min_score=0.01)
    heads.load()
    heads.warm_up()
    intent = heads.understand("Is it going to snow in Berlin?")
    assert intent is not None
    assert (intent.name, intent.slots) == ("weather", {"c": "Berlin"})
    intent = heads.understand("could you play the beatles")
    assert intent is not None
    assert intent.name == "music"
