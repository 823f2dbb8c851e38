"""Cuts a stream of plain text into sentences, as early as is safe.

Decides character by character, so cutting the stream anywhere gives the same chunks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assistant.tts.abbreviations import (
    BEFORE_NUMBERS,
    MAYBE_LAST,
    MONTHS,
    NEVER_LAST,
    STARTERS,
    UNIT_DOTS,
)

FIRST_LIMIT = 120
LIMIT_STEP = 60
LAST_LIMIT = 240
"""Longest chunk in characters: 120 for the first, 180 for the second, 240 from then on.

What is spoken first covers the time that the next chunk takes to synthesize.
"""

QUOTE_LIMIT = 120
"""From this length on a sentence may end inside a quotation or parentheses."""

CLAUSE_WORDS = 3
"""Fewest words of a clause that is split off the first sentence."""

CLAUSE_CHARS = 12
"""Fewest characters of such a clause."""

MORE_WORDS = 5
"""So many words must follow the comma before the clause is split off: it was a long one."""

_STOP = re.compile(r"(?P<stop>[.!?…。！？]+)(?P<close>[\"'”’»)\]]*)$")
_CLAUSE_END = re.compile(r"[,;:—]$")
_DASH = re.compile(r"[-–—]+$")
_INITIAL = re.compile(r"[(\"'“‘]*(?:[A-Z]\.)*[A-Z]$")
_OPENERS = "\"'“‘«([¿¡"
_CLOSERS = "\"'”’»)]"
_JOINERS = frozenset("and but or so because which that who when where while if then".split())


@dataclass(frozen=True, slots=True)
class Sentence:
    """text: one chunk, stripped; ends: False when it is the first part of a sentence."""

    text: str
    ends: bool = True


class SentenceSplitter:
    """Feed pieces of text; get the chunks that are complete.

    A sentence is never cut inside an abbreviation, a number, a time, initials, or
    (unless it is long) a quotation. The first clause of a long first sentence comes
    alone, so that speech can start early.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._chunks = 0
        self._clear("")

    def _clear(self, rest: str) -> None:
        """Starts a chunk; ``rest`` was read already and belongs to it."""
        self._text = ""
        self._word_start = 0
        self._words = 0
        self._pending = ""
        self._pending_end = 0
        self._clause_end = 0
        self._clause_words = 0
        self._quoted = False
        self._depth = 0
        self._carry = rest

    def feed(self, text: str) -> list[Sentence]:
        """Takes the next piece of text; the chunks that are complete by now."""
        out: list[Sentence] = []
        for char in text:
            self._push(char, out)
        return out

    def finish(self) -> list[Sentence]:
        """What is left, as chunks; the splitter is then ready for a new text."""
        out: list[Sentence] = []
        rest = self._text
        if self._pending == "word" and self._next_starts(self._last_word()):
            self._cut(self._pending_end, True, out)
            rest = self._carry
        if rest.strip():
            out.append(Sentence(rest.strip()))
        self._reset()
        return out

    def _push(self, char: str, out: list[Sentence]) -> None:
        todo = [char]
        while todo:
            current = todo.pop(0)
            self._step(current, out)
            if self._carry:
                todo[:0] = self._carry
                self._carry = ""

    def _step(self, char: str, out: list[Sentence]) -> None:
        if char.isspace():
            if not self._text:
                return
            if not self._text[-1].isspace():
                self._end_word(out)
            if self._carry:
                self._carry += " "
            elif self._text:
                self._text += " "
                self._word_start = len(self._text)
            return
        self._text += char
        if self._pending == "char":
            self._decide_by_char(char, out)
        if char in "。！？" and not self._quoted:
            self._cut(len(self._text), True, out)
        elif len(self._text) >= self._limit():
            self._cut_long(out)

    def _limit(self) -> int:
        return min(FIRST_LIMIT + LIMIT_STEP * self._chunks, LAST_LIMIT)

    def _last_word(self) -> str:
        return self._text[self._word_start :].strip()

    # Ends of sentences

    def _end_word(self, out: list[Sentence]) -> None:
        word = self._last_word()
        if self._pending == "word":
            if self._next_starts(word):
                self._cut(self._pending_end, True, out)
                return
            self._pending = ""
        self._words += 1
        self._track_quotes(word)
        kind = self._kind(word)
        end = len(self._text)
        if kind == "cut":
            self._cut(end, True, out)
        elif kind:
            self._pending, self._pending_end = kind, end
        else:
            self._clause(word, out)

    def _track_quotes(self, word: str) -> None:
        for i, char in enumerate(word):
            if char == '"':
                opens = not self._quoted and not word[:i].strip(_OPENERS)
                self._quoted = opens
            elif char in "“«":
                self._quoted = True
            elif char in "”»":
                self._quoted = False
            elif char == "(":
                self._depth += 1
            elif char == ")":
                self._depth = max(0, self._depth - 1)

    def _kind(self, word: str) -> str:
        """ "cut" now, wait for the next "char" or "word", or "" for no end here."""
        match = _STOP.search(word)
        if match is None:
            return ""
        if (self._quoted or self._depth) and len(self._text) < QUOTE_LIMIT:
            return ""
        stop, close = match["stop"], match["close"]
        body = word[: match.start()].lstrip(_OPENERS)
        if stop != ".":
            return "char" if close or "…" in stop or ".." in stop else "cut"
        if self._words == 1 and body.isdecimal():
            # "1." alone numbers what follows.
            return ""
        if body in NEVER_LAST or body.lower() in ("e.g", "i.e", "vs"):
            return ""
        if body in BEFORE_NUMBERS or body in MONTHS or body in UNIT_DOTS:
            return "char"
        if body in MAYBE_LAST or _INITIAL.match(body) or re.fullmatch(r"(?:\w\.)+\w", body):
            return "word"
        if re.search(r"\d(?:am|pm|a\.m|p\.m)$", body, re.IGNORECASE):
            return "word"
        return "char" if close else "cut"

    def _decide_by_char(self, char: str, out: list[Sentence]) -> None:
        if char in _OPENERS or char in "-–—":
            if self._text[self._pending_end :].strip() in ("-", "–", "—"):
                self._pending = ""
            return
        self._pending = ""
        before = self._text[: self._pending_end].rsplit(None, 1)[-1].rstrip(".…!?" + _CLOSERS)
        before = before.lstrip(_OPENERS)
        figures = before in BEFORE_NUMBERS or before in MONTHS or before in UNIT_DOTS
        if char.islower() or (char.isdigit() and figures):
            return
        if before in UNIT_DOTS and not char.isupper():
            return
        self._cut(self._pending_end, True, out)

    def _next_starts(self, word: str) -> bool:
        """Whether ``word`` after an abbreviation begins a new sentence."""
        before = self._text[: self._pending_end].rsplit(None, 1)[-1].rstrip("." + _CLOSERS)
        bare = word.lstrip(_OPENERS).rstrip(",.;:!?…" + _CLOSERS)
        if not bare or not bare[0].isupper():
            return False
        bare = bare.replace("’", "'")
        if bare in STARTERS:
            return not (_INITIAL.match(before) and len(bare) == 1)
        if before.lower().endswith(("a.m", "p.m", "am", "pm")):
            return not _WHEN.match(bare)
        return before == "etc"

    # Early and forced cuts

    def _clause(self, word: str, out: list[Sentence]) -> None:
        """Splits the first clause off when the first sentence turns out to be long."""
        if self._chunks or self._quoted or self._depth:
            return
        if self._clause_end:
            if self._words - self._clause_words >= MORE_WORDS:
                self._cut(self._clause_end, False, out)
            elif self._words - self._clause_words == 1 and word[:1].isdigit():
                # "May 5, 2024" stays together.
                self._clause_end = 0
            return
        dash = _DASH.fullmatch(word) is not None
        if not dash and not _CLAUSE_END.search(word):
            return
        if self._words < CLAUSE_WORDS + dash or len(self._text) < CLAUSE_CHARS:
            return
        self._clause_end, self._clause_words = len(self._text), self._words

    def _cut_long(self, out: list[Sentence]) -> None:
        """Cuts a chunk that has reached its limit at the best place before it."""
        places = [m.start() for m in re.finditer(r"\s", self._text)]
        best, best_rank = 0, -1
        for place in places:
            rank = self._rank(place)
            if rank > best_rank or (rank == best_rank and rank >= 0):
                best, best_rank = place, rank
        self._cut(best or len(self._text), False, out)

    def _rank(self, place: int) -> int:
        """How good a place a space is: 3 after a clause, 2 before "and", 1 between words."""
        before = self._text[:place].rsplit(None, 1)[-1]
        after = self._text[place + 1 :].split(None, 1)
        following = after[0] if after else ""
        if before[-1].isdigit() or not following[:1].isalpha() or before[-1] in "$£€#°.":
            return 0
        if place < len(self._text) // 3:
            return 0
        if before[-1] in ",;:—)":
            return 3
        if following in _JOINERS:
            return 2
        return 1 if before[-1].isalpha() else 0

    def _cut(self, end: int, ends: bool, out: list[Sentence]) -> None:
        chunk, rest = self._text[:end].strip(), self._text[end:]
        if chunk:
            out.append(Sentence(chunk, ends))
            self._chunks += 1
        self._clear(rest.lstrip())


_WHEN = re.compile(
    r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Satur|Sun)(?:day)?s?$|[A-Z]{2,4}$|"
    r"(?:January|February|March|April|June|July|August|September|October|November|December|"
    r"Eastern|Pacific|Central|Mountain|Greenwich)$"
)
"""What goes on after "9 a.m.": a day, a month, a time zone."""
