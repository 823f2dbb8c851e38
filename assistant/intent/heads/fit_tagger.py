"""Trains a tagger of values: a chain over the words (a conditional random field) by Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assistant.intent.heads import crf
from assistant.intent.heads.classifier import Matrix
from assistant.intent.heads.example import Mark
from assistant.intent.heads.features import Scaler
from assistant.intent.heads.lexicon import Lexicon
from assistant.intent.heads.softmax import Adam, rate_at
from assistant.intent.heads.states import TokenStates
from assistant.intent.heads.tagger import Tagger, chain_of
from assistant.intent.heads.words import BUCKETS, Span, dense, spelling, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BATCH = 32
PASSES = 8
_LEAST_STEPS = 400
RATE = 2e-3
_SPELLING_RATE = 0.05
DECAY = 0.02
DROPPED = 0.3
_SPELLING_DROPPED = 0.2
_PART = 0.1
_MOST_SCALED = 20_000
"""Words from which mean and deviation are taken."""

Labelled = tuple[str, str, tuple[Mark, ...]]
"""(text as it is read, intent, marks)."""


@dataclass(frozen=True, slots=True)
class _Text:
    states: TokenStates
    words: list[Span]
    buckets: list[list[int]]
    truth: NDArray[np.int64]


def fit(
    rows: Sequence[Labelled],
    states: Sequence[TokenStates],
    *,
    seed: int,
    say: Callable[[str], None],
) -> tuple[Tagger, float]:
    """A tagger for the marks of all rows, and the F1 of one that has not seen a tenth of them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    cut = max(1, int(len(rows) * _PART))
    kept, checked = order[cut:], order[:cut]
    tagger = _train([rows[i] for i in kept], [states[i] for i in kept], seed, say)
    score = Score()
    for i in checked:
        text, intent, marks = rows[i]
        score.add(tagger.tag(text, states[i], intent), marks)
    say("training values on everything")
    return _train(rows, states, seed, say), score.f1


class Score:
    """Counts values that are found, exactly from their first to their last character."""

    def __init__(self) -> None:
        self.right = self.found = self.there = 0

    def add(self, found: Sequence[Mark], there: Sequence[Mark]) -> None:
        self.right += len(set(found) & set(there))
        self.found += len(set(found))
        self.there += len(set(there))

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 where there was nothing to find."""
        both = self.found + self.there
        return 2 * self.right / both if both else 1.0


def _train(
    rows: Sequence[Labelled],
    states: Sequence[TokenStates],
    seed: int,
    say: Callable[[str], None],
) -> Tagger:
    rng = np.random.default_rng(seed)
    slots = sorted({mark.slot for _, _, marks in rows for mark in marks})
    intents = {
        intent: sorted(
            {slots.index(m.slot) for _, other, marks in rows if other == intent for m in marks}
        )
        for intent in sorted({intent for _, intent, _ in rows})
    }
    values = [_values(text, marks, slots) for text, _, marks in rows]
    lexicon = Lexicon.of(value for own in values for value in own)
    texts = [
        _text(row, own, got, slots, lexicon)
        for row, own, got in zip(rows, values, states, strict=True)
        if len(got.spans) and words_of(row[0])
    ]
    scaler = _scaler(texts, rng)
    n_tags = 1 + 2 * len(slots)
    width = len(scaler.mean)
    weights = Adam(np.zeros((width, n_tags), np.float32), DECAY)
    spellings = Sparse(BUCKETS, n_tags)
    bias = Adam(np.zeros(n_tags, np.float32))
    transitions = Adam(np.zeros((n_tags + 1, n_tags), np.float32), DECAY)
    may = crf.allowed(n_tags)
    # Texts of like length together, so that little is computed for words that are not there.
    lengths = np.array([len(t.words) for t in texts])
    batches = -(-len(texts) // BATCH)
    passes = max(PASSES, -(-_LEAST_STEPS // batches))
    step = 0
    for i in range(passes):
        if i % -(-passes // PASSES) == 0:
            say(f"training values, pass {i + 1} of {passes}")
        order = np.argsort(lengths + rng.random(len(texts)), kind="stable")
        for j in rng.permutation(batches):
            step += 1
            rate = rate_at(step / (passes * batches), 1.0)
            batch = [texts[k] for k in order[j * BATCH : (j + 1) * BATCH]]
            x = scaler(np.concatenate([dense(t.states, t.words) for t in batch]))
            x *= (rng.random(x.shape, np.float32) >= DROPPED) / np.float32(1 - DROPPED)
            flat, owner = _buckets(batch, rng)
            emissions = x @ weights.value + bias.value
            np.add.at(emissions, owner, spellings.value[flat])
            chains = np.where(may, transitions.value, crf.NEVER).astype(np.float32)
            d_flat, d_transitions = _chain_gradient(batch, emissions, chains)
            n = np.float32(len(batch))
            weights.step(x.T @ d_flat / n, RATE * rate)
            bias.step(d_flat.sum(axis=0) / n, RATE * rate)
            transitions.step(np.where(may, d_transitions, 0).astype(np.float32) / n, RATE * rate)
            spellings.step(flat, d_flat[owner] / n, _SPELLING_RATE * rate)
    return Tagger(
        slots,
        intents,
        scaler,
        Matrix.of(weights.value),
        Matrix.of(spellings.value),
        lexicon,
        bias.value,
        transitions.value,
    )


class Sparse:
    """Weights of which a step sees few rows: Adagrad on those alone."""

    def __init__(self, rows: int, columns: int) -> None:
        self.value = np.zeros((rows, columns), np.float32)
        self._squares = np.full((rows, columns), 1e-4, np.float32)

    def step(self, rows: NDArray[np.int64], gradients: Floats, rate: float) -> None:
        """gradients: one for each of ``rows``, which may occur several times."""
        seen, place = np.unique(rows, return_inverse=True)
        total = np.zeros((len(seen), self.value.shape[1]), np.float32)
        np.add.at(total, place, gradients)
        self._squares[seen] += total * total
        self.value[seen] -= rate * total / np.sqrt(self._squares[seen])


def _text(
    row: Labelled,
    own: Sequence[tuple[str, int]],
    states: TokenStates,
    slots: Sequence[str],
    lexicon: Lexicon,
) -> _Text:
    text, intent, marks = row
    words = words_of(text)
    buckets = spelling(text, words, intent)
    for known, found in zip(buckets, lexicon.features(text, words, own), strict=True):
        known += found
    return _Text(states, words, buckets, np.array(chain_of(words, marks, slots)))


def _values(text: str, marks: Sequence[Mark], slots: Sequence[str]) -> list[tuple[str, int]]:
    """The marked values as the lexicon knows them."""
    return [
        (
            " ".join(
                text[m.start : m.end].lower()[start:end]
                for start, end in words_of(text[m.start : m.end])
            ),
            slots.index(m.slot),
        )
        for m in marks
    ]


def _scaler(texts: Sequence[_Text], rng: np.random.Generator) -> Scaler:
    rows: list[Floats] = []
    count = 0
    for i in rng.permutation(len(texts)):
        rows.append(dense(texts[i].states, texts[i].words))
        count += len(rows[-1])
        if count > _MOST_SCALED:
            break
    return Scaler.of(np.concatenate(rows))


def _buckets(
    batch: Sequence[_Text], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Buckets of all words of a batch, some left out; and the number of each one's word."""
    lists = [buckets for text in batch for buckets in text.buckets]
    flat = np.array([b for buckets in lists for b in buckets], np.int64)
    owner = np.repeat(np.arange(len(lists)), [len(buckets) for buckets in lists])
    kept = rng.random(len(flat)) >= _SPELLING_DROPPED
    return flat[kept], owner[kept]


def _chain_gradient(
    batch: Sequence[_Text], emissions: Floats, transitions: Floats
) -> tuple[Floats, Floats]:
    """Of the emissions of all words (words, tags) of a batch, and of the transitions."""
    lengths = np.array([len(t.words) for t in batch])
    shape = (len(batch), int(lengths.max()))
    there = np.arange(shape[1]) < lengths[:, None]
    padded = np.zeros((*shape, emissions.shape[1]), np.float32)
    padded[there] = emissions
    truth = np.zeros(shape, np.int64)
    truth[there] = np.concatenate([t.truth for t in batch])
    d_padded, d_transitions = crf.gradient(padded, transitions, truth, lengths)
    return d_padded[there], d_transitions
