"""Shapes that this engine cannot compute are refused before anything is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvquant.errors import ModelFileError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from tests.kvquant.tiny_model import F32, gguf_bytes, tiny_metadata, tiny_tensors, write_tiny


def test_of_the_tiny_model(tiny_path: Path) -> None:
    params = Hyperparams.from_file(ModelFile.open(tiny_path))
    assert (params.n_layer, params.n_head, params.n_kv_head, params.head_dim) == (2, 4, 2, 16)
    assert params.tied


WHOLE_KEYS = [
    "llama__block_count",
    "llama__embedding_length",
    "llama__feed_forward_length",
    "llama__attention.head_count",
    "llama__attention.head_count_kv",
]
WRONG = [0, -1, 1, 3, 65, 512, 513, 2**31, 2**62, 1.0, "2", True, [1, 2]]


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key in WHOLE_KEYS for value in WRONG]
    + [("llama__context_length", value) for value in (0, -1, 2**31, 1.0, "2", True)],
)
def test_wrong_whole_numbers(tmp_path: Path, key: str, value: Any) -> None:
    path = write_tiny(tmp_path / "m.gguf", **{key: value})
    with pytest.raises(ModelFileError):
        Hyperparams.from_file(ModelFile.open(path))


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1, "x"])
def test_wrong_norm_epsilon(tmp_path: Path, value: Any) -> None:
    path = write_tiny(tmp_path / "m.gguf", **{"llama__attention.layer_norm_rms_epsilon": value})
    with pytest.raises(ModelFileError, match="layer_norm_rms_epsilon"):
        Hyperparams.from_file(ModelFile.open(path))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"general__architecture": "gpt2"}, "architecture"),
        ({"general__architecture": None}, "architecture"),
        ({"llama__block_count": None}, "missing"),
        ({"llama__rope.scaling.type": "yarn"}, "rope scaling"),
        ({"llama__expert_count": 8}, "mixture of experts"),
        ({"llama__vocab_size": 7}, "vocab_size"),
        ({"llama__attention.key_length": 32}, "key_length"),
        ({"llama__rope.dimension_count": 8}, "dimension_count"),
        ({"tokenizer__ggml.tokens": ["a", "b"]}, "2 tokens"),
        ({"llama__rope.freq_base": -1.0}, "freq_base"),
    ],
)
def test_kinds_that_are_not_known(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    path = write_tiny(tmp_path / "m.gguf", **changes)
    with pytest.raises(ModelFileError, match=word):
        Hyperparams.from_file(ModelFile.open(path))


def test_tensors_must_be_the_known_ones(tmp_path: Path) -> None:
    def error(tensors: dict[str, Any]) -> str:
        path = tmp_path / "m.gguf"
        path.write_bytes(gguf_bytes(tiny_metadata(), tensors))
        with pytest.raises(ModelFileError) as caught:
            Hyperparams.from_file(ModelFile.open(path))
        return caught.value.message

    whole = tiny_tensors()
    assert "lacks the tensor blk.1.ffn_up.weight" in error(
        {n: t for n, t in whole.items() if n != "blk.1.ffn_up.weight"}
    )
    assert "does not know" in error(whole | {"rope_freqs.weight": ((8,), F32, bytes(32))})
    turned = whole["blk.0.ffn_up.weight"]
    assert "of the shape" in error(
        whole | {"blk.0.ffn_up.weight": (turned[0][::-1], F32, turned[2])}
    )
    assert "no token embedding" in error(
        {n: t for n, t in whole.items() if n != "token_embd.weight"}
    )
