"""Questions that leave out what the one before said: "and of Italy?" after "what is the capital of
France". A small model answers them in full far better.
"""

from __future__ import annotations

import re

from assistant.intent.followup import followup
from assistant.intent.normalize import normalize

_PLACE = r"of|in|for|from|on|at|with|by|to|than"
_REST = re.compile(rf"^(?:(?P<word>{_PLACE}) )?(?P<what>(?:the )?[\w'-]+(?: [\w'-]+)?)$")
_ASKS = re.compile(r"^(?:who|what|when|where|which|how|is|are|does|do|did|can)\b")
_NO_MATTER = re.compile(r"^(?:you|me|it|that|this|then|now|so|why|what|not|more|us|him|her|them)\b")


def in_full(text: str, question: str) -> str:
    """The text with what it leaves out; the text itself when it leaves nothing out.

    question: what was asked before, "" when nothing was.
    """
    hangs = followup(text)
    before = normalize(question)
    rest = _REST.match(hangs.rest)
    if hangs.kind != "also" or rest is None or not _ASKS.match(before):
        return text
    if _NO_MATTER.match(rest["what"]):
        return text
    words = rest["word"] or _PLACE
    cut = re.match(rf"^(?P<head>.*\b(?:{words})) (?P<tail>(?:the )?[\w'-]+(?: [\w'-]+)?)$", before)
    return f"{cut['head']} {rest['what']}" if cut else text
