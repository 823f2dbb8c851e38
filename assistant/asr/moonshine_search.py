"""Beam search over the decoder, led by what may be said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assistant.asr.moonshine_tokens import END, START

Advance = Callable[[Sequence[int], Sequence[int]], NDArray[np.float32]]
"""From the newest token of each beam, and the row that each beam grew from, to logits of
shape (beams, vocabulary)."""

HOPELESS_TOKENS = 5
"""A search within sentences is given up no earlier than this."""

HOPELESS = -2.6
"""Mean log probability of a text so far below which nobody said one of the sentences."""

FORGIVEN = 5.0
"""Taken off before that: one word that was hardly heard does not tell."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A token that may come next; logprob: what the network gives it; lift: what is added."""

    token: int
    logprob: float
    lift: float
    state: int


class Guide(Protocol):
    """Says what may come next; its state 0 is the beginning of a text."""

    closed: bool
    """Nothing but its own sentences may be said."""

    def choices(self, state: int, logprobs: NDArray[np.float32], most: int) -> list[Choice]:
        """The best next tokens, at most so many and END; logprobs: shape (vocabulary,)."""


@dataclass(frozen=True, slots=True)
class Beam:
    """A text that may go on; tokens and their log probabilities, those of END included."""

    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    lift: float = 0.0
    state: int = 0

    @property
    def last(self) -> int:
        return self.tokens[-1] if self.tokens else START

    @property
    def total(self) -> float:
        return sum(self.logprobs) + self.lift

    @property
    def mean(self) -> float:
        return self.total / max(1, len(self.logprobs))

    def grown(self, choice: Choice) -> Beam:
        return Beam(
            (*self.tokens, choice.token),
            (*self.logprobs, choice.logprob),
            self.lift + choice.lift,
            choice.state,
        )


class Unguided:
    """Any token may follow any other."""

    closed = False

    def choices(self, state: int, logprobs: NDArray[np.float32], most: int) -> list[Choice]:
        best = np.argpartition(-logprobs, most)[: most + 1]
        return [Choice(int(token), float(logprobs[token]), 0.0, 0) for token in best]


def search(advance: Advance, guide: Guide, beams: int, limit: int) -> Beam | None:
    """The best text that a search with so many beams finds within ``limit`` tokens.

    An open guide gives the likeliest text per token, finished or not; a closed one the
    likeliest of its sentences, None when none of them is near.
    """
    live, ended = [Beam()], list[Beam]()
    rows: list[int] = [0]
    for step in range(limit):
        logprobs = log_softmax(advance([beam.last for beam in live], rows))
        grown = [
            (row, beam.grown(choice))
            for row, beam in enumerate(live)
            for choice in guide.choices(beam.state, logprobs[row], beams)
        ]
        grown.sort(key=lambda g: g[1].total, reverse=True)
        if guide.closed:
            ended += [beam for _, beam in grown if beam.last == END]
            least = max((beam.total for beam in ended), default=-np.inf)
            if step >= HOPELESS_TOKENS:
                least = max(least, HOPELESS * (step + 1) - FORGIVEN)
            kept = [g for g in grown if g[1].last != END and g[1].total > least][:beams]
            if not kept:
                break
        else:
            # More than this go on after an END.
            grown = grown[: 2 * beams]
            ended += [beam for _, beam in grown if beam.last == END]
            kept = [g for g in grown if g[1].last != END][:beams]
            if len(ended) >= beams and max(b.mean for b in ended) >= kept[0][1].mean:
                break
        rows = [row for row, _ in kept]
        live = [beam for _, beam in kept]
    if guide.closed:
        return max(ended, key=lambda beam: beam.total, default=None)
    return max(ended or live, key=lambda beam: beam.mean)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """shape (n, vocabulary)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
