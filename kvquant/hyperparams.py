"""The shape of a llama-architecture model, taken from its file and checked against its tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvquant.errors import ModelFileError

if TYPE_CHECKING:
    from kvquant.gguf import ModelFile

MAX_LAYERS = 512
MAX_WIDTH = 1 << 17
MAX_CONTEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Hyperparams:
    """head_dim * n_head = n_embd; n_head is a multiple of n_kv_head; tied: the LM head is the
    embedding."""

    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    head_dim: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int
    rope_base: float
    norm_eps: float
    tied: bool

    @classmethod
    def from_file(cls, file: ModelFile) -> Hyperparams:
        """Raises ModelFileError when the model is of a kind that this engine does not compute."""
        return _Checker(file).check()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape (out, in) of every tensor that the model has."""
        d, kv = self.n_embd, self.n_kv_head * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (self.n_vocab, d),
            "output_norm.weight": (d,),
        }
        if not self.tied:
            shapes["output.weight"] = (self.n_vocab, d)
        layer: dict[str, tuple[int, ...]] = {
            "attn_norm": (d,),
            "attn_q": (d, d),
            "attn_k": (kv, d),
            "attn_v": (kv, d),
            "attn_output": (d, d),
            "ffn_norm": (d,),
            "ffn_gate": (self.n_ff, d),
            "ffn_up": (self.n_ff, d),
            "ffn_down": (d, self.n_ff),
        }
        for i in range(self.n_layer):
            shapes |= {f"blk.{i}.{name}.weight": shape for name, shape in layer.items()}
        return shapes


class _Checker:
    def __init__(self, file: ModelFile) -> None:
        self._file = file

    def check(self) -> Hyperparams:
        architecture = self._file.metadata.get("general.architecture")
        if architecture != "llama":
            raise self._error(f"has the architecture {architecture!r}; only llama is known")
        n_embd = self._whole("embedding_length", MAX_WIDTH)
        n_head = self._whole("attention.head_count", MAX_WIDTH)
        n_kv_head = self._whole("attention.head_count_kv", MAX_WIDTH, default=n_head)
        if n_embd % n_head or n_head % n_kv_head:
            raise self._error(
                f"has {n_embd} channels, {n_head} heads and {n_kv_head} KV heads, "
                "which do not divide"
            )
        head_dim = n_embd // n_head
        for key in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
            if self._whole(key, MAX_WIDTH, default=head_dim) != head_dim:
                raise self._error(f"has another {key} than its heads of {head_dim}")
        if head_dim % 2:
            raise self._error(f"has heads of the odd size {head_dim}")
        self._refuse_variants()
        params = Hyperparams(
            n_layer=self._whole("block_count", MAX_LAYERS),
            n_embd=n_embd,
            n_head=n_head,
            n_kv_head=n_kv_head,
            head_dim=head_dim,
            n_ff=self._whole("feed_forward_length", MAX_WIDTH),
            n_vocab=self._n_vocab(),
            n_ctx_train=self._whole("context_length", MAX_CONTEXT),
            rope_base=self._real("rope.freq_base", 1.0, 1e9, default=10_000.0),
            norm_eps=self._real("attention.layer_norm_rms_epsilon", 1e-12, 0.1),
            tied="output.weight" not in self._file.tensors,
        )
        self._check_tensors(params)
        return params

    def _refuse_variants(self) -> None:
        """What would change the arithmetic, and is not computed here."""
        scaling = self._file.metadata.get("llama.rope.scaling.type", "none")
        if scaling != "none" or self._file.metadata.get("llama.rope.scale_linear", 1.0) != 1.0:
            raise self._error("stretches its positions (rope scaling), which is not supported")
        if self._file.metadata.get("llama.expert_count", 0) != 0:
            raise self._error("is a mixture of experts, which is not supported")

    def _n_vocab(self) -> int:
        embedding = self._file.tensors.get("token_embd.weight")
        if embedding is None or len(embedding.shape) != 2:
            raise self._error("has no token embedding")
        n_vocab = embedding.shape[0]
        if self._whole("vocab_size", 2**31, default=n_vocab) != n_vocab:
            raise self._error(f"has another vocab_size than the {n_vocab} rows of its embedding")
        tokens = self._file.metadata.get("tokenizer.ggml.tokens", [])
        if len(tokens) != n_vocab:
            raise self._error(f"has {len(tokens)} tokens for {n_vocab} rows of its embedding")
        return n_vocab

    def _check_tensors(self, params: Hyperparams) -> None:
        wanted = params.shapes()
        for name, shape in wanted.items():
            info = self._file.tensors.get(name)
            if info is None:
                raise self._error(f"lacks the tensor {name}")
            if info.shape != shape:
                raise self._error(f"has {name} of the shape {info.shape} instead of {shape}")
        extra = self._file.tensors.keys() - wanted.keys()
        if extra:
            raise self._error(f"has the tensor {min(extra)}, which this engine does not know")

    def _whole(self, key: str, high: int, default: int | None = None) -> int:
        value = self._file.metadata.get(f"llama.{key}", default)
        if type(value) is not int or not 1 <= value <= high:
            raise self._error(f"has llama.{key} {_shown(value)}, not a whole number 1 … {high}")
        return value

    def _real(self, key: str, low: float, high: float, default: float | None = None) -> float:
        value = self._file.metadata.get(f"llama.{key}", default)
        if type(value) is not float or not math.isfinite(value) or not low <= value <= high:
            raise self._error(f"has llama.{key} {_shown(value)}, not within {low:g} … {high:g}")
        return value

    def _error(self, message: str) -> ModelFileError:
        return ModelFileError("model.unsupported", f"{self._file.path.name} {message}.")


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]
