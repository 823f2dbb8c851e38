"""Which intent a text has: experts, whose judgements are added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.intent.heads.features import Scaler
from assistant.intent.heads.kernel import Kernel
from assistant.intent.heads.tfidf import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


STATES_SHARE, KERNEL_SHARE = 0.25, 4.0
"""What both that see the states count, where there are both; chosen on sentences held out."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """label: of the best intent in scope; score: 0 … 1, how sure it is that this is meant."""

    label: int
    score: float


class Matrix:
    """Weights (inputs, labels) as int8 with one scale a label."""

    def __init__(self, codes: NDArray[np.int8], scales: Floats) -> None:
        self.codes = codes
        self.scales = scales
        self._whole: Floats | None = None

    @classmethod
    def of(cls, weights: Floats) -> Matrix:
        scales = np.abs(weights).max(axis=0, initial=1e-12) / 127
        codes = np.rint(weights / scales).astype(np.int8)
        return cls(codes, scales.astype(np.float32))

    def times(self, x: Floats) -> Floats:
        """x: (inputs,) or (n, inputs)."""
        if self._whole is None:
            # Unpacked once; a head has few of those that whole inputs meet.
            self._whole = self.codes.astype(np.float32)
        # Row by row: for one product of them all numpy wakes threads, which wait for each other
        # longer than it takes, and take the cores from the language model.
        rows = [row @ self._whole for row in np.atleast_2d(x)]
        product: Floats = np.array(rows, np.float32).reshape(*x.shape[:-1], -1) * self.scales
        return product

    def rows_times(self, rows: NDArray[np.int64], values: Floats) -> Floats:
        """The same for an input that is zero but for some rows."""
        product: Floats = (values @ self.codes[rows].astype(np.float32)) * self.scales
        return product


@dataclass(frozen=True, slots=True)
class Experts:
    """One sees the model's states, the other the words. biases: (labels,).

    kernel: a third one, which sees the states and remembers; in the heads that it pays for.
    """

    scaler: Scaler
    states: Matrix
    states_bias: Floats
    vocabulary: Vocabulary
    words: Matrix
    words_bias: Floats
    kernel: Kernel | None = None

    def by_states(self, pooled: Floats) -> Floats:
        """Log-probabilities (..., labels) of ``features.pooled`` (..., width)."""
        scaled = self.scaler(pooled)
        judged = log_softmax(self.states.times(scaled) + self.states_bias)
        if self.kernel is None:
            return judged
        return log_softmax(STATES_SHARE * judged + KERNEL_SHARE * self.kernel.margins(scaled))

    def by_words(self, text: str) -> Floats:
        """Margins (labels,); the bias alone where no word is known."""
        return self.words.rows_times(*self.vocabulary.vector(text)) + self.words_bias


class Classifier:
    """Both experts together."""

    def __init__(
        self,
        experts: Experts,
        *,
        share: float,
        sharpness: tuple[float, float],
        has_none: bool,
        careful: bool = False,
        kin: Sequence[int] = (),
    ) -> None:
        """share: what the word expert's margin counts against the other's log-probability.

        sharpness: slope and offset that make the score of the confidence.
        has_none: the last label is "none of them".
        careful: it is unsure as well where another intent is nearly as likely.
        kin: for each label the number of a group; in one, careful need not tell them apart.
        """
        self.experts = experts
        self.share = share
        self.sharpness = sharpness
        self.has_none = has_none
        self.careful = careful
        self.kin = list(kin)

    def judge(self, pooled: Floats, text: str) -> Judgement:
        """pooled: as ``features.pooled`` makes it; text: as it was read."""
        experts = self.experts
        logits = combined(experts.by_states(pooled), experts.by_words(text), self.share)
        best, sure = confidence(logits[None], self.has_none, self.careful, self.kin)
        return Judgement(int(best[0]), float(score(sure, self.sharpness)[0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``of_arrays`` makes a classifier of."""
        e = self.experts
        return {
            "mean": e.scaler.mean,
            "deviation": e.scaler.deviation,
            "states": e.states.codes,
            "states_scale": e.states.scales,
            "states_bias": e.states_bias,
            "terms": np.frombuffer("\n".join(e.vocabulary.terms).encode(), np.uint8),
            "term_weights": e.vocabulary.weights,
            "words": e.words.codes,
            "words_scale": e.words.scales,
            "words_bias": e.words_bias,
            **(e.kernel.arrays() if e.kernel is not None else {}),
        }

    def settings(self) -> dict[str, Any]:
        """The rest, JSON-ready."""
        return {
            "share": self.share,
            "sharpness": list(self.sharpness),
            "has_none": self.has_none,
            "careful": self.careful,
            "kin": self.kin,
        }

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], n_labels: int
    ) -> Classifier:
        """Raises ValueError, KeyError, TypeError for what does not fit together."""
        terms = bytes(arrays["terms"]).decode().split("\n") if len(arrays["terms"]) else []
        width = len(arrays["mean"])
        shapes = {
            "deviation": (width,),
            "states": (width, n_labels),
            "states_scale": (n_labels,),
            "states_bias": (n_labels,),
            "term_weights": (len(terms),),
            "words": (len(terms), n_labels),
            "words_scale": (n_labels,),
            "words_bias": (n_labels,),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        experts = Experts(
            Scaler(arrays["mean"], arrays["deviation"]),
            Matrix(arrays["states"], arrays["states_scale"]),
            arrays["states_bias"],
            Vocabulary(terms, arrays["term_weights"]),
            Matrix(arrays["words"], arrays["words_scale"]),
            arrays["words_bias"],
            Kernel.of_arrays(arrays, width, n_labels),
        )
        kin = [int(number) for number in settings.get("kin", ())]
        if len(kin) not in (0, n_labels):
            raise ValueError(f"{len(kin)} of {n_labels} labels have a group")
        slope, offset = settings["sharpness"]
        return cls(
            experts,
            share=float(settings["share"]),
            sharpness=(float(slope), float(offset)),
            has_none=bool(settings["has_none"]),
            careful=bool(settings.get("careful", False)),
            kin=kin,
        )


def score(sure: Floats, sharpness: tuple[float, float]) -> Floats:
    """0 … 1 of log-odds."""
    slope, offset = sharpness
    result: Floats = 1 / (1 + np.exp(-(slope * sure + offset)))
    return result


def log_softmax(logits: Floats) -> Floats:
    """Over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def combined(states: Floats, words: Floats, share: float) -> Floats:
    """Log-probabilities of both experts together; words: margins."""
    return log_softmax(states + share * words)


def confidence(
    logits: Floats, has_none: bool, careful: bool = False, kin: Sequence[int] = ()
) -> tuple[NDArray[np.int64], Floats]:
    """The best label in scope of each row (n, labels), and how sure that is: log-odds.

    With a label for "none of them", what counts is by how much the best one beats that;
    careful: by how much it beats any other that is not of its kin.
    """
    scope = logits[:, :-1] if has_none else logits
    best = scope.argmax(axis=1)
    top = scope.max(axis=1)
    if careful:
        others = logits.copy()
        groups = np.array(kin if len(kin) else range(logits.shape[1]))
        others[groups == groups[best][:, None]] = -np.inf
        return best, top - others.max(axis=1)
    if has_none:
        return best, top + (top - logits[:, -1])
    rest = np.exp(scope - top[:, None]).sum(axis=1) - 1
    return best, -np.log(np.maximum(rest, 1e-9))
