"""The small frozen values that callers pass in and get out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvquant.errors import SettingError

GREEDY_BELOW = 1e-4
"""Temperatures below this take the likeliest token: dividing by them gains nothing but overflow."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen from the logits.

    temperature: divides the logits; 0 (or less than 1e-4) takes the likeliest token.
    top_k: keep the k likeliest tokens; 0 keeps all.
    top_p: keep the likeliest tokens whose probabilities reach this sum, in (0, 1].
    min_p: keep tokens at least this fraction as likely as the likeliest one, in [0, 1].
    repetition_penalty: > 0; above 1 makes tokens of the generated text less likely.
    repetition_window: how many of its last tokens the penalty looks at.
    seed: same seed, same text; None draws a new one each time.

    Raises SettingError for NaN, infinities and values out of range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_window: int = 64
    seed: int | None = None

    def __post_init__(self) -> None:
        _real("temperature", self.temperature, low=0.0)
        _real("top_p", self.top_p, low=0.0, high=1.0, above=True)
        _real("min_p", self.min_p, low=0.0, high=1.0)
        _real("repetition_penalty", self.repetition_penalty, low=0.0, above=True)
        _whole("top_k", self.top_k)
        _whole("repetition_window", self.repetition_window)
        if self.seed is not None:
            _whole("seed", self.seed)

    @property
    def greedy(self) -> bool:
        return self.temperature < GREEDY_BELOW


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token.

    text: what it adds to the text; "" while a character (or a possible stop text) is incomplete.
    """

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a loaded model is.

    stop_ids: the tokens that end a turn or a text; ``generate`` stops at them by default.
    backend: "native" or "reference"; isa: the instruction set its kernels use.
    fingerprint: of the weights of the last norm, equal for all formats of one model; 0 where the
        backend does not say (the reference).
    """

    name: str
    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    head_dim: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int
    bos_id: int | None
    eos_id: int | None
    eot_id: int | None
    stop_ids: tuple[int, ...]
    backend: str
    isa: str
    fingerprint: int = 0


def _real(
    name: str, value: float, *, low: float, high: float = math.inf, above: bool = False
) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and math.isfinite(value) and low <= value <= high
    if not inside or (above and value == low):
        bound = f"above {low:g}" if above else f"at least {low:g}"
        if math.isfinite(high):
            bound += f" and at most {high:g}"
        raise SettingError("sampling.range", f"{name} must be a number {bound}, not {value!r}.")


def _whole(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise SettingError(
            "sampling.range", f"{name} must be a whole number from 0, not {value!r}."
        )
