"""Choices that stay when there is more to choose from."""

from __future__ import annotations

from collections import Counter

from assistant.intent.own.picks import Picks

VALUES = [f"value {i}" for i in range(20)]


def drawn(values: list[str], seed: str = "0") -> list[str]:
    picks = Picks(seed)
    return [picks.of(values) for _ in range(400)]


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(VALUES) == drawn(VALUES[::-1])
    assert drawn(VALUES) != drawn(VALUES, "1")


def test_all_values_come_up() -> None:
    count = Counter(drawn(VALUES))
    assert set(count) == set(VALUES)
    assert max(count.values()) < 60


def test_one_more_value_changes_only_what_it_wins() -> None:
    before, after = drawn(VALUES), drawn([*VALUES, "new"])
    changed = [b for a, b in zip(before, after, strict=True) if a != b]
    assert set(changed) == {"new"}
    assert len(changed) < 60
