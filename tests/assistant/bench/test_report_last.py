"""Against the last report: better, worse, the same, or not to be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.bench.report import last
from assistant.bench.report.figures import MS, SHARE, Figure

CPU = "A processor"


def figure(
    value: float | None, unit: str = SHARE, *, more: bool = True, n: int | None = 9
) -> Figure:
    return Figure("part.key", "Title", unit, value, "part", more, n)


def saved(
    now: Figure, before: dict[str, Any] | None = None, date: str = "monday"
) -> dict[str, Any]:
    """What a report with this figure leaves for the next one."""
    before = before or {}
    row = last.as_rows(last.compare(now, before, CPU), before, date, CPU)
    return {"figures": {now.key: row}}


@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        (figure(0.9), figure(0.95), last.BETTER),
        (figure(0.9), figure(0.85), last.WORSE),
        (figure(0.9), figure(0.90001), last.SAME),
        (figure(0.1, more=False), figure(0.05, more=False), last.BETTER),
        (figure(0.1, more=False), figure(0.15, more=False), last.WORSE),
        (figure(0.0), figure(0.1), last.BETTER),
        (figure(100, MS, more=False), figure(105, MS, more=False), last.SAME),
        (figure(100, MS, more=False), figure(50, MS, more=False), last.BETTER),
        (figure(100, MS, more=False), figure(150, MS, more=False), last.WORSE),
        (figure(0.9, n=10), figure(0.95, n=20), last.OTHER),
        (figure(0.9), figure(None), ""),
        (figure(None), figure(0.9), ""),
    ],
)
def test_verdicts(was: Figure, now: Figure, verdict: str) -> None:
    assert last.compare(now, saved(was), CPU).verdict == verdict


def test_times_of_another_machine_are_not_compared_but_shares_are() -> None:
    time, part = figure(100, MS, more=False), figure(0.5)
    assert last.compare(figure(50, MS, more=False), saved(time), "Other").verdict == last.OTHER
    assert last.compare(figure(0.6), saved(part), "Other").verdict == last.BETTER


def test_a_figure_that_was_left_out_is_compared_with_the_time_before() -> None:
    first = saved(figure(0.8))
    missing = saved(figure(None), first, "tuesday")
    again = saved(figure(None), missing, "wednesday")
    for before in (missing, again):
        found = last.compare(figure(0.9), before, CPU)
        assert (found.last, found.last_date, found.verdict) == (0.8, "monday", last.BETTER)
        assert found.change == pytest.approx(0.1)


def test_a_part_that_did_not_run_is_carried_on() -> None:
    row = saved(figure(0.8))["figures"]["part.key"]
    kept = last.carried(last.carried(row))
    found = last.compare(figure(0.7), {"figures": {"part.key": kept}}, CPU)
    assert (found.last, found.last_date, found.verdict) == (0.8, "monday", last.WORSE)


@pytest.mark.parametrize(
    "before",
    [
        {},
        {"figures": 3},
        {"figures": {"part.key": 7}},
        {"figures": {"part.key": {"value": "much"}}},
        {"figures": {"part.key": {"value": True}}},
    ],
)
def test_without_a_usable_last_report_there_is_no_change(before: dict[str, Any]) -> None:
    found = last.compare(figure(0.9), before, CPU)
    assert (found.last, found.change, found.verdict) == (None, None, "")
    last.as_rows(found, before, "monday", CPU)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00", "[" * 100_000])
def test_a_damaged_report_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    assert last.read(path) == {}
    path.write_text(text, encoding="utf-8")
    assert last.read(path) == {}
