"""A sentence that hangs on the one before: "no, ten minutes", "and in the bedroom?", "again".

Only the words around are read here; what the rest means, the skill of the turn before says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from assistant.intent.normalize import normalize, strip_courtesy

Kind = Literal["correct", "also", "again", "more", "less", "bare"]

MAX_WORDS = 9
"""What is longer stands for itself."""

_FILLED = r"(?:um|uh|oh|well|hmm|so|okay|ok|please|hey|ah|oops|whoops|good|great|fine|right|thanks)"
_CORRECT = re.compile(
    rf"^(?:{_FILLED} )*(?:"
    r"(?:no(?! (?:problem|worries|idea|way|doubt|one|thanks?|need|matter|longer|more|such|kidding"
    r"|wonder|chance|sense|reason|big)\b)|nope|nah|wait|hold on|hang on|sorry|actually|rather"
    r"|wrong|correction|scratch that"
    r"|strike that|my mistake|my bad|that is wrong|that was wrong|that is not right"
    r"|(?:i )?(?:do not|did not) mean that|not that(?: one)?|not this(?: one)?|i changed my mind"
    r"|that is not what i (?:said|meant|asked for|wanted)|i said|i meant|i mean"
    r"|i wanted|i was asking for|it should (?:be|have been)|it is supposed to be|should be"
    r"|(?:can|could|would) you (?=make|change)|let us (?:say|make (?:it|that)|do)"
    r"|(?:make|change|set) (?:it|that|this|them)(?: (?:to|into|for|at))?(?= \S)"
    r"|i would (?:rather|prefer)(?: (?:have|like|it))?)\b"
    rf"(?: {_FILLED}\b)*\s*)+"
)
_STRONG = re.compile(
    r"\b(?:no|nope|nah|wait|hold on|wrong|correction|(?:scratch|strike) that|mistake|my bad|not"
    r"|i said|i meant|i mean|i wanted|sorry|actually|rather|instead|changed my mind)\b"
)
_AND = r"(?:and|also|then|now|what|how|as well as)(?: (?:also|then|now|what|how))*"
_SAME = r"(?:and |now )?(?:do )?(?:the )?same(?: again| thing)?"
_ALSO = re.compile(
    rf"^(?:{_FILLED} )*(?:{_SAME}(?: (?=for|in|with|to|on|at|here|there|$))"
    rf"|{_AND} (?:about |is about |of |with )"
    r"|(?:and|also|now|then)(?: (?:also|then|now))* (?!then))+"
)
_AGAIN = re.compile(
    rf"^(?:{_FILLED} |and |now )*(?:(?:do|try|make|run|play) (?:it|that|this|the same)"
    r"(?: thing)? (?:again|once more|one more time|another time)|again|once more|once again"
    r"|one more time|another time|(?:the )?same again|another(?: one)?|one more|yet again"
    r"|repeat it|redo(?: it| that)?)(?: please)?$"
)
_AMOUNT = (
    r"(?:(?:just |only |still |even |yet )*(?:(?:a |one )?(?:tiny |little |wee )?"
    r"(?:bit|little|touch|tad|notch|lot)|slightly|somewhat|much|far|some)\s)?"
)
_MORE = re.compile(
    rf"^(?:{_FILLED} |and |now )*{_AMOUNT}(?:even |still )?(?:more|further|keep going|not enough)$"
)
_LESS = re.compile(
    rf"^(?:{_FILLED} |and |now )*{_AMOUNT}(?:even |still )?"
    r"(?:less|too much|too far|back a (?:bit|little))$"
)
_TAIL = re.compile(r"\s(?:instead|rather|i mean|i meant|i said|actually|then)$")
_ENOUGH = re.compile(r"\s(?:is|will be|would be) (?:enough|fine|plenty|better|okay|ok|good|right)$")
_TOO = re.compile(r"\s(?:too|also|as well)$")
_PRONOUN = re.compile(r"\b(?:it|that|this|them|these|those)\b|^(?:are|were) they\b")


@dataclass(frozen=True, slots=True)
class Followup:
    """kind: what it does to the turn before.

    "correct": takes its place ("no, ten minutes", "make it twenty", "not ten, fifteen"),
    "also": the same for something else ("and in the bedroom", "what about tomorrow"),
    "again", "more", "less": with no words of their own; "bare": none of these.
    denies: a correction that says that the turn before was wrong, not only a change of mind.
    rest: the words that carry the meaning, normalised, without courtesy; "" for again, more
        and less.
    """

    kind: Kind
    rest: str
    denies: bool = False


def followup(text: str) -> Followup:
    """Reads the words around what hangs on the turn before."""
    wrong, right = _not_but(text)
    whole = normalize(right)
    for kind, pattern in (("again", _AGAIN), ("more", _MORE), ("less", _LESS)):
        if not wrong and pattern.match(_bare(whole)):
            return Followup(kind, "")  # type: ignore[arg-type]
    lead = _CORRECT.match(whole)
    rest = _bare(whole[lead.end() :] if lead else whole)
    if lead:
        rest = _ENOUGH.sub("", rest)  # "no, 21 is enough"
    tail = _TAIL.search(rest)
    if tail:
        rest = rest[: tail.start()]
    if wrong or lead or (tail and tail.group().strip() != "then"):
        said = (lead.group() if lead else "") + (tail.group() if tail else "")
        # "no, what about the kitchen"
        rest = _ALSO.sub("", rest) or rest
        return Followup("correct", rest, wrong or _STRONG.search(said) is not None)
    also = _ALSO.match(f"{whole} ")
    if also or _TOO.search(whole):
        rest = _TOO.sub("", whole[also.end() :] if also else whole)
        return Followup("also", _bare(rest.strip()))
    return Followup("bare", rest)


def points_back(text: str) -> bool:
    """Whether "it", "that" or "them" stand for what the turn before was about."""
    return _PRONOUN.search(normalize(text)) is not None


_NOT_BUT = re.compile(
    r"^(?:no[,.]?\s+)?not\s+[^,;.]{1,30}?(?:[,;.]\s*|\s+but\s+)(?:but\s+)?(?P<right>\S.*)$",
    re.IGNORECASE,
)
_BUT_NOT = re.compile(
    r"^(?P<right>.*?\S)(?:,\s*|\s+and\s+|\s+)not\s+(?!at\b|now\b|really\b|yet\b)[^,;]{1,30}$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:do|does|did|is|are|was|were|am|will|would|should|could|can|has|have|had|must|may"
    r"|might"
    r"|why|course|absolutely|certainly|definitely|probably|maybe|if|or|guess|hope|rather|better"
    r"|i|but)|['\u2019](?:m|s|re|d|ll))$",
    re.IGNORECASE,
)


def _not_but(text: str) -> tuple[bool, str]:
    """ "not ten, fifteen" and "fifteen, not ten" -> (True, "fifteen")."""
    text = text.strip().rstrip(".!?")
    if len(text.split()) > MAX_WORDS:
        return False, text
    match = _NOT_BUT.match(text) or _BUT_NOT.match(text)
    if match is None or _NEGATED.search(match["right"]):
        return False, text
    return True, match["right"]


def _bare(text: str) -> str:
    return strip_courtesy(text) if text else ""
