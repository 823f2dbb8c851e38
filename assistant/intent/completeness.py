"""Whether a sentence sounds finished, judged by its words.

The end of a turn is found by meaning as well as by silence: a whole command may end
after a short silence, a sentence that stops in the middle is waited for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from assistant.intent.base import Intent

Completeness = Literal["complete", "unfinished", "long", "unknown"]

LONG_WORDS = 9
"""A sentence of so many words that is no command may well go on after a breath."""

# Words that hardly ever end an English request.
_OPEN_ENDED = frozenset(
    """a an the my your his her our their this these those every each
    and or but because if when while that which who whose than as so
    for to at in on of with from by about into until till between called named
    is are was were am be been can could will would shall should may might must do does did
    what how why where whats
    set turn make add put tell give remind wake start create switch change
    i you we they he she it's i'm um uh er hmm please
    some any more less another plus minus times half quarter point""".split()
)

_NUMBER_WORDS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand""".split()
)

TAIL_WORDS = 2
"""Words that a recogniser may invent at the end of sound that was cut in mid-sentence."""


def judge(text: str, understand: Callable[[str], Intent | None]) -> Completeness:
    """Judges the words so far.

    Args:
        text: the transcript so far.
        understand: the grammar; a sentence that it takes with all its values is complete.
    """
    words = re.findall(r"[\w']+", text.lower())
    if not words:
        return "unknown"
    if text.rstrip().endswith((",", "...", "…", "-", "–", "—")):
        return "unfinished"
    intent = understand(text)
    if intent is not None and not intent.asks:
        return "complete"
    last = words[-1]
    if last in _OPEN_ENDED:
        return "unfinished"
    if intent is None and (last in _NUMBER_WORDS or last.isdigit()) and len(words) > 1:
        # "set a timer for ten" wants its unit; a bare number may answer a question.
        return "unfinished"
    if intent is not None or _begins_a_command(words, understand):
        return "unfinished"
    if text[0].isupper() and text.rstrip()[-1].isalnum() and len(words) > 1:
        # A recogniser that writes capitals and full stops has left this one open.
        return "unfinished"
    return "long" if len(words) >= LONG_WORDS else "unknown"


def _begins_a_command(words: list[str], understand: Callable[[str], Intent | None]) -> bool:
    """True for "set a timer for it": a command whose value is not there yet."""
    for cut in range(1, min(TAIL_WORDS, len(words) - 1) + 1):
        intent = understand(" ".join(words[:-cut]))
        if intent is not None and intent.asks:
            return True
    return False
