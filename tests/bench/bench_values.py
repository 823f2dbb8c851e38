"""Scores the parsers of values on the recognizers-text specifications (English).

``python tests/bench/bench_values.py --data DIR_OR_FILE`` prints one line of JSON. A row is
right when exactly the expected values are found in its sentence, in order; where the
specification lists several readings, one of them must be met. Rows of DateTimeModel that
hold ranges, repetitions or time zones are counted apart: they name no single moment.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from assistant.intent.values.duration import find_durations
from assistant.intent.values.number import find_numbers, find_ordinals
from assistant.intent.values.temperature import find_temperatures
from assistant.intent.values.when import When, find_times

Row = dict[str, Any]
MOMENTS = ("date", "time", "datetime", "duration")


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of one JSON-lines file, or of all of them in a folder (.jsonl, .jsonl.gz)."""
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


def reference(row: Row) -> datetime:
    text = row.get("context", {}).get("ReferenceDateTime", "2016-11-07T00:00:00")
    return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC)


def close(found: float, expected: str) -> bool:
    return math.isclose(found, float(expected), rel_tol=1e-9, abs_tol=1e-12)


def numbers(row: Row) -> bool:
    found = [span.value for span in find_numbers(row["input"])]
    return _same(found, [result["Resolution"]["value"] for result in row["results"]], close)


def ordinals(row: Row) -> bool:
    found = [span.value for span in find_ordinals(row["input"])]
    expected = [result["Resolution"]["value"] for result in row["results"]]
    if any(not value.lstrip("-").isdigit() for value in expected):
        return False  # "the next one", "the last": places that are relative
    return _same(found, expected, close)


def temperatures(row: Row) -> bool:
    found = [span.value for span in find_temperatures(row["input"])]
    expected = [result["Resolution"] for result in row["results"]]
    if any(value["value"] is None for value in expected):
        expected = [value for value in expected if value["value"] is not None]
    return _same(
        found,
        expected,
        lambda mine, theirs: (
            close(mine.degrees, theirs["value"]) and (mine.scale or "Degree") == theirs["unit"]
        ),
    )


def durations(row: Row) -> bool:
    found = [span.value for span in find_durations(row["input"])]
    expected = [result["Value"]["FutureResolution"]["duration"] for result in row["results"]]
    return _same(found, expected, close)


def times(row: Row) -> bool:
    found = [span.value for span in find_times(row["input"], reference(row))]
    expected = [result["Value"]["FutureResolution"]["time"] for result in row["results"]]
    return _same(found, expected, lambda mine, theirs: _names_time(mine, theirs))


def _names_time(mine: When, theirs: str) -> bool:
    """The specification reads an open hour as morning, the assistant as the next one."""
    said = datetime.strptime(theirs, "%H:%M:%S")
    return mine.at.minute == said.minute and mine.at.hour in (said.hour, (said.hour + 12) % 24)


def moments(row: Row) -> bool | None:
    """None for a row with something that is no single moment."""
    expected = []
    for result in row["results"]:
        kind = result.get("TypeName", "").rpartition(".")[2]
        if kind not in MOMENTS:
            return None
        values = [value.get("value") for value in result["Resolution"]["values"]]
        if values != ["not resolved"]:  # "feb 30"
            expected.append((kind, values))
    now = reference(row)
    found: list[tuple[int, Any]] = [(s.start, s) for s in find_times(row["input"], now)]
    for span in find_durations(row["input"]):
        if all(span.end <= other.start or span.start >= other.end for _, other in found):
            found.append((span.start, span))
    found.sort(key=lambda pair: pair[0])
    return _same([span.value for _, span in found], expected, _names_moment)


def _names_moment(mine: Any, theirs: tuple[str, list[str]]) -> bool:
    kind, values = theirs
    if kind == "duration":
        return not isinstance(mine, When) and any(close(mine, value) for value in values)
    if not isinstance(mine, When):
        return False
    pattern = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}[kind]
    return mine.at.strftime(pattern) in values


def _same(found: list[Any], expected: list[Any], agree: Callable[[Any, Any], bool]) -> bool:
    return len(found) == len(expected) and all(map(agree, found, expected))


SCORERS: dict[str, Callable[[Row], bool | None]] = {
    "DurationParser": durations,
    "TimeParser": times,
    "NumberModel": numbers,
    "OrdinalModel": ordinals,
    "TemperatureModel": temperatures,
    "DateTimeModel": moments,
}


def score(rows: Iterator[Row], *, show: bool = False) -> dict[str, Any]:
    """The summary that is printed; ``show`` lists the rows that are wrong on stderr."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    took: list[float] = []
    for row in rows:
        scorer = SCORERS.get(row["model"])
        if scorer is None:
            continue
        started = time.perf_counter()
        right = scorer(row)
        took.append((time.perf_counter() - started) * 1000)
        tally = counts[row["model"]]
        if right is None:
            tally[2] += 1
            continue
        tally[0] += 1
        tally[1] += right
        if show and not right:
            print(row["model"], repr(row["input"]), file=sys.stderr)
    total, good = (sum(tally[k] for tally in counts.values()) for k in (0, 1))
    cuts = statistics.quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
    return {
        "what": "values",
        "set": "recognizers-text",
        "n": total,
        "accuracy": round(good / total, 4) if total else None,
        "models": {
            model: {"n": n, "accuracy": round(right / n, 4) if n else None, "no_moment": apart}
            for model, (n, right, apart) in sorted(counts.items())
        },
        "ms": {"p50": round(cuts[49], 3), "p95": round(cuts[94], 3), "p99": round(cuts[98], 3)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="list the rows that are wrong")
    options = parser.parse_args()
    print(json.dumps(score(read_rows(options.data), show=options.show)))


if __name__ == "__main__":
    main()
