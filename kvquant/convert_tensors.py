"""What becomes of each tensor of a Hugging Face checkpoint in a GGUF file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import ModelFileError, SettingError
from kvquant.gguf_writer import TensorPlan
from kvquant.hf_config import ModelShape
from kvquant.safetensors import FLOATS, StoredTensor, as_float32
from kvquant.weight_encoders import ENCODERS, LARGEST
from kvquant.weight_formats import FORMATS

DEFAULT_TYPE = "q4_1+q8"
WEIGHT_TYPES: dict[str, tuple[str, str, int]] = {
    "f32": ("F32", "F32", 0),
    "f16": ("F16", "F16", 1),
    "bf16": ("BF16", "BF16", 32),
    "q8_0": ("Q8_0", "Q8_0", 7),
    "q4_0": ("Q4_0", "Q4_0", 2),
    "q4_1": ("Q4_1", "Q4_1", 3),
    "q4_0+q8": ("Q4_0", "Q8_0", 2),
    "q4_1+q8": ("Q4_1", "Q8_0", 3),
}
"""Name to the format of the layers, the format of embedding and LM head, and GGUF's number for
the whole. Norms are F32 always."""

_PART = 1 << 20
"""Weights that are computed at once: a few arrays of 4 MB."""

_BLOCKS = {format_.name: format_.block for format_ in FORMATS.values()}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_OTHER_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor: where it comes from, what it becomes. heads: of head_dim rows each, whose
    rows change their order; 0 for none."""

    source: StoredTensor
    plan: TensorPlan
    heads: int

    @property
    def weights(self) -> int:
        return math.prod(self.plan.shape)


def plan_tensors(stored: Mapping[str, StoredTensor], shape: ModelShape, weights: str) -> list[Step]:
    """What becomes of each tensor. Raises ModelFileError when any is missing, unknown or wrong."""
    wanted = shape.tensors()
    heads = {"attn_q": shape.n_head, "attn_k": shape.n_kv_head}
    layers, ends, _ = WEIGHT_TYPES[weights]
    steps: list[Step] = []
    for name, size in wanted.items():
        source = stored.get(name)
        if source is None:
            raise _wrong(f"lacks the tensor {name}")
        _check_tensor(source, size)
        target = _target_name(name)
        format_ = "F32" if len(size) == 1 else layers if target.startswith("blk.") else ends
        if size[-1] % _BLOCKS[format_]:
            raise SettingError(
                "convert.type",
                f"{weights} needs rows of a multiple of {_BLOCKS[format_]} weights, and those of "
                f"{name} have {size[-1]}.",
                "Use f16, bf16 or f32.",
            )
        part = target.split(".")[-2]
        steps.append(Step(source, TensorPlan(target, size, format_), heads.get(part, 0)))
    for name in sorted(stored.keys() - wanted.keys()):
        # Tables of the rotation, which old versions of transformers stored too.
        if name == "lm_head.weight" or name.endswith(".rotary_emb.inv_freq"):
            continue
        raise _wrong(f"has the tensor {name[:100]!r}, which is not known")
    if shape.tied and "lm_head.weight" in stored:
        _check_tied(stored["model.embed_tokens.weight"], stored["lm_head.weight"])
    return steps


def _target_name(name: str) -> str:
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    _, _, layer, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{layer}.{_LAYER_NAMES[part]}.weight"


def _check_tensor(source: StoredTensor, shape: tuple[int, ...]) -> None:
    if source.shape != shape:
        raise _wrong(
            f"has {source.name} of the shape {list(source.shape)}, and config.json asks for "
            f"{list(shape)}"
        )
    if source.dtype not in FLOATS:
        raise _wrong(
            f"has {source.name} of the dtype {source.dtype}; known are {', '.join(FLOATS)}"
        )


def _check_tied(embedding: StoredTensor, head: StoredTensor) -> None:
    """Some checkpoints have the embedding twice; then it is written once."""
    _check_tensor(head, embedding.shape)
    if not np.array_equal(as_float32(embedding.read()), as_float32(head.read())):
        raise _wrong(
            "has an lm_head.weight of its own, and config.json says tie_word_embeddings true"
        )


def encode(step: Step, head_dim: int) -> Iterator[NDArray[np.uint8]]:
    """The raw blocks of a tensor, some rows at a time."""
    stored = step.source.read()
    rows = stored.reshape(-1, stored.shape[-1])
    if step.heads:
        rows = neighbours(rows, head_dim)
    block = _BLOCKS[step.plan.format]
    at_once = max(1, _PART // rows.shape[1])
    for at in range(0, len(rows), at_once):
        numbers = as_float32(rows[at : at + at_once])
        if not np.isfinite(numbers).all():
            raise _wrong(f"has NaN or infinity in {step.source.name}")
        if np.abs(numbers).max() > LARGEST[step.plan.format]:
            raise SettingError(
                "convert.type",
                f"{step.source.name} has weights too large for {step.plan.format}.",
                "Use bf16 or f32.",
            )
        yield ENCODERS[step.plan.format](numbers.reshape(-1, block))


def neighbours(rows: NDArray[Any], head_dim: int) -> NDArray[Any]:
    """(heads * head_dim, in): the two channels that the rotation turns together, half a head
    apart in Hugging Face's files, as neighbours."""
    halves = rows.reshape(-1, 2, head_dim // 2, rows.shape[1])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def _wrong(message: str) -> ModelFileError:
    return ModelFileError("model.unsupported", f"The model {message}.")
