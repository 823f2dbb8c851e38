"""The size of a cache by its settings alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvquant.errors import ControllerFileError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from kvquant.kv_size import expected
from tests.kvquant.tiny_controller import write_controller


def numbers(path: Path) -> int:
    """Of one token."""
    shape = Hyperparams.from_file(ModelFile.open(path))
    return 2 * shape.n_layer * shape.n_kv_head * shape.head_dim


def test_halves(tiny_path: Path) -> None:
    size = expected(tiny_path, 100)
    assert size.bytes == size.bytes_fp16 == 200 * numbers(tiny_path)
    assert size.saved == 0


def test_window_and_sinks_are_not_saved(tiny_path: Path) -> None:
    assert expected(tiny_path, 36, kv="static2").saved == 0
    assert expected(tiny_path, 36, kv="static2", window=8).saved > 0
    sizes = [expected(tiny_path, 4096, kv=f"static{bits}").bytes for bits in (8, 4, 3, 2)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] > 4096 * numbers(tiny_path) / 2


def test_a_controller_is_looked_into(tiny_path: Path, tmp_path: Path) -> None:
    (tmp_path / "text.bin").write_text("no controller")
    with pytest.raises(ControllerFileError):
        expected(tiny_path, 64, kv="adaptive", controller=str(tmp_path / "text.bin"))
    own = str(write_controller(tmp_path / "ctrl.bin", tiny_path))
    size = expected(tiny_path, 64, kv="adaptive", budget_bits=4.0, controller=own)
    assert size.saved == pytest.approx(0.75)
