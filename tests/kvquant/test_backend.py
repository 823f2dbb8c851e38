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


def native_that(monkeypatch: pytest.MonkeyPatch, does: Any) -> None:
    def function(path: str, *, threads: int, kv: str) -> Any:
        if isinstance(does, Exception):
            raise does
        return does

    module = types.ModuleType(NATIVE)
    module.load = function  # type: ignore[attr-defined]
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
