"""Scores our own grammars on Home Assistant's English test sentences.

A row is one case: intent, sentences, slots, and setup with the floors, areas and entities
that it assumes. Each sentence goes the way it goes in the assistant: the sentences of the
skills first, then those of the home.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assistant.bench.home_terms import agree, expected, understood
from assistant.bench.latency import percentiles
from assistant.config import Config
from assistant.errors import InputFileError
from assistant.home.base import Area, Entity, Floor, Snapshot
from assistant.intent import create
from assistant.intent.base import Intent
from assistant.intent.chain import Chain
from assistant.intent.home_grammar import HomeGrammar
from assistant.skills.registry import Registry
from assistant.state import Clock, State

Row = Mapping[str, Any]

FIXTURES = "fixtures_en.json"
_KINDS = ("floors", "areas", "entities")


def is_home(row: Row) -> bool:
    """Whether ``row`` is a test case of Home Assistant's sentences."""
    return isinstance(row.get("sentences"), list) and str(row.get("intent", "")).startswith("Hass")


def score(cfg: Config, rows: Iterable[Row], data: Path, limit: int | None = None) -> dict[str, Any]:
    """The row of figures for the English cases of ``rows``.

    data: where the rows are from; the shared home of the cases is beside it.
    limit: only so many cases.

    accuracy: share of the sentences with the right intent; frame_accuracy: with all slots
    right too; by_intent: [right, all] frames; wrong: what was understood instead.
    """
    cases = [row for row in rows if is_home(row) and row.get("lang", "en") == "en"][:limit]
    home = _Home(fixtures(data) or _named(cases))
    grammar = HomeGrammar(home.snapshot)
    chain = Chain([create(cfg.understand, _skill_sentences(cfg)), grammar])
    chain.load()
    took: list[float] = []
    by_intent: dict[str, list[int]] = {}
    wrong: list[dict[str, Any]] = []
    intents = frames = 0
    for case, sentence in _sentences(cases):
        home.use(case.get("setup") or {})
        grammar.understand("")  # it reads the names of a home when they change
        started = time.perf_counter()
        intent = chain.understand(sentence)
        took.append((time.perf_counter() - started) * 1000)
        right, whole = _judge(case, intent)
        intents += right
        frames += whole
        counts = by_intent.setdefault(case["intent"], [0, 0])
        counts[0] += whole
        counts[1] += 1
        if not whole:
            got = None if intent is None else {"intent": intent.name, "slots": intent.slots}
            wrong.append({"sentence": sentence, "intent": case["intent"], "got": got})
    n = len(took)
    return {
        "n": n,
        "accuracy": _share(intents, n),
        "frame_accuracy": _share(frames, n),
        "ms": percentiles(took),
        "by_intent": dict(sorted(by_intent.items())),
        "wrong": wrong,
    }


def fixtures(data: Path) -> dict[str, Any] | None:
    """The home that cases without a setup assume, beside the data; None without one."""
    folder = data if data.is_dir() else data.parent
    for path in (folder / FIXTURES, folder.parent / FIXTURES):
        if path.is_file():
            with _readable(path):
                content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return content
    return None


def read_rows(path: Path) -> Iterator[Row]:
    """Cases of a JSON-lines file, or of all of them in a folder (.jsonl, .jsonl.gz).

    Raises InputFileError for a file that is none.
    """
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    for file in files:
        opener = gzip.open if file.suffix == ".gz" else open
        with _readable(file), opener(file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
        yield from (row for row in rows if isinstance(row, dict) and is_home(row))


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise InputFileError(
            "bench.bad_data",
            f"{file} cannot be read: {error}.",
            "It should have one JSON object a line.",
        ) from error


def table(row: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [
        f"Home Assistant's English sentences: {row['n']}",
        f"  intent right           {row['accuracy']:.1%}",
        f"  intent and slots right {row['frame_accuracy']:.1%}",
        f"  p50 {row['ms']['p50']} ms, p95 {row['ms']['p95']} ms",
    ]
    for intent, (right, count) in row["by_intent"].items():
        if right < count:
            lines.append(f"  {intent}: {right} of {count}")
    lines += [f"  wrong: {item['sentence']!r} -> {item['got']}" for item in row["wrong"]]
    return "\n".join(lines)


def _skill_sentences(cfg: Config) -> list[Path]:
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state", Clock.system())
        try:
            return list(Registry.load(cfg, state).sentence_dirs)
        finally:
            state.close()


class _Home:
    """The home of one case after the other."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self._shared = shared
        self._setup: Mapping[str, Any] = {}
        self._snapshot = _snapshot(shared, 1)

    def use(self, setup: Mapping[str, Any]) -> None:
        """The floors, areas and entities of a case, or the shared ones where it has none."""
        content = setup if any(kind in setup for kind in _KINDS) else self._shared
        if content is not self._setup:
            self._setup = content
            self._snapshot = _snapshot(content, self._snapshot.version + 1)

    def snapshot(self) -> Snapshot:
        return self._snapshot


def _snapshot(content: Mapping[str, Any], version: int) -> Snapshot:
    floors = [Floor(f.get("id", f["name"]), f["name"]) for f in content.get("floors", [])]
    areas = [
        Area(a.get("id", a["name"]), a["name"], floor=a.get("floor", ""))
        for a in content.get("areas", [])
    ]
    entities = [_entity(item) for item in content.get("entities", [])]
    return Snapshot(tuple(floors), tuple(areas), tuple(entities), version)


def _entity(item: Mapping[str, Any]) -> Entity:
    state = item.get("state", "unknown")
    return Entity(
        id=item.get("id") or f"{item['domain']}.{item['name'].casefold().replace(' ', '_')}",
        name=item["name"].replace("[']", "'"),
        area=item.get("area", ""),
        state=str(state["out"] if isinstance(state, dict) else state),
        attributes=item.get("attributes", {}),
    )


def _named(cases: Sequence[Row]) -> dict[str, Any]:
    """A home of all that the cases set up, where there is no shared one."""
    found: dict[str, dict[tuple[str, str], Any]] = {kind: {} for kind in _KINDS}
    for case in cases:
        for kind, items in found.items():
            for item in (case.get("setup") or {}).get(kind, []):
                items.setdefault((item["name"], item.get("domain", "")), item)
    return {kind: list(items.values()) for kind, items in found.items()}


def _sentences(cases: Sequence[Row]) -> list[tuple[Row, str]]:
    return [(case, text) for case in cases for text in dict.fromkeys(case["sentences"])]


def _judge(case: Row, intent: Intent | None) -> tuple[bool, bool]:
    if intent is None:
        return False, False
    wanted = expected(case["intent"], case.get("slots") or {})
    verdicts = [agree(wanted, meaning) for meaning in understood(intent)]
    return any(right for right, _ in verdicts), any(whole for _, whole in verdicts)


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
