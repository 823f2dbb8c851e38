"""The shape of a model from its Hugging Face ``config.json``, and what would change its arithmetic.

What this engine does not compute is refused here by the name of the field, before a weight is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvquant.errors import ModelFileError
from kvquant.hyperparams import MAX_CONTEXT, MAX_LAYERS, MAX_WIDTH

FILE = "config.json"
_MAX_VOCAB = 1 << 22


@dataclass(frozen=True, slots=True)
class ModelShape:
    """head_dim * n_head = n_embd; n_head is a multiple of n_kv_head; tied: the LM head is the
    embedding."""

    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int
    rope_base: float
    norm_eps: float
    tied: bool

    @property
    def head_dim(self) -> int:
        return self.n_embd // self.n_head

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor of the checkpoint; of the LM head only if it is own."""
        d, kv = self.n_embd, self.n_kv_head * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.n_vocab, d)}
        layer: dict[str, tuple[int, ...]] = {
            "input_layernorm": (d,),
            "self_attn.q_proj": (d, d),
            "self_attn.k_proj": (kv, d),
            "self_attn.v_proj": (kv, d),
            "self_attn.o_proj": (d, d),
            "post_attention_layernorm": (d,),
            "mlp.gate_proj": (self.n_ff, d),
            "mlp.up_proj": (self.n_ff, d),
            "mlp.down_proj": (d, self.n_ff),
        }
        for i in range(self.n_layer):
            shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
        shapes["model.norm.weight"] = (d,)
        if not self.tied:
            shapes["lm_head.weight"] = (self.n_vocab, d)
        return shapes


def read_shape(config: Mapping[str, Any]) -> ModelShape:
    """Raises ModelFileError for a model that this engine does not compute."""
    _refuse_other_kinds(config)
    n_embd = _whole(config, "hidden_size", MAX_WIDTH)
    n_head = _whole(config, "num_attention_heads", MAX_WIDTH)
    n_kv_head = _whole(config, "num_key_value_heads", MAX_WIDTH, default=n_head)
    if n_embd % n_head:
        raise _wrong(f"has hidden_size {n_embd}, no multiple of num_attention_heads {n_head}")
    if n_head % n_kv_head:
        raise _wrong(
            f"has num_attention_heads {n_head}, no multiple of num_key_value_heads {n_kv_head}"
        )
    head_dim = n_embd // n_head
    given = _whole(config, "head_dim", MAX_WIDTH, default=head_dim)
    if given != head_dim:
        raise _wrong(f"has head_dim {given}; only hidden_size / num_attention_heads is supported")
    if head_dim % 2:
        raise _wrong(f"gives heads of the odd size {head_dim} (hidden_size / num_attention_heads)")
    return ModelShape(
        n_layer=_whole(config, "num_hidden_layers", MAX_LAYERS),
        n_embd=n_embd,
        n_head=n_head,
        n_kv_head=n_kv_head,
        n_ff=_whole(config, "intermediate_size", MAX_WIDTH),
        n_vocab=_whole(config, "vocab_size", _MAX_VOCAB),
        n_ctx_train=_whole(config, "max_position_embeddings", MAX_CONTEXT),
        rope_base=_rope_base(config),
        norm_eps=_real("rms_norm_eps", config.get("rms_norm_eps"), 1e-12, 0.1),
        tied=_flag(config, "tie_word_embeddings"),
    )


def _refuse_other_kinds(config: Mapping[str, Any]) -> None:
    kind = config.get("model_type")
    if kind != "llama":
        raise _wrong(f"has model_type {_shown(kind)}; only llama is known")
    architectures = config.get("architectures")
    if architectures not in (None, ["LlamaForCausalLM"]):
        raise _wrong(
            f"has architectures {_shown(architectures)}; only ['LlamaForCausalLM'] is known"
        )
    for field in ("auto_map", "quantization_config", "compression_config"):
        if config.get(field) is not None:
            meaning = "code of its own" if field == "auto_map" else "quantized weights"
            raise _wrong(f"has {field}: a model with {meaning} is not supported")
    for field in ("attention_bias", "mlp_bias", "rope_interleaved", "qk_layer_norms"):
        if _flag(config, field):
            raise _wrong(f"has {field} true, which is not supported")
    activation = config.get("hidden_act", "silu")
    if activation != "silu":
        raise _wrong(f"has hidden_act {_shown(activation)}; only 'silu' is supported")


def _rope_base(config: Mapping[str, Any]) -> float:
    """The base of the rotation, from where old and new versions of transformers keep it."""
    bases = []
    for place in (config, *_rope_objects(config)):
        if place.get("rope_theta") is not None:
            bases.append(_real("rope_theta", place["rope_theta"], 1.0, 1e9))
        factor = place.get("partial_rotary_factor")
        if factor not in (None, 1, 1.0):
            raise _wrong(f"has partial_rotary_factor {_shown(factor)}, which is not supported")
    if len(set(bases)) > 1:
        raise _wrong(f"has two values of rope_theta, {bases[0]:g} and {bases[1]:g}")
    # What transformers takes for a llama model whose file does not say.
    return bases[0] if bases else 10_000.0


def _rope_objects(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for field in ("rope_scaling", "rope_parameters"):
        value = config.get(field)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise _wrong(f"has {field} {_shown(value)}, which is no object")
        kind = value.get("rope_type", value.get("type"))
        if kind != "default":
            raise _wrong(
                f"has {field} of the type {_shown(kind)}: stretched positions are not supported"
            )
        unknown = value.keys() - {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
        if unknown:
            raise _wrong(f"has {min(unknown)[:60]!r} in {field}, which is not known")
        found.append(value)
    return found


def _whole(config: Mapping[str, Any], field: str, high: int, default: int | None = None) -> int:
    value = config.get(field)
    if value is None:
        value = default
    if type(value) is not int or not 1 <= value <= high:
        raise _wrong(f"has {field} {_shown(value)}, not a whole number 1 … {high}")
    return value


def _real(field: str, value: Any, low: float, high: float) -> float:
    if (
        type(value) not in (int, float)
        or not low <= value <= high
        or not math.isfinite(float(value))
    ):
        raise _wrong(f"has {field} {_shown(value)}, not within {low:g} … {high:g}")
    return float(value)


def _flag(config: Mapping[str, Any], field: str) -> bool:
    value = config.get(field)
    if value is not None and type(value) is not bool:
        raise _wrong(f"has {field} {_shown(value)}, neither true nor false")
    return bool(value)


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:60]


def _wrong(message: str) -> ModelFileError:
    return ModelFileError("model.unsupported", f"{FILE} {message}.")
