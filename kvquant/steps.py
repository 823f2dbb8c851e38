"""One sequence's computing and choosing, whichever backend does it.

A session tells its ``Steps`` which tokens to append and asks for the next one. The native engine
keeps the logits on its side (kvquant.native_steps), other backends give arrays (``ArraySteps``).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from kvquant.errors import BackendError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvquant.backend import CacheBackend
    from kvquant.config import Sampling

    Mask = NDArray[np.bool_]
    """(n_vocab,), False forbids a token."""


class Cancelled(Exception):
    """A step was given up because its event was set; the cache is cut to the step's start."""


class CacheReport(Protocol):
    """What a cache tells of itself; ``Session`` says what each means."""

    @property
    def page_bytes(self) -> int: ...
    @property
    def metadata_bytes(self) -> int: ...
    @property
    def allocations(self) -> int: ...
    @property
    def fragmentation(self) -> float: ...
    @property
    def ladder(self) -> Sequence[int]: ...
    @property
    def class_tokens(self) -> Sequence[int]: ...
    @property
    def judged(self) -> tuple[int, int]: ...
    def classes(self) -> NDArray[np.uint8]: ...


class Choice(Protocol):
    """One generation's choices, with their own random state."""

    allowed: Sequence[int] | None
    """When few tokens are allowed: these, sorted, for ``Steps.append``; else None."""

    def pick(self, steps: Steps, recent: Sequence[int]) -> int:
        """The next token after what ``steps`` holds; ``recent`` is the new text so far."""


class Steps(Protocol):
    """Raises BackendError when the backend fails."""

    @property
    def cache(self) -> CacheReport: ...

    @property
    def kv_bytes(self) -> int: ...
    @property
    def has_logits(self) -> bool:
        """The unrestricted logits after the last token are there."""

    def append(
        self,
        ids: Sequence[int],
        n_past: int,
        *,
        last: bool,
        allowed: Sequence[int] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """Cuts the cache to n_past tokens and appends ``ids``.

        last: the logits after them are wanted, only those of ``allowed`` when it is given.
        Raises Cancelled where the backend looks at ``cancel`` in mid-computation.
        """

    def rows(self, ids: Sequence[int], n_past: int) -> NDArray[np.float32]:
        """As ``append``; returns the logits after each of the tokens, (len(ids), n_vocab)."""

    def states(
        self, ids: Sequence[int], n_past: int, layers: Sequence[int], *, stop_after: int = 0
    ) -> NDArray[np.float32]:
        """As ``append``; the residual stream after so many layers, (len(layers), len(ids), n_embd).

        stop_after: so many layers are computed, and the cache then forgets the tokens; 0 for all.
        """

    def truncate(self, n: int) -> None: ...
    def logits(self) -> NDArray[np.float32]:
        """(n_vocab,) after the last token, a copy; ``append`` with ``last`` came before."""

    def choice(self, sampling: Sampling, allowed: Mask | None) -> Choice:
        """Raises SettingError when the mask allows nothing or is of the wrong size."""

    def snapshot(self) -> bytes: ...
    def restore(self, data: bytes) -> list[int]:
        """The snapshot's tokens. Raises SnapshotError and then changes nothing."""

    def fork(self) -> Steps: ...
    def requantize(self, shift: int) -> None: ...
    def slide(self, n: int) -> list[int]:
        """The tokens that are left. Raises SettingError, BackendError."""


class ArraySteps:
    """Steps over a backend that returns logits as arrays."""

    def __init__(self, cache: CacheBackend) -> None:
        self._cache = cache
        self._logits: NDArray[np.float32] | None = None

    @property
    def cache(self) -> CacheReport:
        return cast(CacheReport, self._cache)

    @property
    def kv_bytes(self) -> int:
        return self._cache.kv_bytes

    @property
    def has_logits(self) -> bool:
        return self._logits is not None

    def append(
        self,
        ids: Sequence[int],
        n_past: int,
        *,
        last: bool,
        allowed: Sequence[int] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._logits = None
        logits = self._forward(ids, n_past, int(last))
        self._logits = logits[0] if last else None

    def rows(self, ids: Sequence[int], n_past: int) -> NDArray[np.float32]:
        self._logits = None
        logits = self._forward(ids, n_past, len(ids))
        self._logits = logits[-1]
        return logits

    def _forward(self, ids: Sequence[int], n_past: int, rows: int) -> NDArray[np.float32]:
        import numpy as np

        try:
            return self._cache.forward(np.array(ids, np.int32), n_past, rows)
        except RuntimeError as e:
            raise BackendError("backend.failed", f"The model failed: {e}.") from e

    def states(
        self, ids: Sequence[int], n_past: int, layers: Sequence[int], *, stop_after: int = 0
    ) -> NDArray[np.float32]:
        raise BackendError("hidden.backend", "Only the native engine gives hidden states.")

    def truncate(self, n: int) -> None:
        self._logits = None
        self._cache.truncate(n)

    def logits(self) -> NDArray[np.float32]:
        assert self._logits is not None
        return self._logits.copy()

    def choice(self, sampling: Sampling, allowed: Mask | None) -> Choice:
        from kvquant.sampler import Sampler

        return _ArrayChoice(Sampler(sampling, allowed))

    def snapshot(self) -> bytes:
        raise BackendError("snapshot.backend", "Only the native engine can save its cache.")

    def restore(self, data: bytes) -> list[int]:
        raise BackendError("snapshot.backend", "Only the native engine can take a saved cache.")

    def fork(self) -> Steps:
        raise BackendError("kv.backend", "Only the native engine can fork a session.")

    def requantize(self, shift: int) -> None:
        raise BackendError("kv.backend", "Only the native engine can quantize a cache again.")

    def slide(self, n: int) -> list[int]:
        raise BackendError("kv.backend", "Only the native engine can slide a context.")


class _ArrayChoice:
    def __init__(self, sampler: _Sampler) -> None:
        self.allowed: Sequence[int] | None = None
        self._sampler = sampler

    def pick(self, steps: Steps, recent: Sequence[int]) -> int:
        return self._sampler.pick(steps.logits(), recent)


class _Sampler(Protocol):
    def pick(self, logits: NDArray[np.float32], recent: Sequence[int] = ()) -> int: ...
