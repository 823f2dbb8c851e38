"""The number of threads reaches the library that numpy has loaded."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kvquant import blas


def threads_now() -> int | None:
    np.ones((2, 2)) @ np.ones((2, 2))
    for path in blas._loaded_blas():
        library = ctypes.CDLL(path)
        for setter in blas._SETTERS:
            getter = getattr(library, setter.replace("_set_", "_get_"), None)
            if getter is not None:
                return int(getter())
    return None


def test_limit_threads() -> None:
    before = threads_now()
    if before is None:
        pytest.skip("numpy's BLAS is not OpenBLAS here")
    try:
        assert blas.limit_threads(1)
        assert threads_now() == 1
    finally:
        blas.limit_threads(before)


def test_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_MAPPED_FILES", blas._MAPPED_FILES.with_name("no-such-file"))
    assert not blas.limit_threads(1)
