"""Understanders one after the other."""

from __future__ import annotations

from assistant.intent.base import Intent, Understander
from assistant.intent.chain import Chain


class Knows(Understander):
    def __init__(self, *texts: str, name: str) -> None:
        self.texts = texts
        self.name = name
        self.loaded = False
        self.asked: list[str] = []

    def load(self) -> None:
        self.loaded = True

    def understand(self, text: str) -> Intent | None:
        self.asked.append(text)
        return Intent(self.name) if text in self.texts else None


class Guesses(Knows):
    def exactly(self, text: str) -> Intent | None:
        return None


def test_who_guesses_is_not_asked_where_it_must_be_exact() -> None:
    chain = Chain([Knows("stop", name="knows"), Guesses("stop", "go", name="guesses")])
    assert chain.exactly("stop") == Intent("knows")
    assert chain.exactly("go") is None
    assert chain.understand("go") == Intent("guesses")


def test_the_first_that_knows_is_right_and_the_others_are_not_asked() -> None:
    first, second = Knows("stop", name="first"), Knows("stop", "go", name="second")
    chain = Chain([first, second])
    chain.load()
    assert first.loaded
    assert second.loaded
    assert chain.understand("stop") == Intent("first")
    assert second.asked == []
    assert chain.understand("go") == Intent("second")
    assert chain.understand("sing") is None
    assert Chain([]).understand("stop") is None
