"""How somebody feels and what has happened to them: one short, kind sentence.

A small model that is told "I'm tired" talks of itself, or has nothing to say.
"""

from __future__ import annotations

import re

MAX_WORDS = 12

SORRY = "I'm sorry to hear that."
LOSS = "I'm so sorry for your loss."
GLAD = "I'm glad to hear that."
WELL_DONE = "Congratulations, that's good news."
REST = "Then I hope you can get some rest."
ILL = "I'm sorry to hear that. Get well soon."
BORED = "I could tell you a joke, or toss a coin."
HUNGRY = "I hope there is something good in the kitchen."

_SO = r"(?:(?:so|very|really|just|quite|pretty|a bit|a little|too|totally|completely|feeling) )*"
_I_AM = rf"(?:i am|i feel|i have been|i am feeling|we are|my \w+ is|(?:he|she) is) {_SO}"
_NOW = (
    r"(?: (?:today|tonight|now|again|right now|this (?:morning|evening|week|afternoon)"
    r"|at the moment|lately|all day|about (?:it|that|this)|too|because (?:of )?.+|after .+|of .+"
    r"|from .+))*"
)
_WHO = r"(?:mum|mom|mother|dad|father|son|daughter|brother|sister|wife|husband|friend|partner)"
_KIN = (
    rf"(?:my|our) (?:best )?(?:grand)?(?:{_WHO}|grandma|grandpa|ma|pa|uncle|aunt|cousin|dog|cat"
    r"|hamster|rabbit|bird|horse|boss|neighbour|neighbor|kids?|boy|girl|team)"
)

_ANSWERS = tuple(
    (re.compile(pattern), answer)
    for pattern, answer in (
        (
            rf"{_KIN} (?:has |have |just |recently )*(?:died|passed away|is dead|was killed){_NOW}"
            rf"|i (?:have )?lost {_KIN}{_NOW}",
            LOSS,
        ),
        (
            rf"{_I_AM}(?:tired|exhausted|sleepy|worn out|knackered|drained|shattered){_NOW}",
            REST,
        ),
        (rf"{_I_AM}(?:hungry|starving|thirsty|peckish){_NOW}", HUNGRY),
        (rf"{_I_AM}bored{_NOW}|this is boring|i have nothing to do{_NOW}", BORED),
        (
            rf"{_I_AM}(?:ill|sick|unwell|poorly|not well|not feeling well|in pain){_NOW}"
            r"|i have (?:a|got a|the) (?:\w+ )?(?:cold|flu|fever|headache|sore throat|cough"
            rf"|migraine|stomach ache|toothache){_NOW}"
            r"|my (?:\w+ )?(?:head|back|tooth|stomach|foot|leg|arm"
            rf"|throat|knee)s? (?:hurts?|aches?|is (?:sore|killing me)){_NOW}",
            ILL,
        ),
        (
            rf"{_I_AM}(?:sad|unhappy|down|lonely|stressed|stressed out|angry|upset|worried|anxious"
            rf"|nervous|scared|afraid|depressed|frustrated|annoyed|heartbroken|disappointed"
            rf"|overwhelmed|alone){_NOW}"
            r"|i (?:have )?(?:had|am having) (?:a|such a) (?:(?:very|really) )?(?:bad|terrible"
            rf"|awful|horrible|rough|hard|long|tough|stressful) (?:day|night|week|time|morning)"
            rf"(?: at \w+)?{_NOW}"
            rf"|i (?:cannot|could not|couldn't|did not) (?:get to )?sleep{_NOW}"
            r"|i (?:have )?(?:lost my (?:job|keys|wallet|phone)|got fired|missed my \w+"
            rf"|failed my \w+(?: \w+)?){_NOW}|nobody (?:likes|loves) me",
            SORRY,
        ),
        (
            rf"{_I_AM}(?:happy|glad|excited|great|good|well|fine|better|relaxed|proud|in love"
            rf"|ok|okay|in a good mood){_NOW}"
            r"|i (?:have )?(?:had|am having) (?:a|such a) (?:(?:very|really) )?(?:good|great|lovely"
            rf"|wonderful|nice|fantastic) (?:day|night|week|time|morning)(?: at \w+)?{_NOW}",
            GLAD,
        ),
        (
            rf"(?:i|we|(?:he|she)|{_KIN}) (?:have |has |just |finally )*(?:passed|won|graduated"
            r"|got (?:married|engaged|promoted|(?:the|a) (?:new )?(?:job|promotion|house|puppy))"
            rf"|had a baby|(?:is|am|are) (?:getting married|engaged|pregnant)|scored)\b.{{0,40}}"
            rf"|(?:i am|we are|{_KIN} is) (?:getting married|engaged|pregnant)\b.{{0,30}}"
            rf"|(?:it is|today is) my birthday{_NOW}",
            WELL_DONE,
        ),
    )
)


def sympathy(plain: str) -> str:
    """The answer; "" where nobody tells of a feeling or of such an event.

    plain: as ``normalize`` writes it.
    """
    if len(plain.split()) > MAX_WORDS:
        return ""
    return next((answer for pattern, answer in _ANSWERS if pattern.fullmatch(plain)), "")
