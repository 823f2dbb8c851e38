"""What is to be said although nobody asked, as soon as it disturbs nobody."""

from __future__ import annotations


class Announcements:
    """Texts in the order in which they came, each once."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: str) -> None:
        """An empty text, and one that waits already, change nothing."""
        if text and text not in self._texts:
            self._texts.append(text)

    def withdraw(self, text: str) -> None:
        """It is true no longer, and is not said if it still waits."""
        if text in self._texts:
            self._texts.remove(text)

    def take(self) -> str:
        """The first one. Raises IndexError when there is none."""
        return self._texts.pop(0)
