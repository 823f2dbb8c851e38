"""Sentences of the language model that help nobody are left out.

A small model that has nothing to say repeats what was said to it, is sorry for a loss, offers an
address or a telephone number, talks about its instructions, of a screen that is not there or of a
life that it has not lived.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.dialogue.doubt import NOT_SURE
from assistant.dialogue.honesty import HONEST
from assistant.dialogue.sentences import SentenceStream, is_closed
from assistant.intent.normalize import normalize, strip_courtesy

NOT_UNDERSTOOD = "Sorry, I didn't understand that."
I_SEE = "I see."

_EMPTY = re.compile(
    r"\bsorry (?:for|about) (?:any|the|my|your) (?:\w+ )?(?:misunderstandings?|confusion"
    r"|inconvenience|mistakes?|interruption|offen[cs]e|delay)\b"
    r"|\bsorry to interrupt\b"
    r"|\b(?:happy|glad|here|ready|sure) to (?:help|assist)\b(?! yourself)"
    r"|\bI can help with (?:that|anything|whatever)\b|\bI can do it in\b"
    r"|\bjust what you (?:need|want)\b"
    r"|\bas (?:friendly|accurate|helpful|accommodating) (?:and|as)\b"
    r"|\bmore (?:accommodating|precise|careful)\b"
    r"|\b(?:as|only|just|I['’]m|I am) an? (?:friendly |helpful )?(?:voice|language|AI|virtual)\b"
    r"|\b(?:single|one-word|short|spoken) (?:spoken )?sentences?\b"
    r"|\b(?:reach|find|visit|contact|call|follow) me (?:on|at|by|via|anytime)\b"
    r"|\byou(?:['’]re| are) welcome to visit\b|\bin this context\b|\bavailable in all languages\b"
    r"|\b\d{3,4}[ -]\d{3}\b|\be-?mail (?:at|address)\b|\bhttps?:|\bwww\.",
    re.IGNORECASE,
)
_UNLESS_SAID = re.compile(
    r"\b(?:facebook|instagram|twitter|tiktok|amazon|alexa|siri|google|cortana|homework|grammar"
    r"|spell check|brand)\b",
    re.IGNORECASE,
)
_NO_SCREEN = re.compile(
    r"\b(?:click(?:ing)?|tap(?:ping)?|swip(?:e|ing)|(?:smart)?phones?|apps?|websites?|online"
    r"|drop-?down|menus?|settings|touch ?screen|screens?|button|keyboard|browser|internet)\b",
    re.IGNORECASE,
)
"""What the user did not speak of, and this device does not have."""
_LIFE = re.compile(
    r"\bI(?:['’]ve| have) (?:\w+ )?(?:spent|lived|worked|studied|travell?ed|been (?:an?|to|in|at"
    r"|working|studying|learning|thinking))\b"
    r"|\bI (?:\w+ )?(?:grew up|was born|lived|live in|went|spent|studied|worked|used to|remember)\b"
    r"|\bI(?:['’]m| am) (?:not )?an? (?:\w+ )?(?:bit of|fan|lover|enthusiast|student|teacher|human"
    r"|person|woman|man|mother|father|big|huge|[\w]+-loving)\b"
    r"|\b(?:my|our) (?:wife|husband|family|friends?|children|kids|parents|mother|father|mom|dad"
    r"|job|childhood|own thoughts|emotions)\b",
    re.IGNORECASE,
)
_ABLE = re.compile(
    r"\bI (?:can|could) (?:also |even )?(?:play|show|call|send|book|order|search|find|look|open"
    r"|take you|guide you|respond|provide|teach you|suggest a|make|offer|assist|help|answer)\b"
    r"|\byou can (?:only )?ask me\b|\byour preferences\b|\bvoice assistant in a\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\b(?:is (?:an?|the) (?:\w+ )?(?:term|phrase|type|word|expression|concept|kind|form|idiom)"
    r"|refers to|used to describe|known (?:as|for)|(?:phrase|term|word) used)\b",
    re.IGNORECASE,
)
"""Of what nobody asked about."""
_LISTED = re.compile(r"^\s*(?:\d{1,2}[.:)](?:\s|$)|\W*step \d)|:\s*$", re.IGNORECASE)
_CONNECTED = re.compile(
    r"^(?:However|But|Also|Additionally|Moreover|Furthermore|Therefore|Thus|And|So|For example)"
    r",? +(?=\w)"
)
"""How no answer begins."""
_TELLING = re.compile(r"\b(?:story|tale|poem|song|imagine|pretend|joke|rap)\b")
_COMMON = frozenset(
    """the is are was were am be been a an to of and in on at for with from by about as or but if
    so not no yes what who whose how when where why which i you he she it we they me my your his her
    our us them this that these those there here do does did done can could will would shall should
    may might must have has had get got go going come let want need like love hate think know say
    said tell talk give take make see look feel please thanks thank hello hi hey good bad day
    night today tomorrow yesterday some any all more one two up down out off very really just
    too nothing anything something""".split()
)
"""A sentence of English has one of these at least."""
_ORDERS = ("give ", "tell ", "show ", "make ", "find ", "write ", "explain ", "read ", "help ")
_OF_SOMEBODY = re.compile(r"^(?:i|we|my|our|he|she|they|yesterday|today)\b")
_ASKS = re.compile(
    r"^(?:what|who|whose|how|when|where|why|which|is|are|was|were|do|does|did|can|could|will|would"
    r"|should|may|have|has)\b"
)
_LOSS = re.compile(r"\bsorry for your (?:\w+ )?loss\b|\bcondolences\b", re.IGNORECASE)
_GRIEF = re.compile(
    r"\b(?:die[ds]?|dead|death|dying|lost|loss|funeral|passed|buried|killed|gone|grie\w+)\b"
)
_SAME_PERSON = {
    **dict.fromkeys(("i", "me", "you", "we", "us"), "you"),
    **dict.fromkeys(("my", "your", "our", "mine", "yours"), "your"),
}
_NO_NEWS = frozenset(
    """a an the is are am was were be been do does did will would shall can could to of on in at
    it this that and so you your going have has had""".split()
)


class _Filter:
    """Judges the sentences of one answer."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._said = frozenset(_folded(text))
        plain = normalize(text)
        self._grief = _GRIEF.search(plain) is not None
        self._asks = _ASKS.match(strip_courtesy(plain)) is not None or text.rstrip().endswith("?")
        self._asks = self._asks or plain.startswith(("tell", "explain", "describe", "give", "talk"))
        self._telling = _TELLING.search(plain) is not None

    def keeps(self, sentence: str) -> bool:
        if _EMPTY.search(sentence) or (_LOSS.search(sentence) and not self._grief):
            return False
        if _LISTED.search(sentence) or (not self._asks and _DEFINES.search(sentence)):
            return False
        for unsaid in (_UNLESS_SAID, *(() if self._telling else (_NO_SCREEN, _LIFE, _ABLE))):
            for found in unsaid.finditer(sentence):
                if found.group().lower() not in self._text.lower():
                    return False
        return not self._repeats(sentence)

    def _repeats(self, sentence: str) -> bool:
        """Whether it has no word that was not said to it."""
        words = _folded(sentence)
        return bool(words) and all(word in self._said or word in _NO_NEWS for word in words)


def sensible(pieces: Iterable[str], text: str) -> Iterator[str]:
    """The answer to the text without its empty sentences; where nothing is left, that it failed.

    A piece that ends a sentence goes on at once.
    """
    if _COMMON.isdisjoint(normalize(text).split()):
        yield NOT_UNDERSTOOD
        return
    stream, keeps = SentenceStream(), _Filter(text).keeps
    said = empty = False
    for piece in _ended(pieces):
        sentences = [stream.rest()] if piece is None else stream.push(piece)
        if piece is not None and is_closed(piece) and not piece[-1].isspace():
            sentences.append(stream.rest())
        for sentence in filter(str.strip, sentences):
            if keeps(sentence):
                yield sentence if said else _begun(sentence)
                said = True
            else:
                empty = True
    if empty and not said:
        yield instead(text)


def instead(text: str) -> str:
    """What is said where the model has said nothing of use."""
    plain = strip_courtesy(normalize(text))
    if _ASKS.match(plain) or text.rstrip().endswith("?"):
        return NOT_SURE
    if plain.startswith(_ORDERS):
        return HONEST
    told = _OF_SOMEBODY.match(plain) and len(plain.split()) > 2
    return I_SEE if told else NOT_UNDERSTOOD


def _begun(sentence: str) -> str:
    """A first sentence, without what would link it to another."""
    bare = _CONNECTED.sub("", sentence.lstrip())
    return f"{bare[:1].upper()}{bare[1:]}"


def _ended(pieces: Iterable[str]) -> Iterator[str | None]:
    yield from pieces
    yield None


def _folded(text: str) -> list[str]:
    """Words, the same whoever speaks."""
    return [_SAME_PERSON.get(word, word) for word in normalize(text).split()]
