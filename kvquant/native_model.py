"""A model file as the compiled engine reads it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from kvquant import _native
from kvquant.backend import loading
from kvquant.errors import ModelFileError
from kvquant.native_tokenizer import NativeTokenizer


@dataclass(frozen=True, slots=True)
class NativeShape:
    """Channels, heads and tokens, as in ``kvquant.hyperparams.Hyperparams``."""

    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    head_dim: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int


class NativeModel:
    """metadata: the single values of the file; its arrays stay on the compiled side."""

    def __init__(self, path: Path, file: _native.File) -> None:
        self._path = path
        self._file = file
        self.metadata = file.metadata
        self.shape = NativeShape(**file.shape)

    @classmethod
    def open(cls, path: Path) -> NativeModel:
        """Reads and checks everything but the weights. Raises ModelFileError."""
        if not path.exists():
            raise ModelFileError("model.absent", f"There is no model file {path}.")
        with loading(path):
            return cls(path, _native.File.open(str(path)))

    def load(self, threads: int, kv: str) -> tuple[NativeTokenizer, _native.Backend]:
        """Reads the weights, and builds the tokenizer meanwhile.

        Raises ModelFileError, BackendError.
        """
        found: list[NativeTokenizer | Exception] = []

        def build() -> None:
            try:
                found.append(NativeTokenizer(self._file.tokenizer()))
            except Exception as e:  # raised below, by the thread that asked
                found.append(e)

        builder = threading.Thread(target=build, name="tokenizer")
        builder.start()
        try:
            with loading(self._path):
                backend = self._file.load(threads=threads, kv=kv)
        finally:
            builder.join()
        tokenizer = found[0]
        with loading(self._path):
            if isinstance(tokenizer, Exception):
                raise tokenizer
        assert not isinstance(tokenizer, Exception)
        return tokenizer, backend
