"""What may be said now, as a network of words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assistant.errors import AsrError

FREE = "*"
"""In place of a word: any words at all, at least one."""

_PIECE = re.compile(r"\s+|[()\[\]|]|\{[^{}]*\}|[^\s()\[\]|{}]+")


@dataclass(frozen=True, slots=True)
class Sentences:
    """Whole sentences that are likely, so that they can be told from what sounds like them.

    templates: words, ``(one|other)``, ``[perhaps]``, ``{list}``, ``*`` for any words.
    lists: the phrases that a list's name stands for; templates themselves.
    alone: nothing else is said, so that the nearest one is taken even when it is not near.
    """

    templates: tuple[str, ...]
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    alone: bool = False


class WordNetwork:
    """The sentences as a network: node 0 begins, ``ends`` are the nodes where one is whole.

    arcs: by node, the words that may come with the node that each leads to; "" goes on
        without a word.
    """

    def __init__(self, sentences: Sentences) -> None:
        """Raises AsrError for a template that cannot be read."""
        self.arcs: list[list[tuple[str, int]]] = [[]]
        self.ends: set[int] = set()
        self._lists = sentences.lists
        for template in sentences.templates:
            self.ends.add(self._add(template, 0))

    def takes(self, words: Sequence[str]) -> bool:
        """Whether the words are one of the sentences."""
        nodes = self.closure([0])
        for word in words:
            after = [n for node in nodes for said, n in self.arcs[node] if said in (word, FREE)]
            if not after:
                return False
            nodes = self.closure(after)
        return not self.ends.isdisjoint(nodes)

    def closure(self, nodes: Sequence[int]) -> frozenset[int]:
        """The nodes and those that are reached from them without a word."""
        found = set(nodes)
        todo = list(nodes)
        while todo:
            for word, node in self.arcs[todo.pop()]:
                if word == "" and node not in found:
                    found.add(node)
                    todo.append(node)
        return frozenset(found)

    def _node(self) -> int:
        self.arcs.append([])
        return len(self.arcs) - 1

    def _add(self, template: str, begin: int, within: tuple[str, ...] = ()) -> int:
        """Adds a template's words from a node on; the node where they end."""
        pieces = [p for p in _PIECE.findall(template) if not p.isspace()]
        if "".join(pieces) != "".join(template.split()):
            raise _bad(template)
        at, end = self._choice(pieces, 0, begin, template, within)
        if at != len(pieces):
            raise _bad(template)
        return end

    def _choice(
        self, pieces: list[str], at: int, begin: int, template: str, within: tuple[str, ...]
    ) -> tuple[int, int]:
        """Sequences with | between them; where they end in the pieces and in the network."""
        ends = []
        while True:
            at, node = self._sequence(pieces, at, begin, template, within)
            ends.append(node)
            if at == len(pieces) or pieces[at] != "|":
                break
            at += 1
        if len(ends) == 1:
            return at, ends[0]
        end = self._node()
        for node in ends:
            self.arcs[node].append(("", end))
        return at, end

    def _sequence(
        self, pieces: list[str], at: int, node: int, template: str, within: tuple[str, ...]
    ) -> tuple[int, int]:
        while at < len(pieces) and pieces[at] not in "|)]":
            piece = pieces[at]
            at += 1
            if piece in "([":
                start = self._node()
                self.arcs[node].append(("", start))
                at, end = self._choice(pieces, at, start, template, within)
                if at == len(pieces) or pieces[at] != {"(": ")", "[": "]"}[piece]:
                    raise _bad(template)
                at += 1
                if piece == "[":
                    self.arcs[node].append(("", end))
                node = end
            elif piece[0] == "{":
                node = self._list(piece[1:-1], node, template, within)
            else:
                end = self._node()
                self.arcs[node].append((piece, end))
                if piece == FREE:
                    self.arcs[end].append((FREE, end))
                node = end
        return at, node

    def _list(self, name: str, begin: int, template: str, within: tuple[str, ...]) -> int:
        if name not in self._lists or name in within:
            raise _bad(template)
        start, end = self._node(), self._node()
        self.arcs[begin].append(("", start))
        for phrase in self._lists[name]:
            self.arcs[self._add(phrase, start, (*within, name))].append(("", end))
        return end


def _bad(template: str) -> AsrError:
    return AsrError(
        "asr.bad_sentence",
        f'The sentence template "{template}" cannot be read.',
        "Brackets must match, and each {list} must be given.",
    )
