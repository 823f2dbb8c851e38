"""Trains a head on labelled sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assistant.errors import InputFileError
from assistant.intent.heads.example import OUT_OF_SCOPE, Example
from assistant.intent.heads.features import folded, pooled
from assistant.intent.heads.fit_classifier import fit as fit_classifier
from assistant.intent.heads.fit_tagger import fit as fit_tagger
from assistant.intent.heads.head import Head, Setup
from assistant.intent.heads.states import TextStates, TokenStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD_OUT = frozenset(["val", "valid", "validation", "dev", "devel", "oos_val"])
"""Splits that are checked on while choosing; in the end they are learnt from as well."""

LEAST = 2
"""Examples that an intent needs."""


@dataclass(frozen=True, slots=True)
class Trained:
    """accuracy: of sentences held out, in scope; oos_recall: part of those out of scope that the
    threshold rejects; slot_f1: of values held out. None where the examples have none."""

    head: Head
    accuracy: float
    oos_recall: float | None
    slot_f1: float | None


def train(
    name: str,
    examples: Sequence[Example],
    states: TextStates,
    setup: Setup,
    *,
    careful: bool = False,
    kin: Callable[[Sequence[str]], Sequence[int]] = lambda labels: (),
    remember: bool = False,
    sharpness: tuple[float, float] | None = None,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> Trained:
    """A head for all the intents of the examples.

    careful: it is unsure as well where two intents are nearly as likely; kin: groups of labels
    that need not be told apart; remember: it keeps what it learnt from (``heads.kernel``);
    sharpness: makes scores of how sure it is, by default as it is right on sentences held out.
    say: is told of the progress. Raises InputFileError when there is too little to learn from,
    LlmError, ModelError and PackageError as the model does.
    """
    labels, has_none = _labels(examples)
    numbers = np.array([labels.index(e.intent) for e in examples])
    texts = [folded(e.text) if setup.fold else e.text for e in examples]
    tagged = any(e.marks for e in examples)
    rows, tokens = _read(texts, states, setup, tagged, say)
    held_out = np.array([e.split in HELD_OUT for e in examples])
    say("training intents")
    fitted = fit_classifier(
        rows,
        texts,
        numbers,
        len(labels),
        has_none=has_none,
        held_out=held_out,
        careful=careful,
        kin=kin(labels),
        remember=remember,
        sharpness=sharpness,
        seed=seed,
        say=say,
    )
    tagger, slot_f1 = None, None
    if tagged:
        say("training values")
        tagger, slot_f1 = fit_tagger(
            [(text, e.intent, e.marks) for text, e in zip(texts, examples, strict=True)],
            tokens,
            seed=seed,
            say=say,
        )
    head = Head(
        name,
        setup,
        labels,
        fitted.classifier,
        fitted.threshold,
        fingerprint=states.fingerprint,
        tagger=tagger,
    )
    return Trained(head, fitted.accuracy, fitted.none_found, slot_f1)


def draw(examples: Iterable[Example], per_intent: int, seed: int) -> list[Example]:
    """So many examples of each intent, drawn by chance; all of those out of scope."""
    by_intent: dict[str, list[Example]] = {}
    for example in examples:
        by_intent.setdefault(example.intent, []).append(example)
    rng = np.random.default_rng(seed)
    drawn: list[Example] = []
    for intent in sorted(by_intent):
        rows = by_intent[intent]
        if intent != OUT_OF_SCOPE and len(rows) > per_intent:
            rows = [rows[i] for i in sorted(rng.permutation(len(rows))[:per_intent])]
        drawn += rows
    return drawn


def _labels(examples: Sequence[Example]) -> tuple[list[str], bool]:
    count: dict[str, int] = {}
    for example in examples:
        count[example.intent] = count.get(example.intent, 0) + 1
    rare = sorted(intent for intent, n in count.items() if n < LEAST)
    if rare:
        raise InputFileError(
            "train.few",
            f'The intent "{rare[0]}" has {count[rare[0]]} example.',
            f"Each needs at least {LEAST}.",
        )
    labels = sorted(count.keys() - {OUT_OF_SCOPE})
    if len(labels) < 2:
        raise InputFileError("train.one", "There must be at least two intents to tell apart.")
    has_none = OUT_OF_SCOPE in count
    return [*labels, OUT_OF_SCOPE] if has_none else labels, has_none


def _read(
    texts: Sequence[str],
    states: TextStates,
    setup: Setup,
    tagged: bool,
    say: Callable[[str], None],
) -> tuple[NDArray[np.float16], list[TokenStates]]:
    """(texts, width) means; and when tagged, the tokens' states for the tagger."""
    wanted = sorted({*setup.layers, *(setup.tag_layers if tagged else ())})
    rows: list[NDArray[np.float16]] = []
    tokens: list[TokenStates] = []
    for i, text in enumerate(texts):
        if i % 1000 == 0:
            say(f"reading {i} of {len(texts)} sentences")
        got = states.states(text, wanted, twice=True, prefix=setup.prefix)
        rows.append(_half(pooled(got.of(wanted, setup.layers))))
        if tagged:
            part = got.of(wanted, setup.tag_layers)
            tokens.append(TokenStates(_half(part.values), part.spans))
    return np.array(rows), tokens


def _half(values: NDArray[np.float32]) -> NDArray[np.float16]:
    """Half the memory; the precision is enough to learn from."""
    return np.clip(values, -6e4, 6e4).astype(np.float16)
