"""Lifts the words that can be said now in an open search: a token trie with ways back.

Each further token of a phrase is lifted; what was lifted is taken back when the phrase is
left unfinished, so that its beginning alone helps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assistant.asr.moonshine_search import Choice
from assistant.asr.moonshine_tokens import Tokens

LIFT = 1.5
"""Added to the log probability of each token of a phrase.

Of eight commands with made-up names three are heard without and six with it, as with anything
from 1 to 3. With phrases that nobody says, read speech (24 clips) has no more errors.
"""

DEEPER = 0.25
"""Added more for each token after the first: a long way into a phrase is hardly chance."""

MOST_LIFT = 2.0

MOST_PHRASES = 600

MOST_WORDS = 4
"""Names are shorter; a whole sentence would be lifted so far that noise becomes it."""


@dataclass(slots=True)
class _Node:
    """lifted: what was added from the root to here; whole: a phrase ends here.

    kept: what was added up to a shorter phrase on the way, which stays.
    back: the node of the longest other beginning of a phrase that ends here.
    """

    depth: int = 0
    lifted: float = 0.0
    kept: float = 0.0
    whole: bool = False
    next: dict[int, int] = field(default_factory=dict)
    back: int = 0


class PhraseTrie:
    """A guide for the open search; its states are nodes, 0 the root."""

    closed = False

    def __init__(self, phrases: Iterable[str], tokens: Tokens, lift: float = LIFT) -> None:
        """phrases: as they are spoken; a word may be written small or with a capital."""
        self._nodes = [_Node()]
        self._begins_word = tokens.begins_word
        plain = dict.fromkeys(" ".join(p.split()) for p in phrases)
        names = [phrase for phrase in plain if 0 < len(phrase.split()) <= MOST_WORDS]
        for phrase in names[:MOST_PHRASES]:
            for form in _forms(phrase):
                self._add(tokens.spell(" " + form), lift)
        self._link()

    def choices(self, state: int, logprobs: NDArray[np.float32], most: int) -> list[Choice]:
        best = np.argpartition(-logprobs, most)[: most + 1]
        lifted = self._on(state)
        return [
            self._choice(state, int(token), float(logprobs[token]))
            for token in {*best.tolist(), *lifted}
        ]

    def step(self, state: int, token: int) -> tuple[int, float]:
        """The node that a token leads to, and what is added (or taken back) for it."""
        node = self._nodes[state]
        if token in node.next:
            after = node.next[token]
            return after, self._nodes[after].lifted - node.lifted
        at, kept = state, node.kept
        if node.whole and self._begins_word(token):
            # "lamp" is no word in "lampshade"; a whole phrase shares no word with the next.
            at, kept = 0, node.lifted
        while at and token not in self._nodes[at].next:
            at = self._nodes[at].back
        after = self._nodes[at].next.get(token, 0)
        return after, self._nodes[after].lifted - (node.lifted - kept)

    def _choice(self, state: int, token: int, logprob: float) -> Choice:
        after, lift = self.step(state, token)
        return Choice(token, logprob, lift, after)

    def _on(self, state: int) -> set[int]:
        """Tokens that go on a phrase from here."""
        found: set[int] = set()
        while True:
            found.update(self._nodes[state].next)
            if state == 0:
                return found
            state = self._nodes[state].back

    def _add(self, spelling: tuple[int, ...], lift: float) -> None:
        at = 0
        for token in spelling:
            node = self._nodes[at]
            if token not in node.next:
                more = min(lift * MOST_LIFT, lift * (1 + DEEPER * node.depth))
                node.next[token] = len(self._nodes)
                self._nodes.append(_Node(node.depth + 1, node.lifted + more))
            at = node.next[token]
        self._nodes[at].whole = at != 0

    def _link(self) -> None:
        """What stays and the way back of each node, those nearer to the root first."""
        todo = [(token, child, 0) for token, child in self._nodes[0].next.items()]
        for token, child, parent in todo:
            above = self._nodes[parent]
            self._nodes[child].kept = above.lifted if above.whole else above.kept
            at = above.back
            if parent:
                while token not in self._nodes[at].next and at:
                    at = self._nodes[at].back
                self._nodes[child].back = self._nodes[at].next.get(token, 0)
            todo += [(t, c, child) for t, c in self._nodes[child].next.items()]


def _forms(phrase: str) -> list[str]:
    """As given, small, each word with a capital, the first word with a capital."""
    small = phrase.lower()
    capitals = " ".join(word[:1].upper() + word[1:] for word in small.split())
    return list(dict.fromkeys([phrase, small, capitals, small[:1].upper() + small[1:]]))
