"""Writes small GGUF files for tests: any metadata and tensors, and a tiny random model."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool>"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ t", "Ġt he", "ð Ł", "ðŁ Ļ", "ĠĠ Ġ", "Ġ Ġ", "1 2"]
F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def typed(value: Any) -> bytes:
    """A metadata value with its type in front."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value) if 0 <= value < 2**32 else struct.pack("<Iq", 11, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, list) and value and isinstance(value[0], int):
        raw = np.array(value, "<i4").tobytes()
        return struct.pack("<IIQ", 9, 5, len(value)) + raw
    if isinstance(value, list):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    raise TypeError(value)


def gguf_bytes(
    metadata: Mapping[str, Any],
    tensors: Mapping[str, tuple[tuple[int, ...], int, bytes]],
    *,
    alignment: int = 32,
) -> bytes:
    """tensors: name to (shape as in numpy, type number, raw bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += text(key) + typed(value)
    data = b""
    for name, (shape, kind, raw) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % alignment)
    return head + bytes(-len(head) % alignment) + data


def byte_chars() -> list[str]:
    """The 256 characters of a byte-level vocabulary, in the order of the bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(spare)) for b in range(256)]


def vocabulary() -> list[str]:
    return CONTROL + byte_chars() + [merge.replace(" ", "") for merge in MERGES]


def tiny_metadata(**changes: Any) -> dict[str, Any]:
    """Of a model with 2 layers, 4 heads and 2 KV heads of 16; ``None`` takes a key out."""
    tokens = vocabulary()
    metadata: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": 2,
        "llama.context_length": 512,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(CONTROL) + [1] * (len(tokens) - len(CONTROL)),
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    for key, value in changes.items():
        key = key.replace("__", ".")
        if value is None:
            metadata.pop(key)
        else:
            metadata[key] = value
    return metadata


def tiny_tensors(
    seed: int = 0, d: int = 64, kv: int = 32
) -> dict[str, tuple[tuple[int, ...], int, bytes]]:
    """d: channels; kv: channels of all KV heads."""
    rng = np.random.default_rng(seed)
    ff, vocab = 96, len(vocabulary())
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (vocab, d), "output_norm": (d,)}
    for i in range(2):
        shapes |= {
            f"blk.{i}.attn_norm": (d,),
            f"blk.{i}.attn_q": (d, d),
            f"blk.{i}.attn_k": (kv, d),
            f"blk.{i}.attn_v": (kv, d),
            f"blk.{i}.attn_output": (d, d),
            f"blk.{i}.ffn_norm": (d,),
            f"blk.{i}.ffn_gate": (ff, d),
            f"blk.{i}.ffn_up": (ff, d),
            f"blk.{i}.ffn_down": (d, ff),
        }
    tensors: dict[str, tuple[tuple[int, ...], int, bytes]] = {}
    for name, shape in shapes.items():
        if len(shape) == 1:
            weights = rng.uniform(0.5, 1.5, shape)
        else:
            weights = rng.normal(0, 2.0 / np.sqrt(shape[1]), shape)
        tensors[f"{name}.weight"] = (shape, F32, weights.astype("<f4").tobytes())
    return tensors


def write_tiny(path: Path, seed: int = 0, **changes: Any) -> Path:
    path.write_bytes(gguf_bytes(tiny_metadata(**changes), tiny_tensors(seed)))
    return path


def write_wide(path: Path, seed: int = 0) -> Path:
    """A model with heads of 32, which quantized caches can have, and weights tame enough that small
    errors stay small."""
    tensors = tiny_tensors(seed, d=128, kv=64)
    for name, (shape, kind, raw) in tensors.items():
        if len(shape) == 2:
            half = np.frombuffer(raw, "<f4") * np.float32(0.5)
            tensors[name] = (shape, kind, half.tobytes())
    path.write_bytes(gguf_bytes(tiny_metadata(llama__embedding_length=128), tensors))
    return path
