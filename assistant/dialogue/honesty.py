"""A reply of the language model may never claim an action: only skills act.

Sentence by sentence, by pattern. Told are claims of having acted ("I've set a timer"), of
acting ("Turning off the lights."), of going to act ("I'll remind you") and of a state that
would be the result ("Your alarm is set"). General statements, advice, offers and refusals pass.
"""

from __future__ import annotations

import re

HONEST = "Sorry, I can't do that yet."

_DONE = (
    r"(?:set|reset|turned|switched|started|stopped|paused|resumed|cancell?ed|added|removed|deleted"
    r"|dimmed|brightened|locked|unlocked|opened|closed|shut|raised|lowered|increased|decreased"
    r"|reduced|adjusted|changed|updated|scheduled|booked|reserved|ordered|bought|purchased|called"
    r"|dialed|sent|texted|emailed|messaged|notified|played|skipped|muted|unmuted|saved|recorded"
    r"|noted|created|made|put|placed|enabled|disabled|activated|deactivated|reminded|snoozed"
    r"|programmed|arranged|confirmed|completed|heated|cooled|warmed)"
)
_DO = (
    r"(?:set|reset|turn|switch|start|stop|pause|resume|cancel|add|remove|delete|dim|brighten|lock"
    r"|unlock|open|close|shut|raise|lower|increase|decrease|reduce|adjust|change|update|schedule"
    r"|book|reserve|order|buy|purchase|call|dial|send|text|email|message|notify|play|skip|mute"
    r"|unmute|save|record|note|create|make (?:an?|the|that|it|sure)|put|place|enable|disable"
    r"|activate|deactivate|remind|snooze|program|arrange|wake|alert)"
)
_DOING = (
    r"(?:setting|resetting|turning|switching|starting|stopping|pausing|resuming|cancell?ing|adding"
    r"|removing|deleting|dimming|brightening|locking|unlocking|opening|closing|shutting|raising"
    r"|lowering|increasing|decreasing|reducing|adjusting|changing|updating|scheduling|booking"
    r"|reserving|ordering|buying|purchasing|calling|dialing|sending|texting|emailing|messaging"
    r"|notifying|playing|skipping|muting|unmuting|saving|recording|creating|placing|enabling"
    r"|disabling|activating|deactivating|reminding|putting|making)"
)
_THING = (
    r"(?:timers?|alarms?|reminders?|lights?|lamps?|bulbs?|volume|music|songs?|playlists?|radio"
    r"|podcast|tv|television|thermostat|heating|heater|radiator|air conditioning|ac|fan|oven"
    r"|temperature|brightness|doors?|garage|windows?|blinds?|curtains?|shutters?|locks?|plugs?"
    r"|devices?|appointments?|meetings?|events?|calendar|lists?|orders?|pizza"
    r"|messages?|texts?|emails?|calls?|notes?|tasks?|reservations?|tables?|tickets?|taxi|cab|uber"
    r"|coffee(?: machine)?|vacuum|robot|camera|alert|notification|speaker|sprinklers?)"
)
# What the action is about: a thing of the home, the person spoken to, or a bare on and off.
_OBJECT = (
    rf"(?:\b{_THING}\b|\b(?:you|your|yours|it|them|that|this|those|everything)\b|\bo(?:n|ff)\b)"
)
_I_HAVE = r"\bI(?:['’]ve| have)?(?: just| now| already| also| successfully| gone ahead and)*"
_GOING_TO = (
    r"\b(?:I(?:['’]ll| will| shall|['’]m going to| am going to|['’]m about to| promise)"
    r"|let me|we(?:['’]ll| will))"
)
_START = (
    r"^\W*(?:(?:ok(?:ay)?|sure|sure thing|alright|all right|yes|of course|certainly|great|got it"
    r"|no problem)\b\W*)*"
)

# A word before a thing's name, as in "the living room lights".
_NAME = (
    r"(?!(?:I|you|we|they|he|she|it|to|can|can['’]t|cannot|could|should|would|must|do|don['’]t|not"
    r"|no|please|let|how)\b)[\w'’-]+"
)
_NO = r"(?!not\b|never\b|no\b|n['’]t\b)"

_CLAIMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # I've set a timer. I turned it off.
        rf"{_I_HAVE} {_DONE}\b.*{_OBJECT}",
        # I'll remind you. I am going to turn off the lights.
        rf"{_GOING_TO} (?:{_NO}[\w'’]+ ){{0,4}}?{_NO}{_DO}\b(?=.*{_OBJECT})",
        # I'm setting a timer.
        rf"\bI(?:['’]m| am)(?: now| just| already)* {_DOING}\b.*{_OBJECT}",
        # Turning off the lights now. (But not: Setting a timer is easy.)
        rf"{_START}{_DOING}\b(?!.*\b(?:is|are|can|could|will|would|helps?|may|might|means|requires?"
        rf"|takes?|was|were|has|makes?)\b).*{_OBJECT}",
        # Timer set for five minutes. Lights off. Reminder created.
        rf"{_START}(?:{_NAME}\s+){{0,4}}?{_THING}"
        rf"(?: (?:now|is now|are now))? (?:{_DONE}|on|off)\b",
        # Done! All set. It's done. Consider it done.
        rf"{_START}(?:(?:it|that|this|everything)(?:['’]s| is| has been)(?: now| all)? )?(?:all )?"
        r"(?:done|set|taken care of)\W*$",
        r"\bconsider it done\b|\b(?:it|that)(?:['’]s| is) (?:all )?taken care of\b",
    )
)
# Your alarm is set. The lights are off. The door has been locked.
_STATE = re.compile(
    rf"\b(?:the|your|all|my|both|that|this)\s+(?:[\w'’-]+\s+){{0,3}}?{_THING}\b(?: \w+ \w+)?"
    rf"(?:['’]s| is| are| was| were| has been| have been| will be)"
    r"(?: now| already| successfully| all)*"
    rf" (?:{_DONE}|on\b|off\b|playing\b|scheduled\b)",
    re.IGNORECASE,
)
# In such a clause a state is a condition or advice, not a claim.
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|once|until|till|unless|whether|while|before|after|because|since|that"
    r"|ensure|sure|check|see|how|why|where|which|where)\b[^,;:]*$",
    re.IGNORECASE,
)


def claims_action(sentence: str) -> bool:
    """Whether the sentence says that something was, is being or will be done."""
    if any(claim.search(sentence) for claim in _CLAIMS):
        return not sentence.rstrip().endswith("?")
    if sentence.rstrip().endswith("?"):
        return False
    return any(
        _CONDITION.search(sentence[: match.start()]) is None for match in _STATE.finditer(sentence)
    )


class HonestyFilter:
    """Puts one honest sentence in the place of those that claim an action."""

    def __init__(self) -> None:
        self._replaced = False

    def check(self, sentence: str) -> str:
        """The sentence, or HONEST for the first claim of a reply and "" for further ones."""
        if not claims_action(sentence):
            return sentence
        if self._replaced:
            return ""
        self._replaced = True
        blank = sentence[: len(sentence) - len(sentence.lstrip())]
        return blank + HONEST
