"""One error family: what went wrong, in a sentence, and what to do about it.

``exit_code`` is what the command line returns: 2 wrong use, 3 something is missing, 4 failed.
"""

from __future__ import annotations

from typing import ClassVar


class KvquantError(Exception):
    """Base of every error of this package.

    Args:
        code: short stable name for logs and tests, such as ``"model.truncated"``.
        message: one sentence that says what is wrong and where.
        hint: one sentence that says what to do; may be empty.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ModelFileError(KvquantError):
    """The model file is absent, truncated, damaged or of a kind that is not known."""

    exit_code: ClassVar[int] = 3


class ControllerFileError(KvquantError):
    """A controller or token feature file is absent, damaged, or not for the model in use."""

    exit_code: ClassVar[int] = 3


class DataFileError(KvquantError):
    """A data set is absent, damaged or not in the form that it is documented in."""

    exit_code: ClassVar[int] = 3


class PackageMissingError(KvquantError):
    """A third-party package that this needs is not installed; the hint names the extra."""

    exit_code: ClassVar[int] = 3


class SettingError(KvquantError):
    """A setting or argument has a value that cannot be used."""

    exit_code: ClassVar[int] = 2


class ContextError(KvquantError):
    """The tokens do not fit the context, or there are none."""

    exit_code: ClassVar[int] = 2


class SnapshotError(KvquantError):
    """A saved cache cannot be read or written, is damaged, or belongs to something else."""


class CacheFullError(KvquantError):
    """The pool of pages has no room for more tokens."""


class BackendError(KvquantError):
    """A backend is not built, was closed, or failed while computing."""


class BackendMissingError(BackendError):
    """The backend that was asked for is not built."""

    exit_code: ClassVar[int] = 3
