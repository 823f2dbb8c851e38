"""Windows of tokens to calibrate and train on, and held-out ones to judge by.

Which part of a text is for what is decided by ``kvquant.texts``; the two never meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kvquant import texts
from kvquant.chat import ChatFormat
from kvquant.errors import DataFileError
from kvquant.texts import Part
from kvquant.token_text import AnyTokenizer


@dataclass(frozen=True, slots=True)
class Window:
    """name: data set and number; tokens: as many as were asked for."""

    name: str
    tokens: list[int]


def windows(
    data: Path, part: Part, tokenizer: AnyTokenizer, chat: ChatFormat, *, length: int, count: int
) -> list[Window]:
    """At most ``count`` windows of each data set, spread over its part; the sets take turns.

    Every second window of encyclopedia text has the marks of its file undone. Raises
    DataFileError when the folder has none of the data sets.
    """
    runs = _runs(data, part, tokenizer, chat)
    if not runs:
        raise DataFileError(
            "data.absent",
            f"There is none of {', '.join(_SETS)} in {data}.",
            "Name the folder that holds the data sets with --data.",
        )
    parts = {name: _spread(tokens, length, count) for name, tokens in runs.items()}
    if "wikitext2" in parts:
        for i in range(1, len(parts["wikitext2"]), 2):
            marked = tokenizer.decode(parts["wikitext2"][i])
            text = texts.plain(marked)
            parts["wikitext2"][i] = _filled(tokenizer.encode(text), parts["wikitext2"][i])
    return [
        Window(f"{name}-{i}", parts[name][i])
        for i in range(count)
        for name in parts
        if i < len(parts[name])
    ]


def tokens_of(data: Path, part: Part, tokenizer: AnyTokenizer, chat: ChatFormat) -> list[int]:
    """All tokens of a part, for counting. Raises DataFileError."""
    return [t for run in _runs(data, part, tokenizer, chat).values() for t in run]


_SETS = ("wikitext2", "gutenberg", "sgd-dialogues")


def _runs(
    data: Path, part: Part, tokenizer: AnyTokenizer, chat: ChatFormat
) -> dict[str, list[int]]:
    runs = {}
    if texts.has(data, "wikitext2"):
        runs["wikitext2"] = tokenizer.encode(texts.wikitext(data, part))
    if texts.has(data, "gutenberg"):
        runs["gutenberg"] = tokenizer.encode(texts.novel(data, part))
    if texts.has(data, "sgd-dialogues"):
        runs["sgd-dialogues"] = list(_chats(data, part, chat))
    return runs


_TURNS_OF_A_CHAT = 120
"""A system text comes again after so many turns: a day of a voice assistant."""


def _chats(data: Path, part: Part, chat: ChatFormat) -> Iterator[int]:
    turns = 0
    for dialogue in texts.dialogues(data, part):
        if turns == 0 and chat.default_system:
            yield from chat.message("system", chat.default_system)
        for role, text in dialogue:
            yield from chat.message(role, text)
        turns = turns + len(dialogue) if turns < _TURNS_OF_A_CHAT else 0


def _spread(tokens: list[int], length: int, count: int) -> list[list[int]]:
    count = min(count, len(tokens) // length)
    step = (len(tokens) - length) // max(count - 1, 1)
    return [tokens[i * step : i * step + length] for i in range(count)]


def _filled(tokens: list[int], spare: list[int]) -> list[int]:
    """A text without marks is shorter; the end of the marked one makes up for it."""
    return (tokens + spare[len(tokens) :])[: len(spare)]
