"""The voice that says nothing: for devices with a screen only, and for text."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.tts.base import Speech, Voice


class SilentVoice(Voice):
    def load(self) -> None:
        """Nothing to load."""

    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        """Yields nothing, whatever the text."""
        return iter(())
