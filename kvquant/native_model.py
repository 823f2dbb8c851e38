"""A model file as the compiled engine reads it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from kvquant import _native
from kvquant.backend import loading
from kvquant.errors import ModelFileError, SettingError
from kvquant.kv_settings import KvSettings
from kvquant.native_quantization import NativeShape, quantization
from kvquant.native_tokenizer import NativeTokenizer


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

    @property
    def fingerprint(self) -> int:
        """Of the weights of the last norm. Raises ModelFileError."""
        with loading(self._path):
            return self._file.norm_fingerprint

    def load(
        self, threads: int, settings: KvSettings, n_ctx: int
    ) -> tuple[NativeTokenizer, _native.Backend]:
        """Reads the weights, and builds the tokenizer meanwhile.

        n_ctx: of the caches; the budget of an adaptive one depends on it.

        Raises ModelFileError, BackendError; SettingError and ControllerFileError for a cache that
        this model cannot have.
        """
        _check_isa()
        quantized = quantization(settings, self.shape, self.fingerprint, n_ctx)
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
                backend = self._file.load(threads=threads, kv=settings.kind, quantization=quantized)
        finally:
            builder.join()
        tokenizer = found[0]
        with loading(self._path):
            if isinstance(tokenizer, Exception):
                raise tokenizer
        assert not isinstance(tokenizer, Exception)
        return tokenizer, backend


def _check_isa() -> None:
    """A mistake in $KVQ_ISA is told as that, and not as the model file's."""
    forced = os.environ.get("KVQ_ISA")
    there = _native.available_isas()
    if forced and forced not in there:
        raise SettingError(
            "isa.unknown",
            f"KVQ_ISA={forced}: there is no such instruction set here; this CPU has "
            f"{', '.join(there)}.",
        )
