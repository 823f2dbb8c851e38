"""A slip put right in the same breath: "set a timer for ten minutes, no, fifteen"."""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.intent.values.number import find_numbers

MAX_WORDS = 30

_SLIP = re.compile(
    r" (?:(?:uh|oh|no|nope|wait|sorry|actually|rather|or rather|i mean|i meant|make (?:that|it)"
    r"|scratch that|correction|hold on|not that) )+(?:for |to |at )?"
)


def put_right(text: str, understand: Callable[[str], Intent | None]) -> Intent | None:
    """The command with the last number said in it in place of the one before; None where
    both sides are not of one kind.

    understand: what reads one command, exactly; called only for what has a slip in it.
    """
    plain = normalize(text)
    slips = list(_SLIP.finditer(plain))
    if not slips or len(plain.split()) > MAX_WORDS:
        return None
    said, meant = plain[: slips[-1].start()], plain[slips[-1].end() :]
    wrong, right = find_numbers(said), find_numbers(meant)
    if not wrong or not right or right[0].start:
        return None
    first = understand(said)
    if first is None:
        return None
    before, after = said[: wrong[-1].start], said[wrong[-1].end :]
    bare = right[0].end == len(meant)
    found = understand(f"{before}{meant}{after}" if bare else f"{before}{meant}")
    return found if found is not None and found.name == first.name else None
