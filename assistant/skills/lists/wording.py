"""How things on lists are told of."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.skills.lists.find import plural


def start(text: str) -> str:
    """With its first letter large."""
    return text[:1].upper() + text[1:]


def are(texts: Sequence[str]) -> str:
    return "are" if plural(texts) else "is"


def things(count: int) -> str:
    return "is one thing" if count == 1 else f"are {count or 'no'} things"
