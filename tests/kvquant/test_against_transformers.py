"""The native engine against transformers in float32, on the same dequantized weights."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kvquant import Engine
from kvquant.gguf import ModelFile
from tests.kvquant.transformers_model import TransformersModel

_native = pytest.importorskip("kvquant._native", reason="the native engine is not built")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
NEW_TOKENS = 64
WINDOW = 512
WINDOWS = 10
STEPS = 200
MEAN_LIMIT = 0.002

# Stories, facts, code, lists, dialogue, other languages and broken text.
PROMPTS = [
    "The lighthouse keeper climbed the stairs one last time and",
    "A bicycle pump works by",
    "def count_vowels(text):\n    ",
    "Ingredients for a simple tomato soup:\n1.",
    '"Where have you been?" asked her brother. "I',
    "The chemical symbol of iron is",
    "Le petit chien noir",
    "Es war einmal ein kleiner",
    "SELECT name, age FROM people WHERE",
    "Dear Ms. Alvarez,\n\nThank you for",
    "If it takes three painters six hours to paint a wall,",
    "The planets in order of their distance from the sun are",
    "Q: Why is the sky blue?\nA:",
    "#include <stdio.h>\n\nint main(void) {\n",
    "In 1969, two astronauts",
    "Turn the oven to 180 degrees and",
    "the the the the the",
    "Honey never spoils because",
    '{"city": "Lisbon", "country":',
    "Rivers run downhill, and so",
]


@pytest.fixture(scope="module")
def engine(model_path: Path) -> Iterator[Engine]:
    with Engine.load(model_path, backend="native", n_ctx=WINDOW, threads=2) as engine:
        yield engine


@pytest.fixture(scope="module")
def theirs(model_path: Path) -> Iterator[TransformersModel]:
    torch = pytest.importorskip("torch", reason="compares with the extra train")
    transformers = pytest.importorskip("transformers", reason="compares with the extra train")
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield TransformersModel(ModelFile.open(model_path), torch, transformers)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def text() -> str:
    """The public text where it is, else what the project itself says."""
    data = Path(os.environ.get("ASSISTANT_DATA", ROOT.parent / "shared" / "data"))
    file = data / "wikitext2" / "valid.txt.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as f:
            return f.read(60_000)
    own = [ROOT / "LICENSE", ROOT / "README.md", *sorted((ROOT / "kvquant").glob("*.py"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in own)[:60_000]


def divergence(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> NDArray[np.float64]:
    """KL(wanted || got) of each row's next-token distribution, in nats."""

    def log_softmax(x: NDArray[np.float32]) -> NDArray[np.float64]:
        shifted = x.astype(np.float64) - x.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    out = np.empty(len(wanted))
    for at in range(0, len(wanted), 64):
        rows = slice(at, at + 64)
        a, b = log_softmax(wanted[rows]), log_softmax(got[rows])
        out[rows] = (np.exp(a) * (a - b)).sum(-1)
    return out


def test_greedy_texts_are_theirs(engine: Engine, theirs: TransformersModel) -> None:
    """One pass of theirs over prompt and answer: each new token must be the likeliest one there."""
    different = []
    for prompt in PROMPTS:
        tokens = engine.tokenizer.encode(prompt)
        new = [t.id for t in engine.session().generate(tokens, max_new_tokens=NEW_TOKENS)]
        assert new, prompt
        if theirs.logits(tokens + new[:-1], len(new)).argmax(-1).tolist() != new:
            different.append(prompt)
    assert len(different) <= 2, different


def test_divergence_of_prompts(
    engine: Engine, model_path: Path, theirs: TransformersModel, text: str
) -> None:
    """Every code path of a prompt that this machine has: the best vectors and the matrix unit."""
    tokens = engine.tokenizer.encode(text)
    assert len(tokens) >= WINDOW * WINDOWS >= 5000
    cache = _native.load(str(model_path), threads=2).cache(WINDOW)
    found = []
    for at in range(0, WINDOW * WINDOWS, WINDOW):
        window = tokens[at : at + WINDOW]
        got = cache.forward(np.array(window, np.int32), 0, WINDOW)
        found.append(divergence(theirs.logits(window), got))
    assert np.concatenate(found).mean() <= MEAN_LIMIT


@pytest.mark.parametrize("isa", _native.available_isas()[1:])
def test_divergence_of_steps(
    engine: Engine, model_path: Path, theirs: TransformersModel, text: str, isa: str
) -> None:
    """One token at a time takes other kernels than a prompt does."""
    window = engine.tokenizer.encode(text)[: WINDOW // 2 + STEPS]
    cache = _native.load(str(model_path), threads=2, isa=isa).cache(len(window))
    first = len(window) - STEPS
    cache.forward(np.array(window[:first], np.int32), 0, 0)
    got = [cache.forward(np.array([window[i]], np.int32), i, 1) for i in range(first, len(window))]
    found = divergence(theirs.logits(window, STEPS), np.concatenate(got))
    assert found.mean() <= MEAN_LIMIT
