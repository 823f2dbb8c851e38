"""Writes small Hugging Face model folders for tests, with numpy only; any part can be changed."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.kvquant.tiny_model import CONTROL, MERGES, vocabulary

Stored = tuple[str, list[int], bytes]
"""dtype, shape, raw bytes."""

LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""GGUF's names of a layer's tensors and Hugging Face's."""


def halves_apart(weight: np.ndarray, head_dim: int) -> np.ndarray:
    """Rows of queries or keys from GGUF's order (pairs are neighbours) to Hugging Face's."""
    pairs = weight.reshape(-1, head_dim // 2, 2, weight.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(weight.shape))


def safetensors_bytes(tensors: Mapping[str, Stored], **metadata: str) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, (dtype, shape, raw) in tensors.items():
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def with_header(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def f32(weights: np.ndarray) -> Stored:
    return "F32", list(weights.shape), weights.astype("<f4").tobytes()


class HfModel:
    """A model of 2 layers, 4 heads and 2 KV heads of 16, as the files say it; change and write.

    A part that is None is not written.
    """

    def __init__(self, seed: int = 0) -> None:
        tokens = vocabulary()
        self.config: dict[str, Any] = {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 512,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000,
            "rope_scaling": None,
            "hidden_act": "silu",
            "attention_bias": False,
            "tie_word_embeddings": True,
            "vocab_size": len(tokens),
            "bos_token_id": 1,
            "eos_token_id": 2,
        }
        self.tokenizer: dict[str, Any] = {
            "version": "1.0",
            "added_tokens": [added(i, text) for i, text in enumerate(CONTROL)],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Digits", "individual_digits": True},
                    {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
                ],
            },
            "post_processor": None,
            "decoder": {"type": "ByteLevel"},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "byte_fallback": False,
                "vocab": {text: i for i, text in enumerate(tokens)},
                "merges": list(MERGES),
            },
        }
        self.settings: dict[str, Any] | None = {
            "bos_token": "<|im_start|>",
            "eos_token": "<|im_end|>",
            "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
        }
        self.generation: dict[str, Any] | None = {"bos_token_id": 1, "eos_token_id": 2}
        self.tensors: dict[str, Stored] = {}
        rng = np.random.default_rng(seed)
        for name, shape in self.shapes().items():
            plain = len(shape) == 1
            weights = rng.uniform(0.5, 1.5, shape) if plain else rng.normal(0, 0.2, shape)
            self.tensors[name] = f32(weights)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        c = self.config
        d, ff = c["hidden_size"], c["intermediate_size"]
        kv = d // c["num_attention_heads"] * c["num_key_value_heads"]
        sizes = [(d,), (d, d), (kv, d), (kv, d), (d, d), (d,), (ff, d), (ff, d), (d, ff)]
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c["vocab_size"], d)}
        for i in range(c["num_hidden_layers"]):
            for name, size in zip(LAYER.values(), sizes, strict=True):
                shapes[f"model.layers.{i}.{name}.weight"] = size
        return shapes | {"model.norm.weight": (d,)}

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        parts = {
            "config.json": self.config,
            "tokenizer.json": self.tokenizer,
            "tokenizer_config.json": self.settings,
            "generation_config.json": self.generation,
        }
        for name, part in parts.items():
            if part is not None:
                (folder / name).write_text(json.dumps(part), encoding="utf-8")
        (folder / "model.safetensors").write_bytes(safetensors_bytes(self.tensors, format="pt"))
        return folder


def added(number: int, text: str, **changes: Any) -> dict[str, Any]:
    """An entry of added_tokens."""
    entry = {"id": number, "content": text, "special": True, "normalized": False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    return {**entry, **flags, **changes}
