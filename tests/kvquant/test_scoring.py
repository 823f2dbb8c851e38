"""Feeding given tokens gives the logits that prompts and decoding give."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from kvquant import Engine, Session
from kvquant.errors import BackendError, ContextError
from kvquant.scoring import LANES, Job, Setting, Start, feed, log_probability, opener, run_jobs


@pytest.fixture(scope="module", params=["reference", "auto"])
def engine(request: pytest.FixtureRequest, tiny_path: Path) -> Iterator[Engine]:
    with Engine.load(tiny_path, backend=request.param, n_ctx=64, threads=1) as loaded:
        yield loaded


def after(engine: Engine, tokens: list[int]) -> np.ndarray:
    session = engine.session()
    session.prefill(tokens)
    return session.logits()


def test_lockstep_gives_each_sequence_its_own_logits(engine: Engine) -> None:
    texts = [[10, 20, 30], [40, 50, 60]]
    sessions = [engine.session() for _ in texts]
    for at in range(3):
        rows = feed(sessions, [ids[at] for ids in texts])
    for row, ids, session in zip(rows, texts, sessions, strict=True):
        np.testing.assert_allclose(row, after(engine, ids), atol=2e-3)
        assert session.tokens == ids


def test_rows_of_a_chunk(engine: Engine) -> None:
    session = engine.session()
    session.prefill([5, 6])
    rows = session.append_rows([7, 8, 9])
    for n, row in enumerate(rows, 3):
        np.testing.assert_allclose(row, after(engine, [5, 6, 7, 8, 9][:n]), atol=2e-3)
    assert session.held == 5
    np.testing.assert_allclose(session.logits(), rows[-1], atol=2e-3)


def test_rows_respect_the_context(engine: Engine) -> None:
    session = engine.session()
    session.prefill([1] * 60)
    with pytest.raises(ContextError):
        session.append_rows([1] * 5)
    with pytest.raises(ContextError):
        session.append_rows([])
    assert session.held == 60


def test_jobs_of_any_length_share_the_lanes(engine: Engine) -> None:
    random = np.random.default_rng(1)
    texts = [random.integers(4, 200, n).tolist() for n in (3, 9, 1, 5, 2, 7, 4, 6, 8, 3, 1, 2)]
    assert len(texts) > LANES
    found: dict[int, np.ndarray] = {}

    def job(i: int, session: Session) -> Job:
        session.truncate(0)
        for token in texts[i]:
            row = yield token
        found[i] = row

    numbers = iter(range(len(texts)))

    def take() -> Start | None:
        i = next(numbers, None)
        return None if i is None else partial(job, i)

    run_jobs(engine, take)
    assert sorted(found) == list(range(len(texts)))
    for i, ids in enumerate(texts):
        np.testing.assert_allclose(found[i], after(engine, ids), atol=2e-3)


def test_log_probability() -> None:
    row = np.array([0.0, 1.0, 2.0], np.float32)
    assert log_probability(row, 1) == pytest.approx(1 - np.log(np.exp(row).sum()))
    with pytest.raises(BackendError):
        log_probability(np.array([0, np.nan], np.float32), 0)


def test_names() -> None:
    assert Setting("static4", window=8).name == "static4"
    assert Setting("adaptive", 3.5).name == "adaptive 3.5"
    assert Setting("adaptive", 3.0, "random").name == "random 3"


def test_opener_loads_with_the_length_asked_for(tiny_path: Path) -> None:
    with opener(tiny_path, 1)(Setting("fp16"), 33) as engine:
        assert engine.n_ctx == 33
