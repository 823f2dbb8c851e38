"""How many bits each token of a text got, and whether that changes along it."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.session import Session
from kvquant.token_text import AnyTokenizer

FULL = 16.0
"""Bits of the tokens that are not quantized: the first ones and the newest ones."""

STEADY = 0.15
"""Bits; a smaller change between the first and the last stretch is no drift."""


@dataclass(frozen=True, slots=True)
class Precision:
    """What a cache holds.

    bits: (tokens, layers): width of an element, averaged over heads, keys and values; of codes
    alone, 16 for tokens that are not quantized.
    keys, values: (layers,) averages over the quantized tokens.
    first, last: the quantized tokens are first … last - 1.
    """

    pieces: list[str]
    bits: NDArray[np.float64]
    keys: NDArray[np.float64]
    values: NDArray[np.float64]
    first: int
    last: int

    @property
    def per_token(self) -> NDArray[np.float64]:
        """(tokens,)."""
        mean: NDArray[np.float64] = self.bits.mean(axis=1)
        return mean


def cut(found: Precision, n: int) -> Precision:
    """Its first n tokens, for showing."""
    return replace(found, pieces=found.pieces[:n], bits=found.bits[:n])


def precision(session: Session, tokenizer: AnyTokenizer, sinks: int) -> Precision:
    """sinks: how many first tokens are in 16 bits. Raises BackendError."""
    classes = session.classes()
    widths = np.array(session.ladder, np.float64)
    tokens = session.tokens
    keys, values = widths[classes & 3], widths[classes >> 2]
    bits = np.full((len(tokens), classes.shape[1]), FULL)
    last = sinks + len(classes)
    bits[sinks:last] = (keys.mean(axis=2) + values.mean(axis=2)) / 2
    judged = len(classes) > 0
    empty = np.full(classes.shape[1], FULL)
    return Precision(
        pieces(tokenizer, tokens),
        bits,
        keys.mean(axis=(0, 2)) if judged else empty,
        values.mean(axis=(0, 2)) if judged else empty,
        min(sinks, len(tokens)),
        last if judged else min(sinks, len(tokens)),
    )


def pieces(tokenizer: AnyTokenizer, tokens: Sequence[int]) -> list[str]:
    """The text of each token; a character of several tokens comes with its last one."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(tokenizer.token_bytes(t, special=True)) for t in tokens]


@dataclass(frozen=True, slots=True)
class Drift:
    """stretches: (first token, one past the last, average bits) of the quantized tokens."""

    stretches: list[tuple[int, int, float]]

    @property
    def change(self) -> float | None:
        """Bits of the last stretch minus those of the first; None when there is one only."""
        if len(self.stretches) < 2:
            return None
        return self.stretches[-1][2] - self.stretches[0][2]

    @property
    def verdict(self) -> str:
        change = self.change
        if change is None:
            return "The text is too short to tell whether precision drifts along it."
        figures = f"{self.stretches[0][2]:.2f} bits at first, {self.stretches[-1][2]:.2f} at last"
        if abs(change) <= STEADY:
            return f"No drift: {figures}."
        return f"Drifts to {'fewer' if change < 0 else 'more'} bits: {figures}."

    def report(self) -> dict[str, Any]:
        change = self.change
        return {
            "segments": [
                {"from": a, "to": b, "bits": round(bits, 4)} for a, b, bits in self.stretches
            ],
            "change": None if change is None else round(change, 4),
            "verdict": self.verdict,
        }


def drift(found: Precision, length: int) -> Drift:
    """Stretches of ``length`` quantized tokens; a rest of less than half joins the last one."""
    edges = [*range(found.first, found.last, length), found.last]
    if len(edges) > 2 and edges[-1] - edges[-2] < length / 2:
        del edges[-2]
    per_token = found.per_token
    return Drift([(a, b, float(per_token[a:b].mean())) for a, b in pairwise(edges) if b > a])
