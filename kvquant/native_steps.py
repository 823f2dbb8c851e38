"""Steps of the compiled engine: logits stay on its side, and numpy is not needed.

Importing numpy takes longer than computing a short prompt, so this path does without.
"""

from __future__ import annotations

import secrets
import threading
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from kvquant import _native
from kvquant.errors import BackendError, SettingError, SnapshotError
from kvquant.steps import Cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvquant.config import Sampling
    from kvquant.steps import Mask, Steps

_FEW = 8
"""A mask of at most one token in so many restricts the LM head; otherwise the rest is forbidden
when choosing, since the whole head is then as fast."""

_TINY, _HUGE = 1e-30, 1e30
"""What single precision holds, of settings that are valid in double precision."""


class NativeSteps:
    """A ``kvquant.steps.Steps``."""

    def __init__(self, cache: _native.Cache, n_vocab: int) -> None:
        self.cache = cache
        self._n_vocab = n_vocab
        self._has_logits = False

    @property
    def kv_bytes(self) -> int:
        return self.cache.kv_bytes

    @property
    def has_logits(self) -> bool:
        return self._has_logits

    def append(
        self,
        ids: Sequence[int],
        n_past: int,
        *,
        last: bool,
        allowed: Sequence[int] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._has_logits = False
        try:
            self.cache.extend(
                array("i", ids), n_past, last=last, allowed=allowed, cancel=cancel
            )  # fmt: skip
        except RuntimeError as e:
            raise _failed(e, cancel) from e
        self._has_logits = last and allowed is None

    def rows(self, ids: Sequence[int], n_past: int) -> NDArray[np.float32]:
        import numpy as np

        self._has_logits = False
        try:
            return self.cache.forward(np.array(ids, np.int32), n_past, len(ids))
        except RuntimeError as e:
            raise _failed(e, None) from e

    def states(
        self, ids: Sequence[int], n_past: int, layers: Sequence[int], *, stop_after: int = 0
    ) -> NDArray[np.float32]:
        import numpy as np

        self._has_logits = False
        try:
            return self.cache.states(
                np.array(ids, np.int32), n_past, list(layers), stop_after=stop_after
            )
        except RuntimeError as e:
            raise _failed(e, None) from e

    def truncate(self, n: int) -> None:
        self._has_logits = False
        self.cache.truncate(n)

    def logits(self) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.cache.last_logits()[0]
        return row

    def choice(self, sampling: Sampling, allowed: Mask | None) -> NativeChoice:
        return NativeChoice(sampling, allowed, self._n_vocab)

    def snapshot(self) -> bytes:
        return self.cache.snapshot()

    def restore(self, data: bytes) -> list[int]:
        try:
            tokens = self.cache.restore(data)
        except ValueError as e:
            raise SnapshotError("snapshot.refused", f"{str(e).capitalize()}.") from e
        self._has_logits = False
        return tokens

    def fork(self) -> NativeSteps:
        other = NativeSteps(self.cache.fork(), self._n_vocab)
        other._has_logits = self._has_logits
        return other

    def requantize(self, shift: int) -> None:
        try:
            self.cache.requantize(shift)
        except (ValueError, RuntimeError) as e:
            raise BackendError("kv.requantize", f"{str(e).capitalize()}.") from e
        self._has_logits = False

    def slide(self, n: int) -> list[int]:
        try:
            tokens = self.cache.slide(n)
        except ValueError as e:
            raise SettingError("context.slide", f"{str(e).capitalize()}.") from e
        except RuntimeError as e:
            raise BackendError("kv.slide", f"{str(e).capitalize()}.") from e
        self._has_logits = False
        return tokens

    def was_stepped(self) -> None:
        """After ``append_each``: the logits are there."""
        self._has_logits = True


class NativeChoice:
    """A ``kvquant.steps.Choice`` by the compiled sampler."""

    def __init__(self, sampling: Sampling, mask: Mask | None, n_vocab: int) -> None:
        s = sampling
        self.allowed: Sequence[int] | None = None
        self._forbidden = array("i")
        self._window = s.repetition_window
        if mask is not None:
            self._mask(mask, n_vocab)
        self._sampler = _native.Sampler(
            temperature=min(s.temperature, _HUGE),
            top_k=min(s.top_k, n_vocab),
            top_p=max(s.top_p, _TINY),
            min_p=s.min_p,
            repetition_penalty=min(max(s.repetition_penalty, _TINY), _HUGE),
            seed=secrets.randbits(63) if s.seed is None else s.seed,
        )

    def _mask(self, mask: Mask, n_vocab: int) -> None:
        if len(mask) != n_vocab:
            raise SettingError(
                "sampling.mask", f"The mask has {len(mask)} tokens, the model {n_vocab}."
            )
        allowed = mask.nonzero()[0].tolist()
        if not allowed:
            raise SettingError("sampling.mask", "The mask allows no token at all.")
        if len(allowed) * _FEW <= n_vocab:
            self.allowed = allowed
        self._forbidden = array("i", (~mask).nonzero()[0].tolist())

    def pick(self, steps: Steps, recent: Sequence[int]) -> int:
        last = array("i", recent[-self._window :] if self._window else ())
        try:
            return cast(NativeSteps, steps).cache.pick(self._sampler, last, self._forbidden)
        except ValueError as e:
            raise BackendError(
                "model.numbers", "The model gave no usable numbers; its file may be damaged."
            ) from e


def append_each(
    several: Sequence[Steps], tokens: Sequence[int], cancel: threading.Event | None
) -> None:
    """One token for each of up to ``_native.MAX_BATCH`` sequences, in one pass over the weights.

    Raises Cancelled (then no cache has changed), BackendError.
    """
    native = cast(Sequence[NativeSteps], several)
    try:
        _native.extend_each([s.cache for s in native], array("i", tokens), cancel=cancel)
    except RuntimeError as e:
        raise _failed(e, cancel) from e
    for steps in native:
        steps.was_stepped()


def _failed(error: RuntimeError, cancel: threading.Event | None) -> Exception:
    if cancel is not None and cancel.is_set():
        return Cancelled()
    return BackendError("backend.failed", f"The model failed: {error}.")
