"""Sequences fed token by token through the engine, for figures that hold for its users.

The same steps, batches and caches as in ``Engine.generate_batch``, with given tokens in place of
chosen ones.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.engine import Engine
from kvquant.errors import BackendError
from kvquant.kv_settings import ROTATED
from kvquant.session import Session

LANES = 8
"""Sequences in one pass over the weights."""

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of KV cache with its settings; None is the engine's own default.

    budget: average bits of an element, all counted; budget and policy: of the kind "adaptive".
    window: tokens kept in 16 bits at the end, sinks: at the start.
    key_layout: of ``kvquant.kv_settings.KEY_LAYOUTS``.
    """

    kv: str
    budget: float | None = None
    policy: str | None = None
    window: int | None = None
    sinks: int | None = None
    key_layout: str | None = None

    @property
    def name(self) -> str:
        """Short, for tables and plots."""
        layout = "" if self.key_layout in (None, ROTATED) else f", keys {self.key_layout}"
        if self.kv != "adaptive":
            return f"{self.kv}{layout}"
        budget = "" if self.budget is None else f" {self.budget:g}"
        return f"{self.policy or self.kv}{budget}{layout}"


Opener = Callable[[Setting, int], Engine]
"""An engine with this cache for sequences of at most so many tokens."""


def opener(path: Path, threads: int, controller: Path | None = None) -> Opener:
    """Loads the same model file for every setting; errors are those of ``Engine.load``."""

    def load(setting: Setting, n_ctx: int) -> Engine:
        options: dict[str, Any] = {}
        if setting.kv == "adaptive":
            if setting.budget is not None:
                options["budget_bits"] = setting.budget
            if setting.policy is not None:
                options["policy"] = setting.policy
        if setting.kv != "fp16":
            options["controller"] = controller
            if setting.window is not None:
                options["window"] = setting.window
            if setting.sinks is not None:
                options["sinks"] = setting.sinks
            if setting.key_layout is not None:
                options["key_layout"] = setting.key_layout
        return Engine.load(path, n_ctx=n_ctx, threads=threads, kv=setting.kv, **options)

    return load


def feed(sessions: Sequence[Session], tokens: Sequence[int]) -> Logits:
    """Appends one token to each session, as decoding does.

    Returns the logits after it, (len(sessions), n_vocab). At most LANES sessions of one engine,
    with room for a token. Raises BackendError.
    """
    if sessions[0].info.backend == "native" and len(sessions) > 1:
        from kvquant.native_steps import append_each

        append_each([s.steps for s in sessions], tokens, None)
    else:
        for session, token in zip(sessions, tokens, strict=True):
            session.steps.append([token], session.held, last=True)
    for session, token in zip(sessions, tokens, strict=True):
        session.advance_by(token)
    return np.stack([s.steps.logits() for s in sessions])


Job = Generator[int, Logits, None]
"""Yields the next token of its sequence and gets the logits after it, (n_vocab,)."""


Start = Callable[[Session], Job]
"""Starts a job on a session, which holds whatever the job before left there."""


def run_jobs(engine: Engine, take: Callable[[], Start | None]) -> None:
    """Runs many sequences of different lengths, up to LANES at once in each step.

    take: the next job, None when there is none now; asked again as long as one is running.
    """
    idle = [engine.session() for _ in range(LANES)]
    active: list[tuple[Session, Job, int]] = []
    while True:
        while idle and (start := take()) is not None:
            session = idle.pop()
            _go_on(session, start(session), None, active, idle)
        if not active:
            return
        moving, active = active, []
        rows = feed([s for s, _, _ in moving], [token for _, _, token in moving])
        for (session, job, _), row in zip(moving, rows, strict=True):
            _go_on(session, job, row, active, idle)


def _go_on(
    session: Session,
    job: Job,
    row: Logits | None,
    active: list[tuple[Session, Job, int]],
    idle: list[Session],
) -> None:
    try:
        token = next(job) if row is None else job.send(row)
    except StopIteration:
        idle.append(session)
    else:
        active.append((session, job, token))


def log_probability(row: Logits, token: int) -> float:
    """Natural logarithm of a token's probability by its logits, (n_vocab,).

    Raises BackendError when they are no numbers.
    """
    top = row.max()
    total = np.exp(row - top).sum(dtype=np.float64)
    value = float(row[token]) - float(top) - float(np.log(total))
    if not np.isfinite(value):
        raise BackendError("model.numbers", "The model gave no usable numbers.")
    return value
