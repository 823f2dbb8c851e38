"""How KV caches store their numbers: the kinds there are, and what the quantized ones need."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kvquant.errors import SettingError

KV_KINDS = ("fp16", "static8", "static4", "static3", "static2", "adaptive")
"""16 bits; the same bits for every token but sinks and window; chosen by a controller."""

ROTATED, PRE_ROPE = "rotated", "pre_rope"
KEY_LAYOUTS = (ROTATED, PRE_ROPE)
"""Keys are stored after their rotation by position (RoPE), or before it."""

LADDER = (2, 3, 4, 8)
"""Widths of the static kinds: their tags are places in it."""

BUDGET_CONTEXT = 2048
"""The budget holds for a context of so many tokens, or of the whole one when that is shorter."""

_MAX_PLACES = 508
"""Of the sinks and the window together: with the newest token they fill 32 blocks of 16."""
_HEAD_SIZES = 32

Features = Literal["table", "exact"]


@dataclass(frozen=True, slots=True)
class KvSettings:
    """A KV cache as ``Engine.load`` is told of it; what each means is said there.

    Raises SettingError for what cannot be.
    """

    kind: str = "fp16"
    controller: Path | None = None
    budget_bits: float = 3.5
    window: int | None = None
    sinks: int | None = None
    policy: str = "adaptive"
    features: str = "table"
    key_layout: str = ROTATED

    def __post_init__(self) -> None:
        if self.kind not in KV_KINDS:
            raise SettingError(
                "kv.unavailable",
                f"The KV cache {self.kind!r} is not available; there is {', '.join(KV_KINDS)}.",
            )
        _whole("window", self.window, 2, _MAX_PLACES)
        _whole("sinks", self.sinks, 0, _MAX_PLACES - 2)
        bits = self.budget_bits
        number = isinstance(bits, int | float) and not isinstance(bits, bool)
        if not number or not math.isfinite(bits) or not 0 < bits <= 16:
            raise SettingError(
                "kv.budget", f"budget_bits must be a number of bits up to 16, not {bits!r}."
            )
        if self.features not in ("table", "exact"):
            raise SettingError(
                "kv.features", f"features must be table or exact, not {self.features!r}."
            )
        if self.key_layout not in KEY_LAYOUTS:
            raise SettingError(
                "kv.layout",
                f"A key layout is one of {', '.join(KEY_LAYOUTS)}, not {self.key_layout!r:.40}.",
            )
        if self.key_layout != ROTATED and not self.quantized:
            raise SettingError(
                "kv.layout",
                f"The KV cache {self.kind} stores its keys {ROTATED}, not {self.key_layout}.",
                "Take a quantized KV cache, or leave the key layout out.",
            )

    @property
    def quantized(self) -> bool:
        return self.kind != "fp16"

    @property
    def adaptive(self) -> bool:
        return self.kind == "adaptive"

    @property
    def width(self) -> int:
        """Bits of a static kind."""
        return int(self.kind.removeprefix("static"))

    def places(self, window: int, sinks: int) -> tuple[int, int]:
        """Window and sinks, where those of a controller file are the default."""
        found = (
            window if self.window is None else self.window,
            sinks if self.sinks is None else self.sinks,
        )
        if sum(found) > _MAX_PLACES:
            raise SettingError(
                "kv.window",
                f"Window and sinks together have at most {_MAX_PLACES} tokens, not {sum(found)}.",
            )
        return found


def settings_of(
    kind: str,
    *,
    controller: str | os.PathLike[str] | None = None,
    budget_bits: float = 3.5,
    window: int | None = None,
    sinks: int | None = None,
    policy: str = "adaptive",
    features: str = "table",
    key_layout: str = ROTATED,
) -> KvSettings:
    """The settings as keywords. Raises SettingError."""
    path = None if controller is None else Path(controller)
    return KvSettings(kind, path, budget_bits, window, sinks, policy, features, key_layout)


def check_head(head_dim: int) -> None:
    """Raises SettingError when quantized caches cannot have heads of this size."""
    if head_dim % _HEAD_SIZES:
        raise SettingError(
            "kv.head_size",
            f"Quantized KV caches need a head size that is a multiple of {_HEAD_SIZES}, "
            f"this model's is {head_dim}.",
            "Use the KV cache fp16.",
        )


def class_bits(ladder: Sequence[int], cls: int, head_dim: int) -> float:
    """Bits per number of a token of a class (K tag | V tag << 2): codes, scales, tags."""
    bits = 4
    for width in (ladder[cls & 3], ladder[cls >> 2]):
        bits += width * head_dim + {16: 0, 8: 16}.get(width, 8)
    return bits / (2 * head_dim)


def body_bits(
    budget: float, ladder: Sequence[int], head_dim: int, window: int, sinks: int, n_ctx: int
) -> float:
    """What a budget leaves for the quantized tokens, when the context is full.

    At least the bits of the cheapest class: a short context may take more than its budget.
    Raises SettingError for a budget that no context can keep.
    """
    cheapest = class_bits(ladder, 0, head_dim)
    if budget < cheapest:
        raise SettingError(
            "kv.budget",
            f"A budget of {budget:g} bits is out of reach: the least is {cheapest:.2f}.",
            "Give a larger budget_bits.",
        )
    context = min(n_ctx, BUDGET_CONTEXT)
    whole = window + sinks
    if context <= whole:
        return 16.0
    return max(cheapest, (budget * context - 16 * whole) / (context - whole))


def _whole(name: str, value: int | None, low: int, high: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SettingError(
            "kv.window", f"{name} must be a whole number from {low} to {high}, not {value!r}."
        )
