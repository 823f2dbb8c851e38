"""How close the real model's predictions stay over the adaptive cache for transformers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kvquant import texts
from kvquant.gguf import ModelFile
from kvquant.tokenizer import Tokenizer
from tests.kvquant.transformers_model import TransformersModel

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra train")

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ASSISTANT_DATA", ROOT.parent / "shared" / "data"))
N_TOKENS, FIRST_SCORED, CHUNK = 288, 128, 16

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@dataclass
class Quality:
    """kl: mean divergence of the next-token distribution from a plain cache's; top1: share of
    positions with the same likeliest token."""

    kl: float
    top1: float
    bits: float


@pytest.fixture(scope="module")
def model(model_path: Path) -> Iterator[Any]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield TransformersModel(ModelFile.open(model_path), torch, transformers)._model
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def ids(model_path: Path) -> Any:
    if not texts.has(DATA, "wikitext2"):
        pytest.skip(f"there is no wikitext2 in {DATA}")
    text = texts.wikitext(DATA, "held_out")[20_000:24_000]
    tokenizer = Tokenizer.from_metadata(ModelFile.open(model_path).metadata)
    return torch.tensor([tokenizer.encode(text)[:N_TOKENS]])


def predictions(model: Any, ids: Any, cache: Any, watched: bool = False) -> Any:
    """(scored, n_vocab) log probabilities; chunk by chunk, so that stored keys are attended to."""
    out = []
    with torch.no_grad(), cache.watch(model) if watched else contextlib.nullcontext():
        for start in range(0, N_TOKENS, CHUNK):
            answer = model(ids[:, start : start + CHUNK], cache=cache, use_cache=True)
            if start >= FIRST_SCORED:
                out.append(answer.logits[0].log_softmax(-1))
    return torch.cat(out)


class Judge:
    def __init__(self, model: Any, ids: Any) -> None:
        self._model, self._ids = model, ids
        self._plain = predictions(model, ids, transformers.DynamicCache(config=model.config))
        self._known: dict[str, Quality] = {}

    def __call__(self, trained: bool = False, watched: bool = False, **settings: Any) -> Quality:
        from kvquant import AdaptiveCache

        name = f"{settings} trained={trained} watched={watched}"
        if name not in self._known:
            cache = (
                AdaptiveCache.for_model(self._model, **settings)
                if trained
                else AdaptiveCache(self._model.config, **settings)
            )
            quality = self.of(cache, watched)
            quality.bits = cache.report().body_bits
            self._known[name] = quality
            print(name, quality)
        return self._known[name]

    def of(self, cache: Any, watched: bool = False) -> Quality:
        p, q = self._plain, predictions(self._model, self._ids, cache, watched)
        kl = float((p.exp() * (p - q)).sum(-1).mean())
        return Quality(kl, float((p.argmax(-1) == q.argmax(-1)).float().mean()), 16.0)


@pytest.fixture(scope="module")
def judge(model: Any, ids: Any) -> Judge:
    return Judge(model, ids)


def test_without_a_controller_it_is_as_good_as_one_width_for_all(judge: Judge) -> None:
    static, mine = judge(ladder=(4,), budget_bits=16), judge(budget_bits=4.5)
    assert 4.1 < mine.bits < 4.4
    assert static.kl < 0.008
    assert mine.kl < 1.2 * static.kl
    assert mine.top1 > 0.93
    less = judge(budget_bits=3.5)
    assert 3.1 < less.bits < 3.4
    assert less.kl < 0.025
    assert less.top1 > 0.88


def test_the_shipped_controller_is_better_and_best_with_attention(judge: Judge) -> None:
    table = judge(trained=True, budget_bits=3.5)
    seen = judge(trained=True, watched=True, budget_bits=3.5)
    assert 3.1 < table.bits < 3.45
    assert 3.1 < seen.bits < 3.45
    assert table.kl < 0.75 * judge(budget_bits=3.5).kl
    assert seen.kl < 0.75 * table.kl
    assert seen.kl < 0.007
    assert seen.top1 > 0.93


@pytest.mark.parametrize("backend", ["quanto", "hqq"])
def test_better_than_the_quantized_cache_of_transformers(
    judge: Judge, model: Any, backend: str
) -> None:
    pytest.importorskip(
        {"quanto": "optimum.quanto", "hqq": "hqq"}[backend], reason="compares with its package"
    )
    # Groups of 64 with scale and shift in 16 bits: 4.5 bits, and 128 tokens in full.
    theirs = judge.of(transformers.QuantizedCache(backend, model.config, nbits=4))
    assert judge(budget_bits=4.5).kl < theirs.kl
