"""Cuts the language model's stream into sentences, so that each can be judged whole.

Coarser than what the voice needs: a cut too few or too many does no harm here, the pieces are
put together again unchanged.
"""

from __future__ import annotations

import re

# After the mark (and a closing quote) white space must follow: "3.5" and "e.g." inside a word
# are no ends. Titles and single letters with a full stop are none either.
_END = re.compile(
    r"""(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\b[A-Za-z])(?<!\be\.g)(?<!\bi\.e)
    [.!?…]+["'”’)\]]*(?=\s)|(?<=\S)(?=\n)""",
    re.VERBOSE,
)
_CLOSED = re.compile(r"""[.!?…]+["'”’)\]*_]*\s*$""")
_MAX_OPEN = 400
"""Characters; a text without any full stop is let go in parts of this length."""


class SentenceStream:
    """Text pieces in, whole sentences out; all output together is the input."""

    def __init__(self) -> None:
        self._open = ""

    def push(self, piece: str) -> list[str]:
        """The sentences that are complete now, each with the white space before it."""
        self._open += piece
        done: list[str] = []
        while True:
            end = _END.search(self._open)
            if end is not None:
                at = end.end()
            elif len(self._open) > _MAX_OPEN:
                at = self._open.rfind(" ", 1, _MAX_OPEN)
                at = at if at > 0 else _MAX_OPEN
            else:
                return done
            done.append(self._open[:at])
            self._open = self._open[at:]

    def rest(self) -> str:
        """The unfinished sentence, at the end of the text."""
        rest, self._open = self._open, ""
        return rest


def is_closed(sentence: str) -> bool:
    """Whether it ends with a mark that ends sentences."""
    return _CLOSED.search(sentence) is not None
