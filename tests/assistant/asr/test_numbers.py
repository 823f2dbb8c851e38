from __future__ import annotations

import pytest

from assistant.asr.numbers import numbers_in, other_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Set a timer for twenty-five minutes.", [25]),
        ("20 or thirty or 5", [20, 30, 5]),
        ("seventy one and 71", [71, 71]),
        ("forty ten", [40, 10]),
        ("at 7:30", [7, 30]),
        ("nobody knows", []),
    ],
)
def test_numbers(text: str, numbers: list[int]) -> None:
    assert numbers_in(text) == numbers


def test_other_numbers() -> None:
    assert other_numbers("for fifteen minutes", "for fifty minutes")
    assert not other_numbers("for 15 minutes", "for fifteen minutes")
    assert not other_numbers("up before it", "up to forty")
