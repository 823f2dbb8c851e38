"""What changes the arithmetic is refused by the name of its field."""

from __future__ import annotations

from typing import Any

import pytest

from kvquant.errors import ModelFileError
from kvquant.hf_config import read_shape
from tests.kvquant.hf_model import HfModel

GONE = object()


def config(**changes: Any) -> dict[str, Any]:
    """The small model's, with changes; GONE takes a field out."""
    return {k: v for k, v in {**HfModel().config, **changes}.items() if v is not GONE}


def test_shape() -> None:
    shape = read_shape(config())
    assert (shape.n_layer, shape.n_embd, shape.n_head, shape.n_kv_head) == (2, 64, 4, 2)
    assert (shape.head_dim, shape.n_ff, shape.n_ctx_train) == (16, 96, 512)
    assert (shape.rope_base, shape.norm_eps, shape.tied) == (10_000.0, 1e-5, True)
    assert len(shape.tensors()) == 2 + 2 * 9
    untied = read_shape(config(tie_word_embeddings=GONE))
    assert untied.tensors()["lm_head.weight"] == (untied.n_vocab, 64)


@pytest.mark.parametrize(
    ("changes", "base"),
    [
        ({"rope_theta": 100000}, 1e5),
        ({"rope_theta": GONE}, 1e4),
        ({"rope_theta": 5e5, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}}, 5e5),
        ({"rope_theta": GONE, "rope_parameters": {"rope_theta": 7, "rope_type": "default"}}, 7.0),
        ({"rope_scaling": {"type": "default"}}, 1e4),
    ],
)
def test_base_of_the_rotation(changes: dict[str, Any], base: float) -> None:
    assert read_shape(config(**changes)).rope_base == base


def test_fields_that_may_be_absent() -> None:
    shape = read_shape(config(num_key_value_heads=GONE, hidden_act=GONE, architectures=GONE))
    assert shape.n_kv_head == shape.n_head == 4
    assert read_shape(config(head_dim=16, attention_bias=None, pretraining_tp=1)).head_dim == 16


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mistral"}, "model_type 'mistral'; only llama"),
        ({"model_type": GONE}, "model_type missing"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "architectures"),
        ({"architectures": "LlamaForCausalLM"}, "architectures"),
        ({"auto_map": {"AutoModel": "x.Y"}}, "auto_map: a model with code of its own"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ({"quantization_config": {}}, "quantization_config"),
        ({"compression_config": {"format": "int8"}}, "compression_config"),
        ({"attention_bias": True}, "attention_bias true"),
        ({"mlp_bias": True}, "mlp_bias true"),
        ({"rope_interleaved": True}, "rope_interleaved true"),
        ({"attention_bias": "no"}, "attention_bias 'no', neither true nor false"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings 1, neither"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"hidden_act": None}, "hidden_act missing"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling of the type 'linear'"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling of the type 'llama3'"),
        ({"rope_scaling": {"factor": 2.0}}, "rope_scaling of the type missing"),
        ({"rope_scaling": {"type": "default", "factor": 2.0}}, "'factor' in rope_scaling"),
        ({"rope_scaling": "linear"}, "rope_scaling 'linear', which is no object"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters of the type 'yarn'"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 2e4}}, "two values of"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5"),
        ({"rope_theta": 0.5}, "rope_theta 0.5, not within"),
        ({"rope_theta": "1e4"}, "rope_theta '1e4'"),
        ({"rope_theta": True}, "rope_theta True"),
        ({"rope_theta": 10**400}, "rope_theta 1000"),
        ({"rms_norm_eps": GONE}, "rms_norm_eps missing"),
        ({"rms_norm_eps": 0}, "rms_norm_eps 0, not within"),
        ({"head_dim": 32}, "head_dim 32"),
        ({"hidden_size": 66}, "hidden_size 66, no multiple of num_attention_heads 4"),
        ({"num_attention_heads": 64}, "odd size 1"),
        ({"num_key_value_heads": 3}, "no multiple of num_key_value_heads 3"),
        ({"num_key_value_heads": 8}, "no multiple of num_key_value_heads 8"),
        *(
            ({field: value}, f"{field} {value if value is not GONE else 'missing'}")
            for field in ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size",
                          "intermediate_size", "max_position_embeddings")
            for value in (GONE, 0, -1, 2**31, 2**64, 2.0, True)
        ),
    ],
)  # fmt: skip
def test_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        read_shape(config(**changes))
    assert words in caught.value.message
    assert caught.value.message.startswith("config.json ")
    assert len(caught.value.message) < 200
