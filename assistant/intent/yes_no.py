"""Yes or no, as loosely as people say it."""

from __future__ import annotations

import re

from assistant.intent.normalize import normalize

_YES = frozenset(
    """yes yeah yep yup yea yah aye sure ok okay k fine certainly definitely absolutely indeed
    correct right affirmative please alright exactly totally perfect gladly positive""".split()
)
_NO = frozenset(
    """no nope nah nay never negative wrong stop cancel don't not wait none neither
    nothing""".split()
)
_YES_PHRASES = (
    "go on", "go ahead", "go for it", "do it", "do that", "do so", "carry on", "continue",
    "keep going", "of course", "all right", "that is right", "that is correct", "sounds good",
    "i do", "i am", "i am sure", "i would", "i want that", "why not", "you bet", "all of them",
    "all of it", "all", "everything", "the rest", "more", "next", "it is", "you can", "you may",
    "by all means", "read on", "tell me", "that would be great",
    "make it so", "let us do it", "let us do that",
)  # fmt: skip
_NO_PHRASES = (
    "that is enough", "that is all", "that will do", "that is it", "that is fine", "enough",
    "i am good", "i am fine", "leave it", "leave them", "keep it", "keep them", "keep that",
    "forget it", "never mind", "nevermind", "not now", "no need", "no thank you", "no thanks",
    "rather not", "better not", "i would rather not", "i changed my mind", "not really",
    "not yet", "of course not", "certainly not", "definitely not", "absolutely not",
    "i am not", "i am not sure", "it is not", "nah it is fine",
)  # fmt: skip
_FILLERS = frozenset(
    """oh well um uh erm hmm so then now just please thanks thank you very much dear i think
    guess actually that's it that is them really sorry mate sir for me clear delete remove read
    on go ahead and do yes""".split()
)
MAX_WORDS = 8
"""Longer answers are sentences of their own."""


def yes_no(text: str) -> bool | None:
    """True for yes, False for no; None for what is neither, or something else altogether."""
    words = re.sub(r"[^\w' ]+", " ", normalize(text)).split()
    if not 0 < len(words) <= MAX_WORDS:
        return None
    said = " ".join(words)
    for phrases, answer in ((_NO_PHRASES, False), (_YES_PHRASES, True)):
        for phrase in phrases:
            rest = f" {said} ".replace(f" {phrase} ", " ", 1).split()
            if len(rest) < len(words) and all(
                w in _FILLERS | (_YES if answer else _NO) for w in rest
            ):
                return answer
    firm = [word for word in words if word in _YES | _NO]
    if not firm or any(w not in _FILLERS | _YES | _NO for w in words):
        return None
    if "do" in words and "not" in words:  # "please do not"
        return False
    # "no, please" and "yes, but not now" both begin with the answer
    return firm[0] in _YES if firm[0] != "please" or len(firm) == 1 else firm[1] in _YES
