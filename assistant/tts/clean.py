"""What a language model writes, as plain sentences: a filter for a stream of tokens.

Works word by word, so a sign is judged with the word it belongs to, however the tokens
were cut: cutting anywhere gives the same text. It holds back at most the word that is
being written (a link's target, a tag or a marker counts as one).
"""

from __future__ import annotations

import re

from assistant.tts.markup import TAGS, plain

MAX_WORD = 1000
"""Longest run without white space that is held back, in characters."""

MAX_TAG = 200
"""Longest HTML tag, in characters; a longer one is text with a "<" in it."""

CODE_NOTE = "Code left out."
"""Said in place of a fenced block in a programming language."""

_TEXT_FENCES = frozenset(("", "text", "txt", "plain", "plaintext", "markdown", "md", "none"))
_NEWLINES = "\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_CJK_STOPS = "。！？"
_ENDED = re.compile(r"[.!?…。！？][\"'”’)]*$")
_PAUSED = re.compile(r"[,;:—–-][\"'”’)]*$")

_RULE = re.compile(r"(?:[-=*_~+]{3,}|[-=:+|]*\|[-=:+|]*)$")
_QUOTE = re.compile(r">+")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)$", re.DOTALL)
_HEADING = re.compile(r"#{1,6}$")
_BULLET = re.compile(r"[-*+•‣◦▪●○·–—]$")
_NUMBERED = re.compile(r"(\d{1,3})[.)]$")
_BOX = re.compile(r"\[[xX]?\]?$|\]$")
_ROLE = re.compile(r"(?:\*\*)?(?:assistant|ai|bot)(?:\*\*)?:(?:\*\*)?$", re.IGNORECASE)
_OPEN_TAG = re.compile(r"<[/!]?(?:([A-Za-z][A-Za-z0-9]*)|--.*)$")
_OPEN_TARGET = re.compile(r"\]\(((?:[^()]|\([^()]*\))*)$")
_HIDDEN = re.compile(r"<(think|script|style)\b[^<>]*>", re.IGNORECASE)


class Cleaner:
    """Markdown, HTML, emoji, links, chat markers out; words and sentence ends stay."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._out: list[str] = []
        self._word: list[str] = []
        self._first = True
        self._line_start = True
        self._after_bullet = False
        self._block = False
        self._number = ""
        self._cell = False
        self._said_in_line = False
        self._breaks = 0
        self._tail = ""
        self._spaced = True
        self._before = ""
        self._tag = ""
        self._target = False
        self._hidden = ""
        self._fence = ""
        self._info = False
        self._code = False

    def feed(self, text: str) -> str:
        """Takes the next piece of text; the plain text that is certain by now."""
        for char in text:
            self._push(char)
        return self._take()

    def finish(self) -> str:
        """The rest; the cleaner is then ready for a new text."""
        self._end_word()
        self._release_tag()
        self._end_number()
        out = self._take()
        self._reset()
        return out

    def _take(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _push(self, char: str) -> None:
        if char in _NEWLINES:
            self._end_word()
            self._end_line()
        elif char.isspace():
            self._end_word()
        else:
            self._word.append(char)
            if char in _CJK_STOPS or len(self._word) >= MAX_WORD:
                self._end_word()

    # Words

    def _end_word(self) -> None:
        word = "".join(self._word)
        self._word.clear()
        if not word:
            return
        if self._fence and not self._in_fence(word):
            return
        while word:
            word = self._step(word)

    def _step(self, word: str) -> str:
        """Handles a word, or its beginning; what is left of it."""
        if self._hidden:
            _, found, rest = word.partition(f"</{self._hidden}>")
            if found:
                self._hidden = ""
            return rest
        if self._target:
            _, found, rest = word.partition(")")
            if found:
                self._target = False
            return rest
        if self._tag:
            return self._in_tag(word)
        if hidden := _HIDDEN.search(word):
            self._line_or_words(word[: hidden.start()])
            self._hidden = hidden[1].lower()
            return word[hidden.end() :]
        if (open_tag := _OPEN_TAG.search(word)) and (
            not open_tag[1] or open_tag[1].lower() in TAGS
        ):
            self._line_or_words(word[: open_tag.start()])
            self._tag = word[open_tag.start() :]
            return ""
        if open_target := _OPEN_TARGET.search(word):
            self._line_or_words(word[: open_target.start()] + "]")
            self._target = True
            return ""
        self._line_or_words(word)
        return ""

    def _in_tag(self, word: str) -> str:
        head, found, rest = word.partition("-->" if self._tag.startswith("<!--") else ">")
        if found:
            tag, self._tag = f"{self._tag} {head}>", ""
            hidden = _HIDDEN.match(tag)
            if hidden and not tag.startswith("</"):
                self._hidden = hidden[1].lower()
            elif not tag.startswith("<!"):
                self._words(tag)
            return rest
        self._tag += " " + word
        if len(self._tag) > MAX_TAG or "<" in word:
            self._release_tag()
        return ""

    def _release_tag(self) -> None:
        """What looked like a tag was text: "a <b and more"."""
        tag, self._tag = self._tag, ""
        if not tag.startswith("<!"):
            for word in tag.split():
                self._words(word)

    # Lines

    def _line_or_words(self, word: str) -> None:
        if not word:
            return
        if self._line_start:
            word = self._start_of_line(word)
            if not word:
                return
        self._after_bullet = self._line_start = False
        self._words(word)

    def _start_of_line(self, word: str) -> str:
        """Takes the marks of a line's kind; the rest of the word, "" when all is taken."""
        if self._after_bullet and _BOX.match(word):
            return ""
        if quote := _QUOTE.match(word):
            word = word[quote.end() :]
            if not word:
                return ""
        if fence := _FENCE.match(word):
            info = fence[2]
            if fence[1][0] not in info:
                self._fence, self._info = fence[1][0] * 3, not info
                self._code = info.lower() not in _TEXT_FENCES
                self._block = True
                return ""
        if _RULE.match(word):
            self._block = True
            return ""
        if _HEADING.match(word):
            self._block, self._line_start = True, False
            return ""
        if _BULLET.match(word):
            self._block = self._after_bullet = True
            return ""
        if (number := _NUMBERED.match(word)) and not self._number:
            self._block, self._number = True, number[1]
            return ""
        if word.startswith("|"):
            self._block = True
        if self._first and _ROLE.match(word):
            self._first = False
            return ""
        return word

    def _in_fence(self, word: str) -> bool:
        """Whether a word between fences is to be said."""
        if self._info:
            # The first word after the opening fence names its language.
            self._info = False
            self._code = word.lower() not in _TEXT_FENCES
            return False
        if self._line_start and word.startswith(self._fence):
            if self._code:
                self._emit(CODE_NOTE)
            self._fence = ""
            return False
        self._line_start = self._line_start and self._code
        return not self._code

    def _end_line(self) -> None:
        self._release_tag()
        self._end_number()
        self._info = self._target = self._cell = False
        self._line_start, self._after_bullet = True, False
        if self._said_in_line and self._block:
            self._end_block()
        self._said_in_line = False
        self._block = False
        self._breaks += 1

    def _end_block(self) -> None:
        """A heading, an item or a row is a sentence of its own."""
        if not _ENDED.search(self._tail) and not _PAUSED.search(self._tail):
            self._raw(".")
        self._space()

    def _end_number(self) -> None:
        """A number with a dot that nothing followed was no item but the answer."""
        if self._number:
            number, self._number = self._number, ""
            self._block = False
            self._emit(f"{number}.")

    # Output

    def _words(self, word: str) -> None:
        if word == "*":
            # "2 * 3" is a sum; every other lone star is decoration.
            if self._before[-1:].isdigit():
                self._emit("×")
            return
        if word in ("-", "--", "---") and self._cell:
            return
        for i, part in enumerate(plain(word).split("|")):
            if i and self._said_in_line:
                self._cell = True
            if part.strip():
                self._emit(part.strip())

    def _emit(self, text: str) -> None:
        if self._number:
            text, self._number = f"{self._number}: {text}", ""
        self._first = False
        if self._tail and (self._breaks or text.strip(",;:.!?…")):
            self._join(text)
        self._breaks = 0
        self._cell = False
        self._said_in_line = True
        self._raw(text)
        self._before = text
        if _ENDED.search(text):
            self._space()

    def _join(self, text: str) -> None:
        """What belongs between the last word and this one."""
        open_end = not _ENDED.search(self._tail) and not _PAUSED.search(self._tail)
        if open_end and self._cell:
            self._raw(",")
        elif open_end and self._breaks > 1:
            self._raw(".")
        elif open_end and self._breaks == 1 and (text[0].isupper() or text[0].isdigit()):
            self._raw(",")
        self._space()

    def _raw(self, text: str) -> None:
        self._out.append(text)
        self._tail = (self._tail + text)[-8:]
        self._spaced = False

    def _space(self) -> None:
        if not self._spaced:
            self._out.append(" ")
            self._spaced = True
