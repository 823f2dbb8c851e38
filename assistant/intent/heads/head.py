"""A head: what was learnt from one set of labelled sentences, and its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.errors import ModelError
from assistant.intent.heads import file
from assistant.intent.heads.classifier import Classifier
from assistant.intent.heads.example import Mark
from assistant.intent.heads.features import folded, pooled
from assistant.intent.heads.states import TextStates
from assistant.intent.heads.tagger import Tagger


@dataclass(frozen=True, slots=True)
class Meaning:
    """intent: the best one in scope; score: 0 … 1; marks: the values in the text."""

    intent: str
    score: float
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """How texts are read for a head.

    prefix: the system message before them; layers: whose states the classifier takes;
    tag_layers: likewise the tagger. fold: capitals and marks at the end do not matter.
    """

    prefix: str
    layers: tuple[int, ...] = (9, 15, 24)
    tag_layers: tuple[int, ...] = (12, 18)
    fold: bool = True


class Head:
    def __init__(
        self,
        name: str,
        setup: Setup,
        labels: Sequence[str],
        classifier: Classifier,
        threshold: float,
        *,
        fingerprint: int,
        tagger: Tagger | None = None,
    ) -> None:
        """name: of the set; labels: intents, and OUT_OF_SCOPE as the last one where it was learnt.

        threshold: scores below it mean that it does not know; fingerprint: of the model.
        """
        self.name = name
        self.setup = setup
        self.labels = list(labels)
        self.classifier = classifier
        self.threshold = threshold
        self.fingerprint = fingerprint
        self.tagger = tagger

    @classmethod
    def load(cls, path: Path) -> Head:
        """Raises ModelError when the file is absent, damaged or not a head."""
        header, arrays = file.read(path)
        try:
            setup = header["setup"]
            labels = [str(label) for label in header["labels"]]
            tagger = header.get("tagger")
            return cls(
                str(header["name"]),
                Setup(
                    str(setup["prefix"]),
                    tuple(int(i) for i in setup["layers"]),
                    tuple(int(i) for i in setup["tag_layers"]),
                    bool(setup["fold"]),
                ),
                labels,
                Classifier.of_arrays(arrays, header["classifier"], len(labels)),
                float(header["threshold"]),
                fingerprint=int(header["fingerprint"]),
                tagger=Tagger.of_arrays(arrays, tagger) if tagger else None,
            )
        except (KeyError, ValueError, TypeError, AttributeError) as e:
            raise ModelError(
                "head.refused", f"{path} does not hold together: {e}.", "Train it again."
            ) from e

    def save(self, path: Path) -> int:
        """Writes the file whole or not at all; returns its bytes. Raises ModelError."""
        s = self.setup
        header: dict[str, Any] = {
            "name": self.name,
            "setup": {
                "prefix": s.prefix,
                "layers": list(s.layers),
                "tag_layers": list(s.tag_layers),
                "fold": s.fold,
            },
            "labels": self.labels,
            "classifier": self.classifier.settings(),
            "threshold": self.threshold,
            "fingerprint": self.fingerprint,
        }
        arrays = self.classifier.arrays()
        if self.tagger is not None:
            header["tagger"] = self.tagger.settings()
            arrays |= self.tagger.arrays()
        return file.write(path, header, arrays)

    def check(self, states: TextStates) -> None:
        """Raises ModelError when it was trained on another model than the reader's."""
        if states.fingerprint != self.fingerprint:
            raise ModelError(
                "head.foreign",
                f'The head "{self.name}" was trained on another language model.',
                "Train it again with the model that is used.",
            )

    def read(self, text: str, states: TextStates) -> Meaning:
        """What is meant, and how surely; a blank text means its best guess with score 0.

        Raises as ``TextStates.states`` does.
        """
        body = folded(text) if self.setup.fold else text
        tags = self.setup.tag_layers if self.tagger is not None else ()
        wanted = sorted({*self.setup.layers, *tags})
        got = states.states(body, wanted, twice=True, prefix=self.setup.prefix)
        if len(got.spans) == 0:
            return Meaning(self.labels[0], 0.0)
        judgement = self.classifier.judge(pooled(got.of(wanted, self.setup.layers)), body)
        intent = self.labels[judgement.label]
        marks: tuple[Mark, ...] = ()
        if self.tagger is not None:
            marks = self.tagger.tag(body, got.of(wanted, tags), intent)
        return Meaning(intent, judgement.score, marks)
