"""One error family: what went wrong, in a sentence, and what to do about it.

Exit codes of the command line follow the class: 2 wrong use or configuration,
3 something is missing (model, device, package), 4 it failed.
"""

from __future__ import annotations

from typing import ClassVar


class AssistantError(Exception):
    """Base of every error a user may see.

    Args:
        code: short stable name for logs and tests, such as ``"audio.no_device"``.
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


class UsageError(AssistantError):
    """The command was called in a wrong way or with unusable input."""

    exit_code: ClassVar[int] = 2


class ConfigError(UsageError):
    """config.yaml (or an override) is wrong; the message lists every mistake."""


class InputFileError(UsageError):
    """A file given by the user cannot be used (not a WAV, empty, truncated)."""


class MissingError(AssistantError):
    """Something that must be there is not: a model, a device, a package."""

    exit_code: ClassVar[int] = 3


class ModelError(MissingError):
    """A model file is absent, truncated, foreign or has a wrong checksum."""


class DeviceError(MissingError):
    """A microphone or speaker cannot be opened, or was lost."""


class PackageError(MissingError):
    """A backend's Python package is not installed."""


class FetchError(AssistantError):
    """A download failed at every source."""


class AsrError(AssistantError):
    """Speech recognition failed."""


class TtsError(AssistantError):
    """Speech synthesis failed."""


class IntentError(UsageError):
    """Sentence templates or intent data are wrong."""


class SkillError(AssistantError):
    """A skill could not do what it was asked; the message may be spoken."""


class LlmError(AssistantError):
    """The language model failed."""


class StateError(AssistantError):
    """The state database cannot be read or written."""
