"""Commands with a time of day: "turn on the tree at five", "tomorrow at seven open the blinds"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from assistant.intent.base import Intent
from assistant.intent.values.when import parse_time

_LEAD = r"(?:at|tonight|tomorrow|today|this (?:morning|afternoon|evening)|on \w+day)\b"
_BEHIND = re.compile(rf" (?={_LEAD})")
_IN_FRONT = re.compile(
    rf"^(?P<when>{_LEAD}.*?) (?P<what>(?:turn|switch|open|close|shut|lock|dim|set|start|put|lower"
    r"|raise|pause|stop|play|activate|run)\b.+)$"
)

Understand = Callable[[str], Intent | None]


def at_a_time(words: str, understand: Understand, now: datetime) -> Intent | None:
    """ "home.HassStartTimer" with ``until``, an ISO moment, for a command and when it is to be
    done; None where one of the two is none.

    words: as ``home_names.plain`` writes them; understand: the intent of a command alone.
    """
    ways = [(words[: cut.start()], words[cut.end() :]) for cut in _BEHIND.finditer(words)]
    if front := _IN_FRONT.match(words):
        ways.append((front["what"], front["when"]))
    for what, when in ways:
        moment = parse_time(when, now)
        if moment is None or not moment.has_time:
            continue
        command = understand(what)
        if command is not None and command.name.startswith("home.Hass"):
            slots = {
                "conversation_command": what,
                "until": moment.at.isoformat(timespec="seconds"),
                "commands": [{"intent": command.name, "slots": command.slots}],
            }
            return Intent("home.HassStartTimer", slots)
    return None
