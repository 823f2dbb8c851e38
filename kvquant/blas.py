"""How many threads numpy's BLAS may use.

The usual variable (OPENBLAS_NUM_THREADS) acts only before numpy is first imported, so the
library that numpy has already loaded is asked directly.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)
"""The names that numpy's wheels and the distributions' packages give to one function."""

_MAPPED_FILES = Path("/proc/self/maps")


def limit_threads(n: int) -> bool:
    """Sets the threads of every OpenBLAS in this process, for all its users.

    Returns False where there is none or the system does not say (another BLAS, not Linux): then
    its own default holds.
    """
    done = False
    for path in _loaded_blas():
        library = ctypes.CDLL(path)
        for name in _SETTERS:
            setter = getattr(library, name, None)
            if setter is not None:
                setter.argtypes, setter.restype = [ctypes.c_int], None
                setter(n)
                done = True
                break
    return done


def _loaded_blas() -> set[str]:
    if not _MAPPED_FILES.exists():
        return set()
    lines = _MAPPED_FILES.read_text(errors="replace").splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "blas" in line}
    return {p for p in paths if p.startswith("/") and ".so" in Path(p).name}
