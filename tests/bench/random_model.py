"""A model of another shape with random weights, for figures of memory and speed only.

    python tests/bench/random_model.py --like MODEL.gguf --out FILE.gguf [--shape 1.7B]

Tokens are taken from the model it is to be like. What such a model says means nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from kvquant.gguf import ModelFile
from kvquant.gguf_writer import TensorPlan, Value, write_head, write_tensor
from kvquant.weight_encoders import ENCODERS

SHAPES = {
    # layers, hidden, query heads, KV heads, feed-forward; as SmolLM2 has them
    "360M": (32, 960, 15, 5, 2560),
    "1.7B": (24, 2048, 32, 32, 8192),
}
ROWS = 1024
"""Rows of weights that are made at a time."""


def metadata(like: ModelFile, shape: str) -> dict[str, Value]:
    layers, hidden, heads, kv_heads, feed_forward = SHAPES[shape]
    changed: dict[str, Any] = {
        "general.name": f"random {shape}",
        "llama.block_count": layers,
        "llama.embedding_length": hidden,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": kv_heads,
        "llama.feed_forward_length": feed_forward,
        "llama.rope.dimension_count": hidden // heads,
    }
    return {**like.metadata, **changed}


def plans(shape: str, vocabulary: int) -> list[TensorPlan]:
    layers, hidden, heads, kv_heads, feed_forward = SHAPES[shape]
    kv = hidden // heads * kv_heads
    found = [
        TensorPlan("token_embd.weight", (vocabulary, hidden), "Q8_0"),
        TensorPlan("output_norm.weight", (hidden,), "F32"),
    ]
    for layer in range(layers):
        for name, rows, columns in (
            ("attn_q", hidden, hidden),
            ("attn_k", kv, hidden),
            ("attn_v", kv, hidden),
            ("attn_output", hidden, hidden),
            ("ffn_gate", feed_forward, hidden),
            ("ffn_up", feed_forward, hidden),
            ("ffn_down", hidden, feed_forward),
        ):
            found.append(TensorPlan(f"blk.{layer}.{name}.weight", (rows, columns), "Q4_1"))
        for name in ("attn_norm", "ffn_norm"):
            found.append(TensorPlan(f"blk.{layer}.{name}.weight", (hidden,), "F32"))
    return found


def weights(plan: TensorPlan, random: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    if len(plan.shape) == 1:
        yield ENCODERS[plan.format](np.ones((1, plan.shape[0]), np.float32))
        return
    rows, columns = plan.shape
    for start in range(0, rows, ROWS):
        part = random.standard_normal((min(ROWS, rows - start), columns), np.float32)
        part *= np.float32(columns**-0.5)
        yield ENCODERS[plan.format](part.reshape(-1, 32))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--like", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shape", choices=tuple(SHAPES), default="1.7B")
    options = parser.parse_args()
    like = ModelFile.open(options.like)
    tensors = plans(options.shape, len(like.metadata["tokenizer.ggml.tokens"]))
    random = np.random.default_rng(0)
    with options.out.open("wb") as file:
        write_head(file, metadata(like, options.shape), tensors)
        for plan in tensors:
            write_tensor(file, plan, weights(plan, random))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
