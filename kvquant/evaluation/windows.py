"""Stretches of held-out text as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvquant import texts
from kvquant.engine import Engine
from kvquant.errors import DataFileError, SettingError

NAMES = ("wikitext2", "gutenberg", "sgd-dialogues")
"""The data sets that windows are taken from, those that are there."""


@dataclass(frozen=True, slots=True)
class Window:
    """tokens: context + 1 of them; the last is only ever a prediction's target."""

    text: str
    tokens: list[int]


def windows(engine: Engine, data: Path, context: int, n: int) -> list[Window]:
    """n windows in turns from each text that is there, spread evenly over it without overlap.

    Raises DataFileError when none is there or one is too short.
    """
    names = [name for name in NAMES if texts.has(data, name)]
    if not names:
        raise DataFileError(
            "data.absent",
            f"There is none of {', '.join(NAMES)} in {data}.",
            "Name the folder that holds them with --data.",
        )
    shares = {name: len(range(i, n, len(names))) for i, name in enumerate(names)}
    found = {
        name: [Window(name, ids) for ids in _of(engine, data, name, context + 1, share)]
        for name, share in shares.items()
        if share
    }
    return [found[names[i % len(names)]][i // len(names)] for i in range(n)]


def _of(engine: Engine, data: Path, name: str, length: int, n: int) -> list[list[int]]:
    if name == "sgd-dialogues":
        return _conversations(engine, texts.dialogues(data, "held_out"), length, n)
    read = texts.wikitext if name == "wikitext2" else texts.novel
    ids = engine.tokenizer.encode(read(data, "held_out"))
    _check(name, len(ids) // length, n, length)
    gap = (len(ids) - n * length) // n
    return [ids[k * (length + gap) :][:length] for k in range(n)]


def _conversations(
    engine: Engine, found: Sequence[texts.Dialogue], length: int, n: int
) -> list[list[int]]:
    """One conversation after the other in the model's chat format, as an assistant hears them."""
    cut = []
    for k in range(n):
        part = found[k * len(found) // n : (k + 1) * len(found) // n]
        cut.append([token for dialogue in part for token in _chat(engine, dialogue)][:length])
    _check("sgd-dialogues", sum(len(ids) == length for ids in cut), n, length)
    return cut


def _chat(engine: Engine, dialogue: texts.Dialogue) -> list[int]:
    try:
        return [t for role, text in dialogue for t in engine.chat.message(role, text)]
    except SettingError:  # A model without a chat format reads them as plain text.
        return engine.tokenizer.encode("".join(f"{role}: {text}\n" for role, text in dialogue))


def _check(name: str, there: int, n: int, length: int) -> None:
    if there < n:
        raise DataFileError(
            "data.short",
            f"The held-out part of {name} has {there} stretches of {length} tokens, "
            f"{n} are needed.",
            "Take fewer --windows or a shorter --context.",
        )
