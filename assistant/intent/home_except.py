"""What is left out of a command to several devices: "all lights except the hall lamp"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from assistant.intent.base import Intent
from assistant.intent.home_names import Mention

_EXCEPT = re.compile(r" (?:except|excluding|besides|apart from|other than|but not)(?: for)? ")
_FILLING = re.compile(r"(?: |^)(?:and|or|the|my|our|in|those|ones|lights?|lamps?)(?= |$)")

SLOT = "except"
"""Names of devices and rooms that the command is not for."""


def excepting(
    words: str,
    understand: Callable[[str], Intent | None],
    mentions: Callable[[str], Sequence[Mention]],
) -> Intent | None:
    """The command with the slot ``except``; None when nothing is left out of a command.

    understand: the intent of one command. mentions: the longest names in some words.
    What is to be left out but is not known makes it an unknown name: then nothing is done.
    """
    parts = _EXCEPT.split(words)
    if len(parts) != 2:
        return None
    intent = understand(parts[0])
    if intent is None or not intent.name.startswith("home.Hass") or "name" in intent.slots:
        return None
    found = [m for m in mentions(parts[1]) if m.kind in ("name", "area")]
    rest = parts[1]
    for mention in reversed(found):
        rest = f"{rest[: mention.start]} {rest[mention.end :]}"
    rest = " ".join(_FILLING.sub(" ", " ".join(rest.split())).split())
    if rest or not found:
        said = rest or parts[1]
        slots = {"said": said, "kind": "name", "intent": intent.name, "like": ""}
        return Intent("home.unknown_name", slots)
    names = list(dict.fromkeys(mention.value.name for mention in found))
    return Intent(intent.name, {**intent.slots, SLOT: names})
