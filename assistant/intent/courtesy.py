"""Greetings, courtesy and fillers around what is wanted: "would you be so kind and ...".

The phrases are those of normalised text. Longer ones are taken before shorter ones, from
both ends, until none is left.
"""

from __future__ import annotations

from itertools import product


def strip_courtesy(text: str) -> str:
    """Takes greetings, courtesy and fillers off both ends of a normalised text.

    A text of nothing else ("thank you", "please") stays as it is. Words that may as well
    belong to what is played, bought or noted ("love", "honey", "now") are left at the end
    of such a sentence.
    """
    words = text.split()
    start, end = 0, len(words)
    while taken := _phrase_length(words, start, end, _PREFIXES, at_end=False):
        start += taken
        if words[start - 1] in ("mind", "about") and start < end:  # "would you mind setting"
            words[start] = _VERBS.get(words[start], words[start])
    suffixes = _SUFFIXES
    if start < end and words[start] not in _TAKES_ANY_WORDS:
        suffixes = _SUFFIXES | _SUFFIXES_OF_ORDERS
    while taken := _phrase_length(words, start, end, suffixes, at_end=True):
        if words[end - taken - 1] == "say" and end - taken > start:
            break  # "remind me to say thank you"
        end -= taken
    return " ".join(words[start:end]) if start < end else text


def _phrase_length(
    words: list[str], start: int, end: int, phrases: frozenset[str], *, at_end: bool
) -> int:
    """Words of the longest courtesy phrase at one end of ``words[start:end]``; 0 for none."""
    for length in range(min(_LONGEST, end - start), 0, -1):
        piece = words[end - length : end] if at_end else words[start : start + length]
        if " ".join(piece) in phrases:
            return length
    return 0


def _phrases(*patterns: str) -> frozenset[str]:
    """Every wording of patterns such as "could|can you *|please": parts between spaces,
    choices between bars, "*" for nothing, "_" for a space inside a choice."""
    found = set()
    for pattern in patterns:
        for parts in product(*(part.split("|") for part in pattern.split())):
            said = " ".join(part.replace("_", " ") for part in parts if part != "*")
            found.add(said)
    return frozenset(found)


_MIDDLES = "chance|moment|minute|second"
_BOTH = (
    "please", "kindly", "um|uh|erm|uhm|hmm|er|ah|oh", "okay|ok|alright|all_right|right",
    "okay|ok|alright|all_right|now|right then", "thanks|thank_you",
    "my friend|dear", "you know", "if possible", "if you do_not_mind|would|can|could|please",
    "when|whenever you can|are_ready|have_time", f"when|whenever you get|have a {_MIDDLES}",
    "as soon as you can", "quick|quickly|real_quick",
)  # fmt: skip
_PREFIXES = _phrases(
    *_BOTH,
    "hey|hi|hello|yo *|there|you", "good morning|afternoon|evening|day|night", "listen|like",
    "goodnight|night_night",
    "and *|then|also", "also|then|well|so|now|just|actually|basically|yeah|yes|great|perfect|cool",
    "i mean", "you know what", "let us|me see", "excuse|pardon me",
    "sorry *|to_bother_you *|but", "quick question", "assistant|computer",
    "dear assistant|computer", "once you are done",
    "could|can|would|will you *|please|kindly|just", "could|can|would|will please you",
    "would|do you mind", "how about", "why do_not you *|just", "go ahead and",
    "you could|can|should *|please|just", "maybe|perhaps|possibly", "maybe|perhaps you could|can",
    "*|would_you|could_you|please be *|so kind|good|nice and|as_to|enough_to",
    "*|would_you|could_you|please be a dear|darling|love and", "do me a favor|favour *|and",
    "do you think you could|can", "could|may|can|might i ask|get|trouble you to",
    "i wonder|am_wondering|was_wondering if you could|can|would",
    "i am|was hoping you could|can|would",
    "i would be_grateful|appreciate_it|love_it|like_it|be_glad if you could|can|would",
    "i would_like|want|need|would_love you to", "help me *|to",
)  # fmt: skip
_SUFFIXES = _phrases(
    *_BOTH,
    "thanks|thank_you so|very much", "many thanks", "thanks a lot|million|bunch",
    "thanks|thank_you in advance", "thanks|thank_you kindly|again", "okay|ok thanks|thank_you",
    "cheers|ta", "much appreciated", "i would|* appreciate it", "please and thank_you",
    "for me", "could|can|would|will you *|please", "would you mind", "right away|now *|please",
    "now please", "as soon as possible", "if that is okay|ok|alright|all_right|fine",
    "if it is not too much trouble", "if it is not a problem", "if you would be so kind",
    "if you like|will", "got it", "for a moment", "as well",
)  # fmt: skip
# At the end of "play ..." or "add ..." these may be a part of what is named.
_SUFFIXES_OF_ORDERS = _phrases(
    "mate|buddy|man|bro|pal|boss|sir|dear|honey|darling|sweetie|love|yeah", "now", "then", "too",
)  # fmt: skip
_TAKES_ANY_WORDS = frozenset(
    """play put add buy get remind note write say search find call name rename watch read tell send
    remember repeat announce broadcast order teach learn spell translate""".split()
)
_LONGEST = max(len(phrase.split()) for phrase in _PREFIXES | _SUFFIXES)

_VERBS = {
    "adding": "add",
    "canceling": "cancel",
    "cancelling": "cancel",
    "closing": "close",
    "dimming": "dim",
    "giving": "give",
    "locking": "lock",
    "lowering": "lower",
    "making": "make",
    "muting": "mute",
    "opening": "open",
    "pausing": "pause",
    "playing": "play",
    "putting": "put",
    "raising": "raise",
    "reminding": "remind",
    "removing": "remove",
    "repeating": "repeat",
    "setting": "set",
    "skipping": "skip",
    "speaking": "speak",
    "starting": "start",
    "stopping": "stop",
    "switching": "switch",
    "telling": "tell",
    "turning": "turn",
    "waking": "wake",
}
