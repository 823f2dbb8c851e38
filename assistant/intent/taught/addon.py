"""What was learnt from the user's lessons, and its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.errors import ModelError
from assistant.intent.base import Intent
from assistant.intent.grammar import COMMAND_INTENT
from assistant.intent.heads import file
from assistant.intent.heads.example import Example
from assistant.intent.heads.features import Scaler, folded, pooled
from assistant.intent.heads.states import TextStates
from assistant.intent.heads.tfidf import Vocabulary
from assistant.intent.normalize import normalize
from assistant.intent.taught.learn import Unseen, Weights, learn
from assistant.intent.taught.lesson import Lesson

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAYERS = (15, 24)
_KIND = "taught"


@dataclass(frozen=True, slots=True)
class Meaning:
    """intent: what is done; examples: normalized."""

    name: str
    intent: Intent
    examples: frozenset[str]


class AddOn:
    def __init__(
        self, meanings: Sequence[Meaning], weights: Weights, prefix: str, fingerprint: int
    ) -> None:
        """prefix: the system message that texts are read behind; fingerprint: of the model."""
        self.meanings = list(meanings)
        self.weights = weights
        self.prefix = prefix
        self.fingerprint = fingerprint

    def exactly(self, text: str) -> Meaning | None:
        """The one that has the text among its examples."""
        said = normalize(text)
        return next((m for m in self.meanings if said in m.examples), None)

    def scores(self, text: str, states: TextStates) -> list[float]:
        """Of each meaning; AT_LIMIT and above is taken. Raises as ``states`` does."""
        if states.fingerprint != self.fingerprint:
            raise ModelError(
                "taught.foreign",
                "What was taught was learnt with another language model.",
                "Run: assistant teach",
            )
        body = folded(text)
        got = states.states(body, LAYERS, twice=True, prefix=self.prefix)
        if len(got.spans) == 0:
            return [0.0] * len(self.meanings)
        return [float(s) for s in self.weights.scores(pooled(got), body)]

    def save(self, path: Path) -> int:
        """Writes the file whole or not at all; returns its bytes. Raises ModelError."""
        w = self.weights
        header: dict[str, Any] = {
            "kind": _KIND,
            "prefix": self.prefix,
            "fingerprint": self.fingerprint,
            "meanings": [
                {
                    "name": m.name,
                    "intent": m.intent.name,
                    "slots": m.intent.slots,
                    "examples": sorted(m.examples),
                }
                for m in self.meanings
            ],
        }
        terms = np.frombuffer("\n".join(w.vocabulary.terms).encode(), np.uint8)
        arrays: dict[str, NDArray[Any]] = {
            "mean": w.scaler.mean, "deviation": w.scaler.deviation, "terms": terms,
            "term_weights": w.vocabulary.weights, "states": w.states, "words": w.words,
            "bias": w.bias, "limit": w.limit, "median": w.median,
        }  # fmt: skip
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise ModelError("head.write", f"{path.parent} cannot be made: {e.strerror}.") from e
        return file.write(path, header, arrays)

    @classmethod
    def load(cls, path: Path) -> AddOn:
        """Raises ModelError when the file is absent, damaged or something else."""
        header, a = file.read(path)
        try:
            if header["kind"] != _KIND:
                raise ValueError("it is another kind of file")
            terms = bytes(a["terms"]).decode().split("\n")
            meanings = [
                Meaning(
                    str(m["name"]),
                    Intent(str(m["intent"]), dict(m["slots"]), source="heads"),
                    frozenset(map(str, m["examples"])),
                )
                for m in header["meanings"]
            ]
            width, n = len(a["mean"]), len(meanings)
            if a["states"].shape != (width, n) or a["words"].shape != (len(terms), n):
                raise ValueError("its arrays do not fit")
            weights = Weights(
                Scaler(a["mean"], a["deviation"]), Vocabulary(terms, a["term_weights"]),
                a["states"], a["words"], a["bias"], a["limit"], a["median"],
            )  # fmt: skip
            return cls(meanings, weights, str(header["prefix"]), int(header["fingerprint"]))
        except (KeyError, ValueError, TypeError, AttributeError) as e:
            raise ModelError(
                "taught.refused", f"{path} does not hold together: {e}.", "Run: assistant teach"
            ) from e


def teach(
    lessons: Mapping[str, Lesson],
    others: Sequence[Example],
    states: TextStates,
    prefix: str,
    say: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[AddOn, list[Unseen]]:
    """others: sentences that mean something else; say: is told how many are read.

    Raises as ``TextStates.states`` does.
    """
    names = list(lessons)
    taught = {folded(e) for lesson in lessons.values() for e in lesson.examples}
    rows = [(folded(e), i) for i, name in enumerate(names) for e in lessons[name].examples]
    rows += [(text, -1) for e in others if (text := folded(e.text)) not in taught]
    read = []
    for place, (text, _) in enumerate(rows):
        say(place, len(rows))
        read.append(pooled(states.states(text, LAYERS, twice=True, prefix=prefix)))
    weights, unseen = learn(
        np.array(read), [text for text, _ in rows], np.array([i for _, i in rows]), len(names)
    )
    meanings = [_meaning(name, lesson) for name, lesson in lessons.items()]
    return AddOn(meanings, weights, prefix, states.fingerprint), unseen


def _meaning(name: str, lesson: Lesson) -> Meaning:
    intent = Intent(lesson.command, dict(lesson.slots), source="heads")
    if lesson.reply:
        intent = Intent(COMMAND_INTENT, {"reply": lesson.reply}, source="heads")
    return Meaning(name, intent, frozenset(map(normalize, lesson.examples)))
