"""The shipped file, written as a Hugging Face model with its first layers, comes out again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kvquant import Engine, reference
from kvquant.convert import convert
from kvquant.gguf import ModelFile
from tests.kvquant.hf_model import LAYER, HfModel, f32, halves_apart

LAYERS = 3
"""Of 30; the embedding is most of the work."""


@pytest.fixture(scope="module")
def original(model_path: Path) -> ModelFile:
    return ModelFile.open(model_path)


@pytest.fixture(scope="module")
def again(original: ModelFile, tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    folder = tmp_path_factory.mktemp("real")
    export(original, LAYERS).write(folder)
    return ModelFile.open(convert(folder, folder / "again.gguf").path)


def export(file: ModelFile, layers: int) -> HfModel:
    had = file.metadata
    model = HfModel()
    model.config |= {
        "hidden_size": had["llama.embedding_length"],
        "intermediate_size": had["llama.feed_forward_length"],
        "num_hidden_layers": layers,
        "num_attention_heads": had["llama.attention.head_count"],
        "num_key_value_heads": had["llama.attention.head_count_kv"],
        "max_position_embeddings": had["llama.context_length"],
        "rope_theta": had["llama.rope.freq_base"],
        "vocab_size": had["llama.vocab_size"],
    }
    tokens = had["tokenizer.ggml.tokens"]
    bpe = {
        "vocab": {t: i for i, t in enumerate(tokens)},
        "merges": had["tokenizer.ggml.merges"],
    }
    model.tokenizer["model"] |= bpe
    model.tokenizer["added_tokens"] = [
        {"id": int(i), "content": tokens[i], "special": True}
        for i in np.flatnonzero(had["tokenizer.ggml.token_type"] == 3)
    ]
    model.settings |= {
        "unk_token": "<|endoftext|>",
        "pad_token": "<|im_end|>",
        "chat_template": had["tokenizer.chat_template"],
    }
    model.tensors = {
        "model.embed_tokens.weight": f32(file.read("token_embd.weight")),
        "model.norm.weight": f32(file.read("output_norm.weight")),
    }
    for i in range(layers):
        for ours, theirs in LAYER.items():
            weight = file.read(f"blk.{i}.{ours}.weight")
            if ours in ("attn_q", "attn_k"):
                weight = halves_apart(weight, 64)
            model.tensors[f"model.layers.{i}.{theirs}.weight"] = f32(weight)
    return model


def test_metadata(original: ModelFile, again: ModelFile) -> None:
    ours, theirs = again.metadata, original.metadata
    assert ours.pop("llama.block_count") == LAYERS
    assert set(ours) - set(theirs) == {
        "tokenizer.ggml.add_eos_token",
        "tokenizer.ggml.eot_token_id",
    }
    for key in set(ours) & set(theirs) - {"general.name"}:
        assert np.array_equal(ours[key], theirs[key]), key


def raw(file: ModelFile, name: str) -> bytes:
    info = file.tensors[name]
    with file.path.open("rb") as stream:
        stream.seek(info.offset)
        return stream.read(info.nbytes)


def test_weights(original: ModelFile, again: ModelFile) -> None:
    """Scales and codes are found again: the bytes of llama.cpp's own quantization."""
    for name, info in again.tensors.items():
        assert info.format == original.tensors[name].format
        assert raw(again, name) == raw(original, name), name


def test_it_runs(again: ModelFile) -> None:
    with Engine.load(again.path, n_ctx=64) as engine:
        ids = engine.tokenizer.encode("The capital of France is")
        assert engine.tokenizer.decode(ids) == "The capital of France is"
        session = engine.session()
        assert len(list(session.generate(ids, max_new_tokens=4))) == 4
    ours = reference.load(str(again.path), threads=1, kv="fp32")
    assert np.isfinite(ours.cache(16).forward(np.array(ids, np.int32), 0, 1)).all()
