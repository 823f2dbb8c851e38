"""Which backend is taken, and how its failures come out."""

from __future__ import annotations

import logging
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from kvquant.backend import load_backend
from kvquant.errors import BackendError, BackendMissingError, ModelFileError

NATIVE = "kvquant._native"


def load(name: Any, path: Path | str = "") -> tuple[str, Any]:
    return load_backend(name, str(path), threads=1, kv="fp16")


SIZES = ("n_layer", "n_embd", "n_head", "n_kv_head", "head_dim", "n_ff", "n_vocab", "n_ctx_train")


class File:
    """A model file of a compiled module whose loading ends as the test says."""

    shape = dict.fromkeys(SIZES, 1)
    norm_fingerprint = 0

    def __init__(self, does: Any) -> None:
        self._does = does

    def load(self, *, threads: int, kv: str, quantization: Any) -> Any:
        if isinstance(self._does, Exception):
            raise self._does
        return self._does


def native_that(monkeypatch: pytest.MonkeyPatch, does: Any) -> None:
    module = types.ModuleType(NATIVE)
    module.File = types.SimpleNamespace(open=lambda path: File(does))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, NATIVE, module)


def test_not_built(monkeypatch: pytest.MonkeyPatch, tiny_path: Path) -> None:
    monkeypatch.setitem(sys.modules, NATIVE, None)
    assert load("auto", tiny_path)[0] == "reference"
    with pytest.raises(BackendMissingError, match="The native engine is not built") as caught:
        load("native")
    assert caught.value.exit_code == 3


def test_built_but_broken_is_said(
    monkeypatch: pytest.MonkeyPatch, tiny_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(name: str) -> Any:
        if name == NATIVE:
            raise ImportError("undefined symbol")
        return sys.modules[name]

    load("reference", tiny_path)
    monkeypatch.setattr("importlib.import_module", broken)
    with caplog.at_level(logging.WARNING):
        assert load("auto", tiny_path)[0] == "reference"
    assert "undefined symbol" in caplog.text


def test_built(monkeypatch: pytest.MonkeyPatch, tiny_path: Path) -> None:
    native_that(monkeypatch, "the model")
    assert load("auto") == ("native", "the model")
    assert load("native") == ("native", "the model")
    assert load("reference", tiny_path)[0] == "reference"


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("m.gguf is damaged."), ModelFileError),
        (RuntimeError("no threads"), BackendError),
        (MemoryError("too big"), BackendError),
        (ModelFileError("model.x", "m.gguf is odd."), ModelFileError),
    ],
)
def test_failures_are_of_the_family(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, expected: type[Exception]
) -> None:
    native_that(monkeypatch, raised)
    with pytest.raises(expected, match=str(raised).split()[0]):
        load("native")
