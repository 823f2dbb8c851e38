"""What a backend provides, and how one is found.

The arithmetic is done by a backend. Two exist: ``kvquant.reference`` (numpy, plain, kept as the
measure of the other) and ``kvquant._native`` (C++). Both provide one function,

    load(path: str, *, threads: int, kv: str, …) -> ModelBackend

(what quantized caches take besides differs) and the two protocols below. A backend reads the model
file itself and raises KvquantError or ValueError (the file or a setting cannot be used) or
RuntimeError (it failed), each with one sentence. Tokenizer, chat format, prefix reuse, chunking,
cancellation, stop rules and sampling are the engine's, once for both.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kvquant.errors import BackendError, BackendMissingError, KvquantError, ModelFileError
from kvquant.kv_settings import BUDGET_CONTEXT, KvSettings, settings_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BackendName = Literal["auto", "native", "reference"]

log = logging.getLogger(__name__)


class CacheBackend(Protocol):
    """One KV cache over a model's weights. Positions count from 0 without gaps.

    Used by one thread at a time; caches of one model may be used by different threads at
    once (the backend serialises them if it has to).
    """

    @property
    def length(self) -> int:
        """Tokens held."""

    @property
    def kv_bytes(self) -> int:
        """Bytes that the held tokens take in the cache, metadata included."""

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> NDArray[np.float32]:
        """Computes ``tokens`` (n,) at positions n_past … n_past + n - 1 and keeps them.

        n >= 1, 0 <= n_past <= length, n_past + n <= n_ctx, every token in [0, n_vocab): the
        caller has checked. What the cache holds from n_past on is dropped first.

        Returns the logits of the last ``rows`` tokens, (rows, n_vocab), 0 <= rows <= n, as an
        array that the caller owns. rows 0 skips the LM head.
        """

    def truncate(self, n: int) -> None:
        """Drops every token from position n on, 0 <= n <= length."""


class ModelBackend(Protocol):
    """The weights of one model, ready to compute. Holds no conversation."""

    @property
    def isa(self) -> str:
        """Instruction set in use, such as "avx512"; "numpy" for the reference."""

    @property
    def prefill_chunk(self) -> int:
        """Tokens a ``forward`` call should get at most: cancellation acts between calls."""

    def cache(self, n_ctx: int) -> CacheBackend:
        """A new, empty cache for at most n_ctx tokens."""

    def close(self) -> None:
        """Frees the weights. Caches made from it are not used afterwards."""


def load_backend(
    name: BackendName,
    path: str,
    *,
    threads: int,
    kv: str,
    n_ctx: int = BUDGET_CONTEXT,
    **settings: Any,
) -> tuple[str, ModelBackend]:
    """Loads the weights; returns which backend it is ("native" or "reference") too.

    "auto" takes the native one where it is built.
    n_ctx: of the caches to come; settings: of quantized ones, as in ``settings_of``.

    Raises ModelFileError, SettingError, ControllerFileError, BackendMissingError, BackendError.
    """
    chosen = settings_of(kv, **settings)
    native = find_native(name)
    with loading(Path(path)):
        if native is None:
            return "reference", _load_reference(path, threads, chosen, n_ctx)
        from kvquant.native_quantization import NativeShape, quantization

        file = native.File.open(path)
        shape = NativeShape(**file.shape)
        quantized = quantization(chosen, shape, file.norm_fingerprint, n_ctx)
        return "native", file.load(threads=threads, kv=kv, quantization=quantized)


def _load_reference(path: str, threads: int, settings: KvSettings, n_ctx: int) -> ModelBackend:
    reference: Any = importlib.import_module("kvquant.reference")
    more = {"settings": settings, "n_ctx": n_ctx} if settings.quantized else {}
    loaded: ModelBackend = reference.load(path, threads=threads, kv=settings.kind, **more)
    return loaded


@contextlib.contextmanager
def loading(path: Path) -> Iterator[None]:
    """Turns a backend's exceptions about the file ``path`` into those of this package."""
    try:
        yield
    except KvquantError:
        raise
    except ValueError as e:
        raise ModelFileError(
            "model.unsupported",
            f"{path.name} cannot be used: {e}.",
            "Fetch or copy the model again.",
        ) from e
    except (RuntimeError, MemoryError) as e:
        raise BackendError("backend.load", f"The model could not be loaded: {e}.") from e


def find_native(name: BackendName) -> Any:
    """The compiled module; None when the reference is to be used.

    Raises BackendMissingError when it was asked for and is not built.
    """
    if name == "reference":
        return None
    try:
        return importlib.import_module("kvquant._native")
    except ImportError as e:
        if name == "native":
            raise BackendMissingError(
                "backend.missing",
                "The native engine is not built.",
                "Install the project with a C++ compiler at hand (pip install .), "
                "or use the backend reference.",
            ) from e
        if not isinstance(e, ModuleNotFoundError):
            log.warning("the native engine cannot be loaded, the slow reference is used: %s", e)
        return None
