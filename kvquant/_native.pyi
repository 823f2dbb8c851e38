"""Types of the compiled engine (native/src/bind*.cpp).

A file, model or argument that cannot be used raises ValueError, a failure while working (or a
cancelled step, or a closed model) RuntimeError, each with one sentence. Ctrl-C during a step raises
KeyboardInterrupt within about 20 ms; the cache is then as before the step.
"""

from array import array
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32] | array[int]

MAX_BATCH: int
"""Caches of one ``step``."""

class Quantization:
    """How quantized caches choose the bits of a token; for ``File.load``.

    The caller has read and checked the arrays; only their sizes are checked again. An array is any
    contiguous buffer of the right item size, or its bytes.
    """

    def __init__(
        self,
        *,
        shape: tuple[int, int, int],
        ladder: Sequence[int],
        window: int,
        sinks: int,
        arrays: Mapping[str, Any],
        policy: Mapping[str, Any] | None = None,
        constant_class: int = 0,
        measured_entropy: bool = False,
        before_rope: bool = False,
    ) -> None:
        """shape: layers, KV heads, head size, a multiple of 32.

        ladder: four ascending widths out of 2, 3, 4, 8 and 16.
        arrays: k_mean, v_mean f32 [L, H, D] (absent: zeros), k_exponent, v_exponent i8 [L, H]
            (absent: -11); with a policy also static f32 [L, H, 2], f_mean, f_scale f32 [L, H, 13],
            embedding f32 [L, H, 8], the token features rarity, entropy, variance f16 [n_vocab]
            (absent: zeros), and for a network w1, s1, b1 … w3, s3, b3.
        policy: thresholds [3], weights [13], use_static, per_token, noise, budget (pairs of bits
            and offset, ascending) and body_bits, the wanted average; None gives every token the
            constant class, K tag | V tag << 2.
        measured_entropy: of the model's own predictions, which takes the LM head for every token.
        before_rope: keys are stored before RoPE, k_mean is of such keys.
        """

class Cache:
    """The keys and values of one sequence, in pages of 64 KiB: halves, or codes of 2 to 16 bits."""

    @property
    def length(self) -> int:
        """Tokens held."""

    @property
    def capacity(self) -> int: ...
    @property
    def kv_bytes(self) -> int:
        """Bytes of the keys and values of the tokens held, scales and tags included."""

    @property
    def page_bytes(self) -> int:
        """Bytes of the pages taken, the unused parts of pages included."""

    @property
    def metadata_bytes(self) -> int:
        """Tags, tables and attention received of a quantized cache."""

    @property
    def bits_mean(self) -> float:
        """``kv_bytes`` in bits per number."""

    @property
    def front(self) -> int:
        """Tokens from here on, and the sinks, are not quantized; 0 for halves."""

    @property
    def ladder(self) -> Sequence[int]:
        """The widths, in bits, that the four tags stand for."""

    @property
    def class_tokens(self) -> list[int]:
        """How many (token, layer, KV head) have each of the 16 classes."""

    @property
    def allocations(self) -> int:
        """Times that memory was taken from the system for the pool of pages."""

    @property
    def fragmentation(self) -> float:
        """Part of the taken pages that holds nothing."""

    @property
    def judged(self) -> tuple[int, int]:
        """Nanoseconds that the controller took, and how many tokens it judged."""

    def classes(self) -> NDArray[np.uint8]:
        """(front - sinks, layers, KV heads): the classes, K tag | V tag << 2, by position."""

    def fork(self) -> Cache:
        """A second cache with the same contents; a quantized one shares what neither changes."""

    def requantize(self, shift: int) -> None:
        """Lowers every tag by so many steps, as far as it goes. Quantized caches only."""

    def slide(self, n: int) -> list[int]:
        """Drops the n oldest tokens after the sinks and moves the others down; the tokens left.

        Quantized caches only.
        """

    def states(
        self, tokens: NDArray[np.int32], n_past: int, layers: Sequence[int], *, stop_after: int = 0
    ) -> NDArray[np.float32]:
        """Appends tokens; the residual stream after so many layers, (len(layers), n, hidden).

        0 stands for the embeddings. stop_after: computes only so many layers; the cache, which
        must hold halves, then forgets the tokens.
        """

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> NDArray[np.float32]:
        """Keeps the first n_past tokens and appends ``tokens`` (n,); logits of the last ``rows``.

        Returns (rows, n_vocab). Releases the interpreter's lock.
        """

    def compute(
        self,
        tokens: NDArray[np.int32],
        n_past: int,
        rows: int,
        *,
        hidden: bool = False,
        allowed: Sequence[int] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """As ``forward``; with the states after the final norm (n, hidden) when asked for.

        allowed: only these tokens' logits are computed, all others are minus infinity.
        """

    def extend(
        self,
        tokens: Tokens,
        n_past: int,
        *,
        last: bool = True,
        allowed: Sequence[int] | None = None,
        cancel: Event | None = None,
    ) -> None:
        """As ``compute``, but the logits after the last token stay here, for ``pick``.

        cancel: looked at every 20 ms; when it is set, RuntimeError comes.
        """

    def pick(self, sampler: Sampler, recent: Tokens, forbidden: Tokens) -> int:
        """The next token. ValueError when the logits were not kept or hold no usable number."""

    def last_logits(self) -> NDArray[np.float32]:
        """(1, n_vocab), a copy of what ``extend`` kept."""

    def truncate(self, n: int) -> None:
        """Drops every token from position n on."""

    def snapshot(self) -> bytes:
        """The cache with its tokens, for ``restore`` into any cache of the same model."""

    def restore(self, data: bytes) -> list[int]:
        """Takes a snapshot's place; returns its tokens.

        Refuses (ValueError) another model, another format, damage and too many tokens, and then
        changes nothing.
        """

class Backend:
    """The weights of one model with its threads."""

    @property
    def isa(self) -> str:
        """Instruction set in use: scalar, avx2, avx512, neon or neon_dot."""

    @property
    def matrix_unit(self) -> bool:
        """Prompts go through a matrix unit (AMX)."""

    @property
    def threads(self) -> int: ...
    @property
    def prefill_chunk(self) -> int:
        """Tokens that one ``forward`` should get at most."""

    @property
    def fingerprint(self) -> int:
        """Tells models apart; in every snapshot."""

    @property
    def weight_bytes(self) -> int: ...
    @property
    def kv(self) -> str:
        """The kind of cache that it was loaded for."""

    def cache(self, n_ctx: int, *, kv: str | None = None) -> Cache:
        """A new, empty cache for at most n_ctx tokens; kv "fp16" gives one of halves anyway."""

    def close(self) -> None:
        """Lets go of the weights; caches that still live keep them."""

def load(
    path: str,
    *,
    threads: int = 1,
    kv: str = "fp16",
    quantization: Quantization | None = None,
    isa: str = "",
) -> Backend:
    """Reads and repacks a GGUF file.

    kv: a name; all but "fp16" need a quantization.
    isa: "" takes the environment's KVQ_ISA, else the best of this CPU.
    """

def step(caches: Sequence[Cache], tokens: NDArray[np.int32]) -> NDArray[np.float32]:
    """Appends one token to each of up to MAX_BATCH caches of one model, in one pass.

    Returns (len(caches), n_vocab).
    """

def extend_each(caches: Sequence[Cache], tokens: Tokens, *, cancel: Event | None = None) -> None:
    """As ``step``, but each cache keeps its logits, for ``Cache.pick``."""

def available_isas() -> list[str]:
    """Instruction sets that this CPU can run, the best last."""

class Tokenizer:
    """Byte-level BPE of a GGUF file; equal to ``kvquant.tokenizer.Tokenizer`` token by token."""

    @staticmethod
    def open(path: str) -> Tokenizer: ...
    @property
    def n_vocab(self) -> int: ...
    def encode(self, text: bytes, *, special: bool = False) -> list[int]:
        """Tokens of UTF-8 text. special: spellings of control tokens become these tokens."""

    def token_bytes(self, token: int, *, special: bool = False) -> bytes:
        """The bytes that a token adds; none for a control token unless special."""

    def special_id(self, spelling: str) -> int:
        """-1 when no control token is spelled so."""

    @property
    def control_ids(self) -> list[int]: ...

class File:
    """A GGUF file that was read up to its weights."""

    @staticmethod
    def open(path: str) -> File: ...
    @property
    def metadata(self) -> dict[str, int | float | bool | str]:
        """Its single values; arrays are left out."""

    @property
    def shape(self) -> dict[str, int]:
        """n_layer, n_embd, n_head, n_kv_head, head_dim, n_ff, n_vocab, n_ctx_train."""

    @property
    def norm_fingerprint(self) -> int:
        """Tells models apart whatever the precision of their weights; in controller files."""

    def tokenizer(self) -> Tokenizer: ...
    def load(
        self,
        *,
        threads: int = 1,
        kv: str = "fp16",
        quantization: Quantization | None = None,
        isa: str = "",
    ) -> Backend:
        """As ``load``; may run beside ``tokenizer``. Both release the interpreter's lock."""

class Sampler:
    """Chooses tokens; the same seed gives the same choices on every machine."""

    def __init__(
        self,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
    ) -> None: ...
    def pick(self, logits: NDArray[np.float32], recent: NDArray[np.int32]) -> int:
        """The next token; recent: the tokens that the penalty applies to."""
