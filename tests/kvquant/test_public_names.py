"""``import kvquant`` is quick, and every public name is there when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kvquant

ROOT = Path(__file__).resolve().parents[2]


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=600)


def test_importing_brings_neither_numpy_nor_torch() -> None:
    run("import sys, kvquant\nassert not {'numpy', 'torch', 'transformers'} & sys.modules.keys()")


def test_names_that_need_numpy_only() -> None:
    run(
        "import sys\n"
        "from kvquant import Controller, Engine, PagePool, dequantize, quantize\n"
        "assert 'torch' not in sys.modules\n"
        "assert dequantize(quantize([1.0, 2.0], 8)).shape == (2,)"
    )


@pytest.mark.parametrize("name", [n for n in kvquant.__all__ if n != "AdaptiveCache"])
def test_every_name_is_there(name: str) -> None:
    assert getattr(kvquant, name).__name__ == name


def test_the_transformers_cache() -> None:
    pytest.importorskip("transformers", reason="needs the extra train")
    from kvquant.hf import AdaptiveCache

    assert kvquant.AdaptiveCache is AdaptiveCache


def test_other_names() -> None:
    with pytest.raises(AttributeError, match="QuantCache"):
        kvquant.QuantCache  # noqa: B018
