"""Sentences as the tokens that may follow each other, worked out as far as it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assistant.asr.moonshine_search import Choice
from assistant.asr.moonshine_tokens import END
from assistant.asr.numbers import DIGITS
from assistant.asr.sentences import FREE, WordNetwork

Spell = Callable[[str], tuple[int, ...]]

PAUSES = (",", ".")
"""What the network writes where somebody takes breath."""

STOPS = ("?", "!")
"""The same at the end; a full stop may be either."""


@dataclass(slots=True)
class _Place:
    """Where a spelling stands: what may come next, and which words end here.

    after: by word that ends here, the nodes of the word network that it leads to.
    """

    next: dict[int, _Place] = field(default_factory=dict)
    after: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Step:
    """tokens: those that may follow; whole: a sentence may end here; free: any may follow."""

    tokens: NDArray[np.int64]
    whole: bool
    free: bool


class TokenGraph:
    """A guide that holds the search to the sentences.

    Its states are numbers, 0 the first; made when they are first reached, then kept.
    """

    closed = True

    def __init__(self, words: WordNetwork, spell: Spell) -> None:
        self._words = words
        self._spell = spell
        self._pauses = {spell(mark)[-1] for mark in PAUSES}
        self._stops = {spell(mark)[-1] for mark in STOPS}
        self._roots: dict[frozenset[int], _Place] = {}
        self._spellings: dict[tuple[str, bool], list[tuple[int, ...]]] = {}
        self._numbers: dict[frozenset[int], int] = {}
        self._states: list[tuple[tuple[_Place, ...], frozenset[int]]] = []
        self._steps: list[Step] = []
        self._next: list[dict[int, int]] = []
        first = self._words.closure([0])
        self._state([self._root(first, first=True)], first)

    def choices(self, state: int, logprobs: NDArray[np.float32], most: int) -> list[Choice]:
        step = self._steps[state]
        tokens = step.tokens
        if step.free:
            best = np.argpartition(-logprobs, most)[: most + 1]
            tokens = np.union1d(tokens, best[best != END])
        if len(tokens) > most:
            tokens = tokens[np.argpartition(-logprobs[tokens], most - 1)[:most]]
        found = [Choice(int(t), float(logprobs[t]), 0.0, self.after(state, int(t))) for t in tokens]
        if step.whole:
            found.append(Choice(END, float(logprobs[END]), 0.0, state))
        return found

    def takes(self, tokens: Iterable[int]) -> bool:
        """Whether the tokens, without END, are one of the sentences."""
        state = 0
        for token in tokens:
            state = self.after(state, token)
            if state < 0:
                return False
        return self._steps[state].whole

    def after(self, state: int, token: int) -> int:
        """The state that a token leads to; -1 when it may not follow."""
        known = self._next[state].get(token)
        if known is None:
            known = self._next[state][token] = self._reach(state, token)
        return known

    def _reach(self, state: int, token: int) -> int:
        places, between = self._states[state]
        reached = [place.next[token] for place in places if token in place.next]
        nodes = {node for place in reached for node in place.after}
        free = [n for n in between for word, n in self._words.arcs[n] if word == FREE]
        nodes.update(free)
        if token in self._marks(state):
            nodes.update(between)
        if not reached and not nodes:
            return -1
        ended = self._words.closure(sorted(nodes)) if nodes else frozenset[int]()
        return self._state([*reached, self._root(ended)] if ended else reached, ended)

    def _state(self, places: Iterable[_Place], between: frozenset[int]) -> int:
        """between: nodes of the word network where a word has just ended."""
        kept = tuple(place for place in places if place.next)
        key = frozenset([*map(id, kept), *(-1 - node for node in between)])
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._states)
            self._states.append((kept, between))
            self._next.append({})
            tokens = self._marks(number).union(*(place.next for place in kept))
            whole = not self._words.ends.isdisjoint(between)
            free = any(word == FREE for node in between for word, _ in self._words.arcs[node])
            self._steps.append(Step(np.array(sorted(tokens), dtype=np.int64), whole, free))
        return number

    def _marks(self, state: int) -> set[int]:
        """Punctuation that may stand here: after a word, never before the first."""
        between = self._states[state][1]
        if not between or state == 0:
            return set()
        if self._words.ends.isdisjoint(between):
            return self._pauses
        return self._pauses | self._stops

    def _root(self, nodes: frozenset[int], first: bool = False) -> _Place:
        """The spellings of all words that may follow, in one tree."""
        root = self._roots.get(nodes)
        if root is None:
            root = self._roots[nodes] = _Place()
            for node in nodes:
                for word, end in self._words.arcs[node]:
                    if word in ("", FREE):
                        continue
                    for spelling in self._spelled(word, first):
                        place = root
                        for token in spelling:
                            place = place.next.setdefault(token, _Place())
                        place.after.add(end)
        return root

    def _spelled(self, word: str, first: bool) -> list[tuple[int, ...]]:
        """The ways in which a recogniser writes a word: small, with a capital, in digits."""
        known = self._spellings.get((word, first))
        if known is None:
            forms = {word, word[:1].upper() + word[1:]}
            if word in DIGITS:
                forms.add(DIGITS[word])
            texts = [" " + form for form in forms]
            if not first:
                texts += ["-" + form for form in forms]
            known = self._spellings[word, first] = [self._spell(text) for text in texts]
        return known
