"""Our engine in a benchmark: the backend alone, without sampling and text, as llama-bench does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.backend import load_backend
from kvquant.bench_cases import STEPS, Case, Samples, Stage, Storage
from kvquant.hyperparams import Hyperparams
from kvquant.kv_options import FULL, LEARNED

_CONTEXT = 2048
"""Tokens that a cache is made for at least: the adaptive one's budget is meant for a context."""


class OwnEngine:
    """One kind of KV cache over the weights."""

    def __init__(
        self, path: str, params: Hyperparams, *, threads: int, kv: str, settings: dict[str, Any]
    ) -> None:
        """settings: keywords of the loader for this kind. Raises KvquantError."""
        name, backend = load_backend("auto", path, threads=threads, kv=kv, **settings)
        self.kv = kv
        self.features = str(settings.get("features", "table")) if kv == LEARNED else ""
        self.isa = backend.isa
        self.native = name == "native"
        self._backend: Any = backend
        self._params = params

    def prepare(self, stage: Stage) -> OwnRun:
        """Computes the tokens of a stage."""
        n_ctx = min(max(stage.room, _CONTEXT), self._params.n_ctx_train)
        caches = [self._backend.cache(n_ctx) for _ in range(stage.batch)]
        chunk = self._backend.prefill_chunk
        return OwnRun(self, stage, caches, chunk, self._params)

    def measures(self, stage: Stage) -> list[Case]:
        """The cases of a stage that this kind has a row of its own for."""
        if stage.batch > 1 and not self.native:
            return []
        # Where the features come from matters to prompts only.
        return [case for case in stage.cases if case.prompt or self.features != "exact"]

    def close(self) -> None:
        self._backend.close()


class OwnRun:
    """A stage whose tokens are in the caches; every run starts from there."""

    def __init__(
        self,
        engine: OwnEngine,
        stage: Stage,
        caches: list[Any],
        chunk: int,
        params: Hyperparams,
    ) -> None:
        self._stage = stage
        self._native = engine.native
        self._caches = caches
        self._chunk = chunk
        self._random = np.random.default_rng(0)
        self._n_vocab = params.n_vocab
        self._full_token_bytes = 4 * params.n_layer * params.n_kv_head * params.head_dim
        self._cases = engine.measures(stage)
        self.samples = {
            case: Samples("smolllm", engine.kv, case, features=engine.features)
            for case in self._cases
        }
        self._saved: bytes | None = None
        self._fill(engine.kv != FULL)
        if engine.native and stage.depth:
            for samples in self.samples.values():
                samples.storage = self._stored()

    def _fill(self, quantized: bool) -> None:
        """All caches of a batch get the same tokens, which are computed once."""
        filled = self._tokens(self._stage.depth)
        first, *others = self._caches
        self._prompt(first, filled, 0, 0)
        # A quantized cache that is cut back has lost its window, so it begins anew from a copy.
        if self._stage.depth and (others or quantized):
            saved = first.snapshot()
            for cache in others:
                cache.restore(saved)
            self._saved = saved if quantized else None

    def run(self, *, warm_up: bool = False) -> None:
        """Measures every case once."""
        for case in self._cases:
            self._rewind()
            tokens = self._tokens(case.prompt or case.batch)
            before = self._judged()
            if case.prompt:
                start = time.perf_counter()
                self._prompt(self._caches[0], tokens, case.depth, 1)
                seconds = [time.perf_counter() - start]
            elif case.batch == 1:
                seconds = self._steps(tokens)
            else:
                seconds = self._batch_steps(tokens)
            if not warm_up:
                self.samples[case].seconds += seconds
                nanoseconds, judged = self._judged()
                self.samples[case].judging_ns += nanoseconds - before[0]
                self.samples[case].judged += judged - before[1]

    def _rewind(self) -> None:
        for cache in self._caches:
            if self._saved is None:
                cache.truncate(self._stage.depth)
            else:
                cache.restore(self._saved)

    def _steps(self, tokens: NDArray[np.int32]) -> list[float]:
        seconds = []
        for i in range(STEPS):
            start = time.perf_counter()
            self._caches[0].forward(tokens, self._stage.depth + i, 1)
            seconds.append(time.perf_counter() - start)
        return seconds

    def _batch_steps(self, tokens: NDArray[np.int32]) -> list[float]:
        from kvquant import _native

        seconds = []
        for _ in range(STEPS):
            start = time.perf_counter()
            _native.step(self._caches, tokens)
            seconds.append(time.perf_counter() - start)
        return seconds

    def _prompt(self, cache: Any, tokens: NDArray[np.int32], at: int, rows: int) -> None:
        """Appends the tokens behind ``at``; the logits of the last one if rows is 1."""
        for i in range(0, len(tokens), self._chunk):
            part = tokens[i : i + self._chunk]
            last = i + len(part) == len(tokens)
            cache.forward(part, at + i, rows if last else 0)

    def _stored(self) -> Storage:
        cache = self._caches[0]
        full = self._stage.depth * self._full_token_bytes
        return Storage(
            bits=16 * cache.kv_bytes / full,
            bytes=cache.kv_bytes,
            metadata=cache.metadata_bytes / full,
        )

    def _judged(self) -> tuple[int, int]:
        """Nanoseconds of judging so far, and the tokens that were judged."""
        if not self._native:
            return 0, 0
        found: tuple[int, int] = self._caches[0].judged
        return found

    def _tokens(self, n: int) -> NDArray[np.int32]:
        return self._random.integers(0, self._n_vocab, n).astype(np.int32)


def longest(stages: Sequence[Stage]) -> int:
    """Tokens that the longest stage needs."""
    return max(stage.room for stage in stages)
