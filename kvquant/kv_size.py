"""How large a KV cache gets, before any is made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kvquant.controller_file import CONTROLLER_FILE, ControllerFile
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

_STATIC_BITS = {"static8": 8, "static4": 4, "static3": 3, "static2": 2}
_SCALE_BITS = 8
_TAG_BITS = 2
"""Of one head's key or value of one token."""


@dataclass(frozen=True, slots=True)
class KvSize:
    """Bytes of a cache that holds n_tokens, and what they take in 16 bits."""

    n_tokens: int
    bytes: int
    bytes_fp16: int

    @property
    def saved(self) -> float:
        """The part of the 16-bit size that is saved, 0 to 1."""
        return 1 - self.bytes / self.bytes_fp16


def expected(
    path: str | os.PathLike[str],
    n_tokens: int,
    *,
    kv: str = "fp16",
    budget_bits: float = 3.5,
    window: int = 32,
    sinks: int = 4,
    controller: str | None = None,
    key_layout: str = "rotated",
) -> KvSize:
    """The size by the settings of ``Engine.load``, for the model file at ``path``.

    key_layout: changes nothing. Looks into the controller file too where the kind has one.
    Raises ModelFileError, ControllerFileError.
    """
    shape = Hyperparams.from_file(ModelFile.open(path))
    numbers = 2 * shape.n_layer * shape.n_kv_head * shape.head_dim
    full = 2 * numbers * n_tokens
    if kv == "fp16":
        return KvSize(n_tokens, full, full)
    if kv == "adaptive":
        ControllerFile.open(Path(controller or CONTROLLER_FILE), shape=shape)
        return KvSize(n_tokens, int(numbers * n_tokens * min(budget_bits, 16) / 8), full)
    bits = _STATIC_BITS[kv]
    # Eight bits are asymmetric: a zero point stands beside the scale.
    beside = _SCALE_BITS * (2 if bits == 8 else 1) + _TAG_BITS
    each = bits + beside / shape.head_dim
    recent = min(n_tokens, window + sinks)
    return KvSize(
        n_tokens, int(numbers * (2 * recent + (n_tokens - recent) * each / 8)), full
    )  # fmt: skip
