"""transformers' llama in float32 with the weights of a GGUF file, dequantized by us."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

_NAMES = {
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


class TransformersModel:
    """torch, transformers: the imported modules, so that a test may skip without them."""

    def __init__(self, file: ModelFile, torch: Any, transformers: Any) -> None:
        self._torch = torch
        p = Hyperparams.from_file(file)
        config = transformers.LlamaConfig(
            vocab_size=p.n_vocab,
            hidden_size=p.n_embd,
            intermediate_size=p.n_ff,
            num_hidden_layers=p.n_layer,
            num_attention_heads=p.n_head,
            num_key_value_heads=p.n_kv_head,
            max_position_embeddings=p.n_ctx_train,
            rms_norm_eps=p.norm_eps,
            rope_parameters={"rope_type": "default", "rope_theta": p.rope_base},
            tie_word_embeddings=True,
        )
        with torch.device("meta"):
            self._model = transformers.LlamaForCausalLM(config).eval()
        weights = {
            "model.embed_tokens.weight": file.read("token_embd.weight"),
            "model.norm.weight": file.read("output_norm.weight"),
        }
        for i in range(p.n_layer):
            for ours, theirs in _NAMES.items():
                w = file.read(f"blk.{i}.{ours}.weight")
                if ours in ("attn_q", "attn_k"):
                    w = _halves_apart(w, p.head_dim)
                weights[f"model.layers.{i}.{theirs}.weight"] = w
        state = {name: torch.from_numpy(w) for name, w in weights.items()}
        missing, unexpected = self._model.load_state_dict(state, strict=False, assign=True)
        assert set(missing) <= {"lm_head.weight"}
        assert not unexpected
        self._model.tie_weights()
        # Made on no device, so its table of frequencies is still to be computed.
        self._model.model.rotary_emb = type(self._model.model.rotary_emb)(config=config)

    def logits(self, tokens: list[int], rows: int = 0) -> NDArray[np.float32]:
        """(rows, n_vocab) of the last ``rows`` tokens; of all of them for 0."""
        with self._torch.no_grad():
            answer = self._model(self._torch.tensor([tokens]), logits_to_keep=rows)
        out: NDArray[np.float32] = answer.logits[0].numpy()
        return out


def _halves_apart(weight: NDArray[np.float32], head_dim: int) -> NDArray[np.float32]:
    """From pairs of neighbours (GGUF) to pairs half a head apart (Hugging Face)."""
    pairs = weight.reshape(-1, head_dim // 2, 2, weight.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(weight.shape))
