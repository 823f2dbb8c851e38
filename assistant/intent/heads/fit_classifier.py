"""Trains a classifier of intents: both experts, their shares and the threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assistant.intent.heads import softmax
from assistant.intent.heads.classifier import (
    Classifier,
    Experts,
    Matrix,
    combined,
    confidence,
    score,
)
from assistant.intent.heads.features import Scaler
from assistant.intent.heads.kernel import Kernel
from assistant.intent.heads.tfidf import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_SHARES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_WORD_BYTES = 5_400_000
"""Of the word expert's weights, so that a head stays below 8 MiB."""
_RARE = 1000
"""With fewer texts, terms that occur once are kept."""
_FOLDS = 5
_FEW = 4000
"""With fewer rows every one is held out once; with more, one part of them is."""
_PART = 0.15
REJECTED = 0.045
"""Part of what is in scope that the threshold gives up for telling the rest apart."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """threshold: scores below it mean "I don't know".

    accuracy: of held-out rows in scope; none_found: part of the held-out rows out of scope that
    the threshold rejects, None when there were none.
    """

    classifier: Classifier
    threshold: float
    accuracy: float
    none_found: float | None


def fit(
    pooled: NDArray[np.floating],
    texts: Sequence[str],
    labels: NDArray[np.int64],
    n_labels: int,
    *,
    has_none: bool,
    held_out: NDArray[np.bool_],
    careful: bool = False,
    kin: Sequence[int] = (),
    remember: bool = False,
    sharpness: tuple[float, float] | None = None,
    seed: int,
    say: Callable[[str], None],
) -> Fitted:
    """Trains on all rows; what must be chosen is chosen on held-out ones before that.

    pooled: (n, width); labels: (n,), of n_labels, the last of them "none" when has_none.
    held_out: rows to choose by; where there are none, some are drawn.
    careful, kin: as ``Classifier`` takes them. remember: with the third expert, whose part of
        the file grows with the rows; the words then count once. sharpness: of the scores; None
        fits it to the rows held out.
    """
    checked: list[NDArray[np.int64]] = []
    states: list[Floats] = []
    words: list[Floats] = []
    parts = _parts(labels, held_out, seed)
    for number, part in enumerate(parts, start=1):
        say(f"checking, part {number} of {len(parts)}")
        learn = np.setdiff1d(np.arange(len(labels)), part)
        experts = _experts(pooled, texts, labels, n_labels, learn, seed, remember)
        checked.append(part)
        states.append(experts.by_states(pooled[part].astype(np.float32)))
        words.append(np.array([experts.by_words(texts[i]) for i in part]))
    order = np.concatenate(checked)
    truth = labels[order]
    share = (
        1.0 if remember else _share(np.concatenate(states), np.concatenate(words), truth, has_none)
    )
    logits = combined(np.concatenate(states), np.concatenate(words), share)
    best, sure = confidence(logits, has_none, careful, kin)
    scope = truth < n_labels - has_none
    right = best == truth
    sharpness = sharpness or _sharpness(sure, right)
    scores = score(sure, sharpness)
    threshold = float(np.quantile(scores[scope], REJECTED))
    say("training on everything")
    final = _experts(pooled, texts, labels, n_labels, np.arange(len(labels)), seed, remember)
    return Fitted(
        Classifier(
            final,
            share=share,
            sharpness=sharpness,
            has_none=has_none,
            careful=careful,
            kin=kin,
        ),
        threshold,
        float(right[scope].mean()),
        float((scores[~scope] < threshold).mean()) if not scope.all() else None,
    )


def _experts(
    pooled: NDArray[np.floating],
    texts: Sequence[str],
    labels: NDArray[np.int64],
    n_labels: int,
    learn: NDArray[np.int64],
    seed: int,
    remember: bool,
) -> Experts:
    """All of them, trained on the rows to learn from."""
    scaler = Scaler.of(pooled[learn])
    scaled = scaler(pooled[learn])
    weights, bias = softmax.fit(scaled, labels[learn], n_labels, seed)
    known = [texts[i] for i in learn]
    vocabulary = Vocabulary.of(
        known, least=1 if len(learn) < _RARE else 2, most=_WORD_BYTES // n_labels
    )
    margins, words_bias = _fit_words(vocabulary, known, labels[learn], n_labels, seed)
    kernel = Kernel.fit(scaled, labels[learn], n_labels) if remember else None
    return Experts(
        scaler, Matrix.of(weights), bias, vocabulary, Matrix.of(margins), words_bias, kernel
    )


def _fit_words(
    vocabulary: Vocabulary,
    texts: Sequence[str],
    labels: NDArray[np.int64],
    n_labels: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Margins (terms, n_labels) and bias of a linear support vector machine."""
    from scipy.sparse import csr_matrix
    from sklearn.svm import LinearSVC

    vectors = [vocabulary.vector(text) for text in texts]
    ends = np.cumsum([0, *(len(numbers) for numbers, _ in vectors)])
    matrix = csr_matrix(
        (
            np.concatenate([values for _, values in vectors]),
            np.concatenate([numbers for numbers, _ in vectors]),
            ends,
        ),
        shape=(len(texts), len(vocabulary)),
    )
    machine = LinearSVC(C=1.0, random_state=seed).fit(matrix, labels)
    weights = np.zeros((len(vocabulary), n_labels), np.float32)
    bias = np.full(n_labels, -1.0, np.float32)
    if len(machine.classes_) == 2:  # then it has one margin only, the second label's
        weights[:, machine.classes_] = np.stack([-machine.coef_[0], machine.coef_[0]], axis=1)
        bias[machine.classes_] = [-machine.intercept_[0], machine.intercept_[0]]
    else:
        weights[:, machine.classes_] = machine.coef_.T
        bias[machine.classes_] = machine.intercept_
    return weights, bias


def _parts(
    labels: NDArray[np.int64], held_out: NDArray[np.bool_], seed: int
) -> list[NDArray[np.int64]]:
    """Rows that are checked while the others are learnt from; each label stays in both."""
    if held_out.any() and not held_out.all():
        return [np.flatnonzero(held_out)]
    rng = np.random.default_rng(seed)
    place = np.empty(len(labels))
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        place[rows] = (np.arange(len(rows)) + rng.random()) / len(rows)
    if len(labels) >= _FEW:
        return [np.flatnonzero(place % 1 < _PART)]
    return [np.flatnonzero((place % 1 * _FOLDS).astype(int) == i) for i in range(_FOLDS)]


def _share(states: Floats, words: Floats, truth: NDArray[np.int64], has_none: bool) -> float:
    """The share of the word expert with which most is right in scope; of equal ones the middle."""
    last = states.shape[1] - has_none
    scope = truth < last
    right = [
        float((combined(states, words, s)[scope][:, :last].argmax(axis=1) == truth[scope]).mean())
        for s in _SHARES
    ]
    best = [s for s, r in zip(_SHARES, right, strict=True) if r == max(right)]
    return best[len(best) // 2]


def _sharpness(sure: Floats, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset so that the score is how often it is right."""
    from sklearn.linear_model import LogisticRegression

    if right.all() or not right.any():
        return 1.0, 0.0
    spread = float(sure.std()) + 1e-6
    model = LogisticRegression().fit((sure / spread)[:, None], right)
    return max(float(model.coef_[0, 0]), 1e-3) / spread, float(model.intercept_[0])
