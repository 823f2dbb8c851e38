"""What is remembered of a conversation, and for how long."""

from __future__ import annotations

import pytest

from assistant.config import DialogueConfig
from assistant.dialogue.history import Exchange, History, fitting, refers_back


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def filled(n: int, clock: Clock, **settings: int) -> History:
    history = History(DialogueConfig(**settings), clock)  # type: ignore[arg-type]
    for i in range(n):
        history.add(f"question {i}", f"answer {i}")
    return history


def test_the_last_ones_are_kept() -> None:
    history = filled(5, Clock(), history_turns=2)
    assert history.exchanges() == (
        Exchange("question 3", "answer 3"),
        Exchange("question 4", "answer 4"),
    )
    assert filled(3, Clock(), history_turns=0).exchanges() == ()


def test_a_pause_forgets() -> None:
    clock = Clock()
    history = filled(2, clock, forget_after_s=60)
    clock.now += 60
    assert len(history.exchanges()) == 2
    history.add("again", "yes")
    clock.now += 60
    assert len(history.exchanges()) == 3
    clock.now += 0.5
    assert history.exchanges() == ()
    history.add("new", "start")
    assert len(history.exchanges()) == 1


def test_a_pause_before_adding_forgets_too() -> None:
    clock = Clock()
    history = filled(2, clock, forget_after_s=60)
    clock.now += 61
    history.add("new", "start")
    assert [e.user for e in history.exchanges()] == ["new"]


def test_the_oldest_are_dropped_to_fit() -> None:
    exchanges = [Exchange("u" * n, "a" * n) for n in (1, 50, 2, 3)]

    def size(exchange: Exchange) -> int:
        return len(exchange.user) + len(exchange.assistant)

    assert fitting(exchanges, 1000, size) == tuple(exchanges)
    assert fitting(exchanges, 11, size) == tuple(exchanges[2:])
    assert fitting(exchanges, 10, size) == tuple(exchanges[2:])
    assert fitting(exchanges, 9, size) == tuple(exchanges[3:])
    assert fitting(exchanges, 5, size) == ()
    assert fitting([], 5, size) == ()


@pytest.mark.parametrize(
    "text",
    [
        "who wrote it",
        "what about cats",
        "and in Italy",
        "what is my name",
        "do you remember what I told you",
        "tell me more",
        "why",
        "is she still alive",
    ],
)
def test_what_refers_to_earlier_turns(text: str) -> None:
    assert refers_back(text)


@pytest.mark.parametrize(
    "text",
    ["what is the capital of Peru", "I am so tired", "tell me a joke", "how do you cook rice"],
)
def test_what_stands_alone(text: str) -> None:
    assert not refers_back(text)
