"""The benchmark of values: every row counts once, and what is apart says why."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assistant.bench.values import read_rows, run, score, table
from assistant.cli import main
from assistant.config import Config
from assistant.errors import InputFileError

NOW = {"ReferenceDateTime": "2026-03-10T14:00:00"}


def row(model: str, text: str, *results: dict[str, Any]) -> dict[str, Any]:
    return {"model": model, "input": text, "context": NOW, "results": list(results)}


def resolved(kind: str, *values: dict[str, str]) -> dict[str, Any]:
    return {"TypeName": f"datetimeV2.{kind}", "Resolution": {"values": list(values)}}


def valued(value: Any) -> dict[str, Any]:
    return {"Resolution": {"value": value}}


RIGHT = [
    row("NumberModel", "3 plates and a dozen forks", valued("3"), valued("12")),
    row("NumberModel", "no number here"),
    row("OrdinalModel", "the second to last song", valued("end-1")),
    row("OrdinalModel", "the 3rd song", valued("3")),
    row("OrdinalModel", "the next song", valued("current+1")),
    row("TemperatureModel", "19 degrees", {"Resolution": {"value": "19", "unit": "Degree"}}),
    row("BooleanModel", "yep", valued(True)),
    row(
        "CurrencyModel",
        "five euros",
        {"Resolution": {"value": "5", "unit": "Euro", "isoCurrency": "EUR"}},
    ),
    row("CurrencyModel", "40 cents", {"Resolution": {"value": "40", "unit": "Cent"}}),
    row("AgeModel", "she is 4 years old", {"Resolution": {"value": "4", "unit": "Year"}}),
    row("DimensionModel", "5 ft 6 in", {"Resolution": {"value": "5.5", "unit": "Foot"}}),
    row("PercentModel", "12 %", valued("12%")),
    row("NumberRangeModel", "between 2 and 6", valued("[2,6)")),
    row("NumberRangeModelExperimentalMode", "between 2 and 6", valued("[2,6]")),
    row("OrdinalModelSuppressExtendedTypes", "the 2nd, the last", valued("2")),
    row(
        "TimeZoneParser",
        "5 pm pst",
        {"Value": {"TimeZoneResolution": {"UtcOffsetMins": -480}}},
    ),
    row("DurationParser", "for 9 min", {"Value": {"FutureResolution": {"duration": "540"}}}),
    row("DurationExtractor", "wait 9 min", {"Start": 5, "Length": 5}),
    row("TimeParser", "at 5 am", {"Value": {"FutureResolution": {"time": "05:00:00"}}}),
    row("SetParser", "every tuesday at 6 pm", {"Value": {"Timex": "XXXX-WXX-2T18"}}),
    row("DateTimeModel", "tomorrow", resolved("date", {"value": "2026-03-11"})),
    row("DateTimeModel", "in the city for two hours", resolved("duration", {"value": "7200"})),
    row("DateTimeModel", "each day", resolved("set", {"timex": "P1D"})),
    row(
        "DateTimeModel",
        "is it dry this weekend",
        resolved("daterange", {"start": "2026-03-14", "end": "2026-03-16"}),
    ),
    row("DateTimeModel", "until 5 pm", resolved("timerange", {"end": "17:00:00"})),
    row("DateTimeModel", "in spring", resolved("daterange", {"value": "not resolved"})),
    row("DatePeriodExtractor", "rain at the weekend", {"Start": 12, "Length": 7}),
    row("DatePeriodExtractor", "rain at the weekend", {"Start": 8, "Length": 11}),
    row(
        "TimePeriodParser",
        "from 2 to 4",
        {
            "Value": {
                "FutureResolution": {"startTime": "02:00:00", "endTime": "04:00:00"},
                "PastResolution": {"startTime": "02:00:00", "endTime": "04:00:00"},
            }
        },
    ),
]
WRONG = [
    row("NumberModel", "3 plates", valued("4")),
    row("NumberModel", "3 plates"),
    row("NumberModel", "plates", valued("1")),
    row("OrdinalModel", "the last song", valued("end-1")),
    row("BooleanModel", "yep", valued(False)),
    row("NumberRangeModel", "between 2 and 6", valued("[2,6]")),
    row("PercentModel", "12 %", valued("13%")),
    row(
        "CurrencyModel",
        "five euros",
        {"Resolution": {"value": "5", "unit": "Dollar", "isoCurrency": "USD"}},
    ),
    row("DurationExtractor", "wait 9 min", {"Start": 5, "Length": 3}),
    row("SetParser", "every tuesday", {"Value": {"Timex": "XXXX-WXX-3"}}),
    row("DateTimeModel", "tomorrow", resolved("date", {"value": "2026-03-12"})),
    row("DateTimeModel", "tomorrow", resolved("duration", {"value": "86400"})),
    row("DateTimeModel", "this year", resolved("era", {"start": "2026-01-01"})),
    row("DateTimeModel", "next week", resolved("date", {"value": "2026-03-16"})),
    row(
        "DateTimeModel",
        "this weekend",
        resolved("daterange", {"start": "2026-03-14", "end": "2026-03-15"}),
    ),
    row("DateTimeModel", "until 5 pm", resolved("timerange", {"start": "17:00:00"})),
    row("DatePeriodExtractor", "rain this weekend", {"Start": 10, "Length": 7}),
]
OUTSIDE = [
    row("PhoneNumberModel", "call 5551234", valued("5551234")),
]


@pytest.mark.parametrize("given", RIGHT, ids=lambda given: f"{given['model']}: {given['input']}")
def test_rows_that_are_right(given: dict[str, Any]) -> None:
    assert (score([given])["n"], score([given])["accuracy"]) == (1, 1.0)


@pytest.mark.parametrize("given", WRONG, ids=lambda given: f"{given['model']}: {given['input']}")
def test_rows_that_are_wrong(given: dict[str, Any]) -> None:
    assert (score([given])["n"], score([given])["accuracy"]) == (1, 0.0)


def test_what_is_not_judged_is_counted_apart_with_the_reason() -> None:
    figures = score([*RIGHT, *WRONG, *OUTSIDE])
    assert figures["n"] == len(RIGHT) + len(WRONG)
    assert figures["outside"] == {"PhoneNumberModel": {"model": 1}}
    assert figures["models"]["NumberModel"] == {"n": 5, "accuracy": 0.4}
    shown = table(figures)
    assert "NumberModel" in shown
    assert "PhoneNumberModel: model 1" in shown


def test_no_row_gives_no_accuracy() -> None:
    figures = score([])
    assert (figures["n"], figures["accuracy"], figures["models"]) == (0, None, {})
    assert "not judged" not in table(figures)


def arguments(data: Path, limit: int | None = None) -> argparse.Namespace:
    return argparse.Namespace(data=data, limit=limit, set="own")


def test_files_plain_or_packed_and_folders_of_them(tmp_path: Path) -> None:
    lines = [json.dumps(given) for given in RIGHT]
    (tmp_path / "one.jsonl").write_text("\n".join(lines[:5]) + "\n\n")
    with gzip.open(tmp_path / "two.jsonl.gz", "wt") as packed:
        packed.write("\n".join(lines[5:]))
    assert run(Config(), arguments(tmp_path))["n"] == len(RIGHT)
    assert run(Config(), arguments(tmp_path / "one.jsonl"))["n"] == 5
    assert run(Config(), arguments(tmp_path, limit=3))["n"] == 3


@pytest.mark.parametrize("text", ["{", "[1]", '{"model": "NumberModel"}'])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(InputFileError, match=r"rows\.jsonl"):
        list(read_rows(tmp_path))


def test_missing_data_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputFileError):
        list(read_rows(tmp_path))
    with pytest.raises(InputFileError):
        list(read_rows(tmp_path / "no.jsonl"))


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1.5", "²"])
def test_a_limit_is_a_number_of_rows(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "values", "--data", "x", "--limit", limit])
    assert caught.value.code == 2
    assert "give 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("level", ["nan", "inf", "-inf", "1e9", "loud"])
def test_noise_has_a_level(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bench", "speech-intent", "--data", "x", f"--snr={level}"])
    assert caught.value.code == 2
    assert "is no level; give -100 to 100 dB" in capsys.readouterr().err
