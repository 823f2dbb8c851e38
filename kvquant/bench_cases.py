"""What ``smolllm bench`` measures, and the rows that it reports."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

OWN = "smolllm"
STEPS = 24
"""Decoded tokens of one run."""

DEEP = 4096
"""From this depth on the peer computes the prompt once per cache setting: it takes minutes."""

_HOPELESS = 1.5
"""A setting that was so many times slower than the best is left out behind greater depths."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure.

    prompt: tokens of a prompt computed at ``depth``; 0 measures decoding instead.
    batch: sequences that decode together, each at ``depth``.
    """

    depth: int
    batch: int = 1
    prompt: int = 0

    @property
    def name(self) -> str:
        if not self.prompt:
            return f"decode depth {self.depth} batch {self.batch}"
        return f"prefill {self.prompt}" + (f" depth {self.depth}" if self.depth else "")


@dataclass(frozen=True, slots=True)
class Stage:
    """The cases behind one depth: its tokens are computed once for all of them."""

    depth: int
    prompts: tuple[int, ...] = ()
    decode: bool = False
    batch: int = 1

    @property
    def cases(self) -> list[Case]:
        found = [Case(self.depth, prompt=n) for n in self.prompts]
        return found + ([Case(self.depth, self.batch)] if self.decode else [])

    @property
    def room(self) -> int:
        """Tokens that the cache must hold."""
        return self.depth + max((*self.prompts, STEPS + 8))


@dataclass(frozen=True, slots=True)
class Storage:
    """How one of our caches holds a stage's tokens.

    bits: mean per number; bytes: of the stored tokens; metadata: share of tags and tables in what
    16 bits would take.
    """

    bits: float
    bytes: int
    metadata: float


@dataclass(slots=True)
class Samples:
    """Seconds of each step (decode) or each prompt (prefill) in one setting.

    features: where the controller's token features come from, "table" or "exact"; "" without one.
    judging_ns: spent by the controller on the ``judged`` tokens that left the window meanwhile.
    """

    engine: str
    kv: str
    case: Case
    seconds: list[float] = field(default_factory=list)
    features: str = ""
    storage: Storage | None = None
    judging_ns: int = 0
    judged: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def label(self) -> str:
        return self.kv + (" exact features" if self.features == "exact" else "")

    def row(self) -> dict[str, Any]:
        case, median = self.case, self.median
        low, high = _quartiles(self.seconds)
        of = self.storage
        return {
            "engine": self.engine,
            "kv": self.kv,
            "depth": case.depth,
            "batch": case.batch,
            "prompt": case.prompt,
            "prefill_tok_s": round(case.prompt / median, 1) if case.prompt else None,
            "decode_ms_per_token": None if case.prompt else round(median / case.batch * 1e3, 4),
            "spread": round((high - low) / median, 3),
            "features": self.features or None,
            "bits_mean": None if of is None else round(of.bits, 3),
            "kv_bytes": None if of is None else of.bytes,
            "metadata_share": None if of is None else round(of.metadata, 5),
            "controller_ms_per_token": (
                round(self.judging_ns / self.judged / 1e6, 4) if self.judged else None
            ),
        }


def ratios(samples: Sequence[Samples]) -> dict[str, float]:
    """How many times faster each of ours is than the peer's best setting of the same case.

    For a prompt behind a depth also against the peer's 8-bit cache: only that one saves memory.
    """
    found = {}
    for mine, others in _by_case(samples):
        if not others:
            continue
        name = f"{mine.label} {mine.case.name}"
        found[name] = round(min(o.median for o in others) / mine.median, 3)
        small = [o.median for o in others if o.kv.startswith("q8_0")]
        if mine.case.prompt and mine.case.depth and small:
            found[f"{name} against q8_0"] = round(min(small) / mine.median, 3)
    return found


def gains(samples: Sequence[Samples], full: str) -> dict[str, float]:
    """How many times faster each of our caches is than our own of the kind ``full``."""
    plain = {s.case: s for s in samples if s.engine == OWN and s.kv == full}
    return {
        f"{s.label} {s.case.name}": round(plain[s.case].median / s.median, 3)
        for s in samples
        if s.engine == OWN and s.kv != full and s.case in plain
    }


def promising(settings: Sequence[str], stage: Stage, before: Sequence[Samples]) -> list[str]:
    """The peer's settings that may be its best in a deep stage, after what shallower ones gave.

    A setting goes on when it was near the best in the deepest stage before that measured one of
    this stage's two kinds, prefill and decode, or where none did.
    """
    if stage.depth < DEEP:
        return list(settings)
    kinds = {bool(case.prompt) for case in stage.cases}
    theirs = [s for s in before if s.engine != OWN and s.case.batch == stage.batch]
    kept = set()
    for is_prompt in kinds:
        same = [s for s in theirs if bool(s.case.prompt) == is_prompt]
        if not same:
            return list(settings)
        last = max(same, key=lambda s: (s.case.depth, s.case.prompt)).case
        times = {s.kv: s.median for s in same if s.case == last}
        kept |= {kv for kv, seconds in times.items() if seconds <= _HOPELESS * min(times.values())}
    return [s for s in settings if s in kept]


def _by_case(samples: Sequence[Samples]) -> Iterator[tuple[Samples, list[Samples]]]:
    for mine in samples:
        if mine.engine == OWN:
            yield mine, [s for s in samples if s.engine != OWN and s.case == mine.case]


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
