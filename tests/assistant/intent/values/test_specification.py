"""The share of a public specification that the parsers meet must not fall."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assistant.bench.values import read_rows, score

DATA = Path(os.environ.get("ASSISTANT_DATA", Path(__file__).parents[5] / "shared" / "data"))
SPECIFICATION = DATA / "recognizers-text"
FLOORS = {
    "BooleanModel": 0.9,
    "DateParser": 0.94,
    "DatePeriodParser": 0.9,
    "DateTimeModel": 0.86,
    "DateTimeParser": 0.97,
    "DateTimePeriodParser": 0.95,
    "DurationExtractor": 0.9,
    "DurationParser": 0.97,
    "NumberModel": 0.97,
    "NumberRangeModel": 0.83,
    "OrdinalModel": 0.93,
    "SetParser": 0.97,
    "TemperatureModel": 0.97,
    "TimeParser": 0.98,
    "TimePeriodParser": 0.97,
}


@pytest.mark.skipif(not SPECIFICATION.is_dir(), reason=f"no specification in {SPECIFICATION}")
def test_the_share_does_not_fall() -> None:
    figures = score(read_rows(SPECIFICATION))
    assert figures["outside"] == {}, "every row is judged"
    assert figures["accuracy"] >= 0.88
    models = figures["models"]
    met = {name: models[name]["accuracy"] for name in FLOORS}
    assert all(met[name] >= floor for name, floor in FLOORS.items()), met


def test_a_row_is_right_only_when_all_of_it_is() -> None:
    row = {"model": "NumberModel", "input": "2 eggs and a dozen rolls"}
    right = row | {"results": [{"Resolution": {"value": "2"}}, {"Resolution": {"value": "12"}}]}
    wrong = row | {"results": [{"Resolution": {"value": "2"}}]}
    summary = score([right, wrong])
    assert (summary["n"], summary["accuracy"]) == (2, 0.5)
