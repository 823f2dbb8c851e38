"""Questions about the assistant's own place and doings, answered from what it knows.

A small model that is given the facts still makes up others.
"""

from __future__ import annotations

import re

from assistant.intent.normalize import normalize, strip_courtesy

_PLACE = re.compile(
    r"(?:(?:do you know |tell me )?(?:which|what) room (?:are you|is this|am i|are we"
    r"|you are)(?: in)?"
    r"|where (?:are you|am i|are we)|where is this|are you in the (?P<room>[a-z ]+))"
    r"(?: right now| now| at the moment| located| standing)?"
)
_DOINGS = re.compile(
    r"what (?:did|have) you (?:just |really |last )*(?:do|done|change|changed|set)"
    r"(?: just now| last| right now| now| there)?"
    r"|what (?:just happened|was that)|did you (?:just )?(?:do|change|set) (?:anything|something)"
    r"|did you (?:just |really )?(?:set|start|make|add|do|cancel|get|remember) (?:it|that|this"
    r"|(?:the|my|a|an) (?:[\w'-]+ )?(?:timer|alarm|reminder|list|one))|did (?:it|that) work"
)

NO_PLACE = "I don't know which room this is. It can be set as home.area."
NOTHING = "I haven't done anything just now."


def about_itself(text: str, *, area: str, done: str) -> str:
    """The answer; "" when the text asks nothing of the kind.

    area: the room that this device stands in, "" when unknown; done: what was said of the last
    command, "" when there is none.
    """
    plain = strip_courtesy(normalize(text))
    if place := _PLACE.fullmatch(plain):
        if not area:
            return NO_PLACE
        room = place["room"]
        if room is None:
            return f"I'm in the {area.lower()}."
        return f"{'Yes' if room == normalize(area) else 'No'}, I'm in the {area.lower()}."
    if _DOINGS.fullmatch(plain):
        return f"I said: {done}" if done else NOTHING
    return ""
