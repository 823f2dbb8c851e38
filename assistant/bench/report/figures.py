"""The figures of a report's headline, picked out of what the benchmarks printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SHARE, MS, PER_HOUR, RATE, MEGABYTES, NATS = "%", "ms", "an hour", "tokens/s", "MB", "nats"


@dataclass(frozen=True, slots=True)
class Figure:
    """value: a share from 0 to 1 where the unit is %; None: it could not be measured.

    n: rows that it was measured on, where they are counted; timed: it depends on the machine.
    """

    key: str
    title: str
    unit: str
    value: float | None
    part: str
    more_is_better: bool = True
    n: int | None = None

    @property
    def timed(self) -> bool:
        return self.unit in (MS, RATE)

    def shown(self, value: float | None) -> str:
        """The value for people, with its unit."""
        if value is None:
            return "missing"
        if self.unit == SHARE:
            return f"{100 * value:.1f} %"
        if self.unit == NATS:
            return f"{value:.4f}"
        digits = 2 if self.unit == PER_HOUR or (self.unit == MS and abs(value) < 10) else 0
        digits = 1 if self.unit == MEGABYTES else digits
        return f"{value:,.{digits}f} {self.unit}"


def figures(rows: Mapping[str, Any]) -> list[Figure]:
    """The headline; rows: what was printed, by the name of the part, if it was measured.

    Each stands there also where its value is missing, except the ones whose names come with
    the data (kinds of caches).
    """
    found = [make(rows.get(make.part)) for make in _PICKS]
    return [*found, *_engine(rows.get("engine")), *_quality(rows.get("quality"))]


@dataclass(frozen=True, slots=True)
class _Pick:
    """One figure of one part; path: the keys that lead to it."""

    part: str
    path: tuple[str, ...]
    title: str
    unit: str = SHARE
    more_is_better: bool = True
    read: Callable[[Any], float | None] | None = None

    def __call__(self, row: Any) -> Figure:
        value = self.read(row) if self.read and row is not None else _at(row, self.path)
        n = row.get("n") if isinstance(row, dict) else None
        key = ".".join((self.part, *self.path))
        return Figure(
            key, self.title, self.unit, value, self.part, self.more_is_better,
            n if isinstance(n, int) else None,
        )  # fmt: skip


def _at(row: Any, path: tuple[str, ...]) -> float | None:
    for key in path:
        row = row.get(key) if isinstance(row, dict) else None
    return float(row) if isinstance(row, int | float) and not isinstance(row, bool) else None


def _phrased(count: str, of: str) -> Callable[[Any], float | None]:
    """A share of the sentences of all sets together."""

    def read(row: Any) -> float | None:
        sets = row if isinstance(row, list) else []
        total = sum(int(s.get(of, 0)) for s in sets)
        return sum(int(s.get(count, 0)) for s in sets) / total if total else None

    return read


_PICKS = (
    _Pick("own", ("accuracy",), "Own sentences: intent right"),
    _Pick("own", ("frame_accuracy",), "Own sentences: intent and values right"),
    _Pick("home", ("accuracy",), "Sentences to the home: intent right"),
    _Pick("home", ("frame_accuracy",), "Sentences to the home: intent and all slots right"),
    _Pick("phrasing", ("right",), "Freely phrased commands: understood", SHARE, True,
          _phrased("right", "in_scope")),
    _Pick("phrasing", ("wrong",), "Freely phrased commands: done wrongly", SHARE, False,
          _phrased("wrong", "in_scope")),
    _Pick("phrasing", ("talk_taken",), "Talk that is taken for a command", SHARE, False,
          _phrased("talk_taken", "talk")),
    *(
        _Pick(name, ("accuracy",), f"{title}: intent right")
        for name, title in (("clinc150", "CLINC150"), ("hwu64", "HWU64"), ("snips", "SNIPS"),
                            ("banking77", "Banking77"))
    ),
    _Pick("latency", ("accuracy",), "Spoken commands understood"),
    _Pick("latency", ("ms", "p50"), "Response time, median", MS, False),
    _Pick("latency", ("ms", "p95"), "Response time, 95 of 100 are faster", MS, False),
    _Pick("home", ("ms", "p95"), "Understanding a sentence, 95 of 100 are faster", MS, False),
    _Pick("values", ("accuracy",), "Values read right"),
    _Pick("speech-intent", ("accuracy",), "Spoken orders, every slot right"),
    _Pick("speech-intent-kitchen", ("accuracy",), "Spoken orders in a kitchen's noise"),
    _Pick("wer", ("wer",), "Word error rate", SHARE, False),
    _Pick("wake", ("miss_rate",), "Wake words missed", SHARE, False),
    _Pick("wake", ("noisy_miss_rate",), "Wake words missed in noise", SHARE, False),
    _Pick("false-wakes", ("false_wakes_per_hour",), "False wakes on speech", PER_HOUR, False),
    _Pick("noise-wakes", ("false_wakes_per_hour",), "False wakes on noise", PER_HOUR, False),
    _Pick("facts", ("right",), "Questions of fact answered right"),
    _Pick("facts", ("invented",), "Questions of fact with an invented answer", SHARE, False),
)  # fmt: skip


def _engine(row: Any) -> Iterator[Figure]:
    rows = row.get("rows") if isinstance(row, dict) else None
    if not isinstance(rows, list):
        yield Figure("engine.decode", "A token of the language model", MS, None, "engine", False)
        yield Figure("engine.bytes", "Memory of its KV cache", MEGABYTES, None, "engine", False)
        return
    alone = [r for r in rows if r["engine"] == "smolllm" and r["batch"] == 1]
    alone = [r for r in alone if r.get("features") != "exact" and not r["prompt"]]
    depths = sorted({r["depth"] for r in alone})
    for r in alone:
        if r["decode_ms_per_token"] is not None and r["depth"] in (depths[0], depths[-1]):
            title = f"A token behind {r['depth']:,}, cache {r['kv']}"
            key = f"engine.decode.{r['kv']}.{r['depth']}"
            yield Figure(key, title, MS, r["decode_ms_per_token"], "engine", False)
    for r in alone:
        if r["kv_bytes"] and r["depth"] == depths[-1]:
            title = f"KV cache of {r['depth']:,} tokens, {r['kv']}"
            key = f"engine.bytes.{r['kv']}.{r['depth']}"
            yield Figure(key, title, MEGABYTES, r["kv_bytes"] / 1e6, "engine", False)


def _quality(row: Any) -> Iterator[Figure]:
    rows = row.get("rows") if isinstance(row, dict) else None
    if not isinstance(rows, list):
        title = "Divergence of a quantized KV cache"
        yield Figure("quality.kld", title, NATS, None, "quality", False)
        return
    for r in rows:
        if r["kv"] != "fp16" and r["kld"] is not None:
            name = r["kv"] if r["budget"] is None else f"{r['kv']} {r['budget']:g}"
            title = f"Divergence from the 16-bit cache, {name} ({r['bits_mean']:.2f} bits)"
            key = f"quality.kld.{name.replace(' ', '.')}"
            yield Figure(key, title, NATS, r["kld"], "quality", False, row.get("context"))
