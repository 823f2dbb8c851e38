"""Sampling settings that would silently break the choice are refused."""

from __future__ import annotations

from typing import Any

import pytest

from kvquant.config import Sampling
from kvquant.errors import SettingError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("temperature", [NAN, INF, -INF, -0.1, "1", None, True]),
        ("top_p", [NAN, INF, -0.1, 0.0, 1.01, None]),
        ("min_p", [NAN, INF, -0.1, 1.01, None]),
        ("repetition_penalty", [NAN, INF, 0.0, -1.0, None]),
        ("top_k", [-1, 1.5, NAN, None, True]),
        ("repetition_window", [-1, 1.5, NAN, None]),
        ("seed", [-1, 1.5, NAN, "1", 2**63]),
    ],
)
def test_out_of_range(name: str, wrong: list[Any]) -> None:
    for value in wrong:
        with pytest.raises(SettingError, match=name):
            Sampling(**{name: value})


@pytest.mark.parametrize("temperature", [0, 0.0, 1e-30, 1e-8])
def test_tiny_temperatures_are_greedy(temperature: float) -> None:
    assert Sampling(temperature=temperature).greedy


def test_limits_are_allowed() -> None:
    Sampling(temperature=100.0, top_k=10**9, top_p=1, min_p=1.0, repetition_penalty=1e-3, seed=0)
