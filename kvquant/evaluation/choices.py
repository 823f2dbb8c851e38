"""HellaSwag: does the model find the right one of four endings as often as over 16 bits?

An ending is a continuation of the context, a space between them. Two scores of it: the sum of its
tokens' log-probabilities (``acc``), and that sum per character of the ending (``acc_norm``, the
one that is usually compared). The context is computed once and copied for each of the endings.
Questions are short, so the bits are those of the cache at the end of each ending.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.engine import Engine
from kvquant.errors import DataFileError
from kvquant.evaluation.divergence import Mode
from kvquant.evaluation.statistics import interval
from kvquant.scoring import Job, Logits, Setting, Start, log_probability, run_jobs
from kvquant.session import Session
from kvquant.texts import Choice

_ROOM = 4
"""Tokens that a context has beyond the longest question."""


@dataclass(frozen=True, slots=True)
class Question:
    """A choice as tokens; every ending has at least one of its own after the common context."""

    context: list[int]
    endings: list[list[int]]
    characters: list[int]
    label: int


def questions(engine: Engine, choices: Sequence[Choice]) -> list[Question]:
    """Raises DataFileError for one that does not fit the model's context."""
    found = []
    for choice in choices:
        context = engine.tokenizer.encode(choice.ctx)
        whole = [engine.tokenizer.encode(f"{choice.ctx} {e}") for e in choice.endings]
        n = min([len(context), *(_common(context, ids, len(ids) - 1) for ids in whole)])
        if n < 1 or max(map(len, whole)) + _ROOM > engine.info.n_ctx_train:
            raise DataFileError(
                "data.question", f"HellaSwag's question {choice.id} does not fit the model."
            )
        found.append(
            Question(
                context[:n],
                [ids[n:] for ids in whole],
                [len(e) for e in choice.endings],
                choice.label,
            )
        )
    return found


def room(found: Sequence[Question]) -> int:
    """Tokens of a context that every question fits."""
    return max(len(q.context) + max(map(len, q.endings)) for q in found) + _ROOM


def _common(a: Sequence[int], b: Sequence[int], most: int) -> int:
    n = 0
    while n < min(len(a), most) and a[n] == b[n]:
        n += 1
    return n


@dataclass(slots=True)
class Answers:
    """One setting's sums of log-probabilities: (questions, endings), and its cache's size."""

    setting: Setting
    sums: list[list[float]] = field(default_factory=list)
    cache_bytes: int = 0
    cache_bytes_fp16: int = 0

    @property
    def bits(self) -> float:
        return 16 * self.cache_bytes / self.cache_bytes_fp16

    def right(self, found: Sequence[Question], *, per_character: bool) -> NDArray[np.float64]:
        """(questions,): 1 where the best ending is the right one."""
        chosen = self.chosen(found, per_character=per_character)
        labels = np.array([q.label for q in found])
        right: NDArray[np.float64] = np.equal(chosen, labels).astype(np.float64)
        return right

    def chosen(self, found: Sequence[Question], *, per_character: bool) -> NDArray[np.int64]:
        return np.array(
            [
                np.argmax(np.divide(sums, q.characters) if per_character else sums)
                for sums, q in zip(self.sums, found, strict=True)
            ]
        )


def answer(
    engine: Engine,
    setting: Setting,
    found: Sequence[Question],
    mode: Mode,
    progress: Callable[[str, float], None],
) -> Answers:
    """Asks every question. Raises KvquantError."""
    result = Answers(setting, [[0.0] * len(q.endings) for q in found])
    if mode == "decode":
        run_jobs(engine, _Queue(result, found, progress).take)
        return result
    session = engine.session()
    for i, question in enumerate(found):
        session.truncate(0)
        session.prefill(question.context)
        first = session.logits()
        fork = _Fork(session)
        for e, ending in enumerate(question.endings):
            fork.into(session)
            rows = _rows(session, ending[:-1])
            for row, token in zip([first, *rows], ending, strict=True):
                result.sums[i][e] += log_probability(row, token)
            _count(result, session)
        progress(setting.name, (i + 1) / len(found))
    return result


def _rows(session: Session, tokens: Sequence[int]) -> Iterator[Logits]:
    for at in range(0, len(tokens), session.chunk):
        yield from session.append_rows(tokens[at : at + session.chunk])


class _Queue:
    """The contexts in turn, and the endings of computed ones before further contexts."""

    def __init__(
        self,
        result: Answers,
        found: Sequence[Question],
        progress: Callable[[str, float], None],
    ) -> None:
        self._result = result
        self._found = found
        self._progress = progress
        self._next = 0
        self._endings: deque[Start] = deque()

    def take(self) -> Start | None:
        if self._endings:
            return self._endings.popleft()
        if self._next == len(self._found):
            return None
        i = self._next
        self._next += 1
        self._progress(self._result.setting.name, i / len(self._found))
        return partial(self._context, i)

    def _context(self, i: int, session: Session) -> Job:
        question = self._found[i]
        session.truncate(0)
        row = yield question.context[0]
        for token in question.context[1:]:
            row = yield token
        fork = _Fork(session)
        for e in range(len(question.endings)):
            self._endings.append(partial(self._ending, i, e, fork, row))

    def _ending(self, i: int, e: int, fork: _Fork, row: Logits, session: Session) -> Job:
        tokens = self._found[i].endings[e]
        sums = self._result.sums[i]
        fork.into(session)
        sums[e] += log_probability(row, tokens[0])
        for token, following in pairwise(tokens):
            row = yield token
            sums[e] += log_probability(row, following)
        _count(self._result, session)


def _count(result: Answers, session: Session) -> None:
    result.cache_bytes += session.kv_bytes
    result.cache_bytes_fp16 += session.kv_bytes_fp16


class _Fork:
    """A computed context that several sessions go on from."""

    def __init__(self, session: Session) -> None:
        self._saved = session.snapshot() if session.info.backend == "native" else None
        self._tokens = session.tokens

    def into(self, session: Session) -> None:
        if self._saved is not None:
            session.restore(self._saved)
        else:
            # The reference cannot copy a cache; it computes the context again.
            session.truncate(0)
            for token in self._tokens:
                session.append_rows([token])


def row(answers: Answers, truth: Answers, found: Sequence[Question]) -> dict[str, Any]:
    """The figures of a setting; differences are in percentage points of right answers.

    shift: root mean square change of an ending's log-probability, which tells caches apart long
    before answers change.
    """
    shift = np.concatenate(answers.sums) - np.concatenate(truth.sums)
    right = answers.right(found, per_character=True)
    plain = answers.right(found, per_character=False)
    difference = 100 * (right - truth.right(found, per_character=True))
    low, high = interval(difference[:, None], 1)
    same = answers.chosen(found, per_character=True) == truth.chosen(found, per_character=True)
    other = 100 * (plain - truth.right(found, per_character=False))
    return {
        "hellaswag": round(float(right.mean()), 5),
        "hellaswag_detail": {
            "n": len(found),
            "bits_mean": round(answers.bits, 3),
            "acc_norm": round(float(right.mean()), 5),
            "acc": round(float(plain.mean()), 5),
            "difference": round(float(difference.mean()), 3),
            "difference_low": round(low, 3),
            "difference_high": round(high, 3),
            "difference_acc": round(float(other.mean()), 3),
            "same_choice": round(float(same.mean()), 4),
            "shift": round(float(np.sqrt((shift**2).mean())), 4),
        },
    }
