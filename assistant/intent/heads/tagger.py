"""Finds the values in a text: a tag for each word, chosen as a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.intent.heads import crf
from assistant.intent.heads.classifier import Matrix
from assistant.intent.heads.example import Mark
from assistant.intent.heads.features import Scaler
from assistant.intent.heads.lexicon import Lexicon
from assistant.intent.heads.states import TokenStates
from assistant.intent.heads.words import Span, dense, spelling, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Tagger:
    """slots: their names; intents: for each the numbers of the slots that it can have."""

    def __init__(
        self,
        slots: Sequence[str],
        intents: Mapping[str, Sequence[int]],
        scaler: Scaler,
        states: Matrix,
        spellings: Matrix,
        lexicon: Lexicon,
        bias: Floats,
        transitions: Floats,
    ) -> None:
        """states: (dense width, tags), spellings: (BUCKETS, tags), transitions as in ``crf``."""
        self.slots = list(slots)
        self.intents = {intent: list(numbers) for intent, numbers in intents.items()}
        self.scaler = scaler
        self.states = states
        self.spellings = spellings
        self.lexicon = lexicon
        self.bias = bias
        self.transitions = transitions
        tags = 1 + 2 * len(self.slots)
        self._chains = np.where(crf.allowed(tags), transitions, crf.NEVER).astype(np.float32)

    def tag(self, text: str, states: TokenStates, intent: str) -> tuple[Mark, ...]:
        """The values in the text when this is meant; none where the intent has no slots."""
        words = words_of(text)
        numbers = self.intents.get(intent, ())
        if not words or not numbers or len(states.spans) == 0:
            return ()
        emissions = self.states.times(self.scaler(dense(states, words))) + self.bias
        features = spelling(text, words, intent)
        for known, found in zip(features, self.lexicon.features(text, words), strict=True):
            known += found
        for row, buckets in zip(emissions, features, strict=True):
            row += self.spellings.codes[buckets].sum(axis=0, dtype=np.float32) * (
                self.spellings.scales
            )
        possible = np.zeros(emissions.shape[1], np.bool_)
        possible[[0, *(1 + 2 * i for i in numbers), *(2 + 2 * i for i in numbers)]] = True
        chain = crf.best_chain(np.where(possible, emissions, crf.NEVER), self._chains)
        return tuple(marks_of(words, chain, self.slots))

    def settings(self) -> dict[str, Any]:
        """What is no array, JSON-ready."""
        return {"slots": self.slots, "intents": self.intents, "longest": self.lexicon.longest}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``of_arrays`` makes a tagger of."""
        return {
            "tag_mean": self.scaler.mean,
            "tag_deviation": self.scaler.deviation,
            "tag_states": self.states.codes,
            "tag_states_scale": self.states.scales,
            "tag_spellings": self.spellings.codes,
            "tag_spellings_scale": self.spellings.scales,
            "tag_bias": self.bias,
            "tag_transitions": self.transitions,
            **self.lexicon.arrays(),
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Tagger:
        """Raises ValueError, KeyError, TypeError for what does not fit together."""
        slots = [str(slot) for slot in settings["slots"]]
        tags, width = 1 + 2 * len(slots), len(arrays["tag_mean"])
        shapes = {
            "tag_deviation": (width,),
            "tag_states": (width, tags),
            "tag_states_scale": (tags,),
            "tag_spellings_scale": (tags,),
            "tag_bias": (tags,),
            "tag_transitions": (tags + 1, tags),
        }
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        intents = {
            str(intent): [int(i) for i in numbers]
            for intent, numbers in settings["intents"].items()
        }
        if any(not 0 <= i < len(slots) for numbers in intents.values() for i in numbers):
            raise ValueError("an intent has a slot that is not there")
        return cls(
            slots,
            intents,
            Scaler(arrays["tag_mean"], arrays["tag_deviation"]),
            Matrix(arrays["tag_states"], arrays["tag_states_scale"]),
            Matrix(arrays["tag_spellings"], arrays["tag_spellings_scale"]),
            Lexicon.of_arrays(arrays, int(settings["longest"]), len(slots)),
            arrays["tag_bias"],
            arrays["tag_transitions"],
        )


def marks_of(words: Sequence[Span], chain: Sequence[int], slots: Sequence[str]) -> list[Mark]:
    """The values that a chain of tags names."""
    marks: list[Mark] = []
    for (start, end), tag in zip(words, chain, strict=True):
        slot = slots[(tag - 1) // 2] if tag else ""
        if tag and tag % 2 == 0 and marks and marks[-1].slot == slot:
            marks[-1] = Mark(marks[-1].start, end, slot)
        elif tag:
            marks.append(Mark(start, end, slot))
    return marks


def chain_of(words: Sequence[Span], marks: Sequence[Mark], slots: Sequence[str]) -> list[int]:
    """The tags that say where the values are; the opposite of ``marks_of``."""
    chain = [0] * len(words)
    for mark in marks:
        number = 1 + 2 * list(slots).index(mark.slot)
        for i, (start, end) in enumerate(words):
            if start < mark.end and end > mark.start:
                chain[i] = number
                number += number % 2
    return chain
