"""A reply of the language model may never claim an action: only skills act.

Sentence by sentence, by pattern. Told are claims of having acted ("I've set a timer"), of
acting ("Turning off the lights."), of going to act ("I'll remind you"), of a state that would be
the result ("Your alarm is set", "It's off now"), of having looked ("I checked your calendar") and
mere acknowledgements ("Will do."). General statements, advice, offers and refusals pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.dialogue.sentences import SentenceStream, is_closed

HONEST = "Sorry, I can't do that yet."
NOT_LOOKED = "Sorry, I can't look that up."

# What is done to a thing; with many things it is no claim ("I played in a band").
_DONE = (
    r"(?:set|reset|turned|switched|started|stopped|paused|resumed|added|removed|dimmed|locked"
    r"|unlocked|opened|closed|shut|raised|lowered|increased|decreased|reduced|adjusted|changed"
    r"|updated|reserved|ordered|bought|purchased|called|sent|texted|messaged|notified|played"
    r"|skipped|saved|recorded|noted|created|made|put|placed|prepared|arranged|confirmed|completed"
    r"|heated|cooled|warmed|moved|paid|taken|took|given|gave|got|marked|checked|finished|cleared"
    r"|fixed|handled|sorted|ran|run)"
)
# What nothing but a device or a service does: a claim whatever it is about.
_SURE_DONE = (
    r"(?:cancell?ed|deleted|brightened|scheduled|rescheduled|booked|dialed|dialled|emailed|e-mailed"
    r"|muted|unmuted|enabled|disabled|activated|deactivated|reminded|snoozed|programmed|preheated"
    r"|paused|unpaused|unlocked|dimmed|silenced|transferred|downloaded|uploaded|installed"
    r"|rebooted|restarted|logged|bookmarked|synced"
    r"|started (?:recording|playing|streaming|cleaning)|turned (?:on|off|up|down)"
    r"|switched (?:on|off))"
)
_DO = (
    r"(?:set|reset|turn|switch|start|stop|pause|resume|cancel|add|remove|delete|dim|brighten|lock"
    r"|unlock|open|close|shut|raise|lower|increase|decrease|reduce|adjust|change|update|schedule"
    r"|reschedule|book|reserve|order|buy|purchase|call|dial|send|text|email|message|notify|play"
    r"|skip|mute|unmute|save|record|note|create|make (?:an?|the|that|it|sure)|put|place|enable"
    r"|disable|activate|deactivate|remind|snooze|program|arrange|wake|alert|ring|warn|pay|move"
    r"|get (?:on|right on) (?:it|that)|handle|take care of|look (?:it|that|this) up"
    r"|check (?:on|your|the))"
)
_DOING = (
    r"(?:setting|resetting|turning|switching|starting|stopping|pausing|resuming|cancell?ing|adding"
    r"|removing|deleting|dimming|brightening|locking|unlocking|opening|closing|shutting|raising"
    r"|lowering|increasing|decreasing|reducing|adjusting|changing|updating|scheduling|booking"
    r"|reserving|ordering|buying|purchasing|calling|dialing|sending|texting|emailing|messaging"
    r"|notifying|playing|skipping|muting|unmuting|saving|recording|creating|placing|enabling"
    r"|disabling|activating|deactivating|reminding|putting|making|preheating|moving"
    r"|checking|working on)"
)
_THING = (
    r"(?:timers?|alarms?|reminders?|lights?|lamps?|bulbs?|volume|music|songs?|playlists?|radio"
    r"|podcast|tv|television|thermostat|heating|heater|radiator|air conditioning|ac|fan|oven|stove"
    r"|temperature|brightness|doors?|garage|gate|windows?|blinds?|curtains?|shutters?|locks?"
    r"|plugs?|devices?|appointments?|meetings?|events?|calendar|lists?|orders?|pizzas?|message"
    r"|messages|texts?|emails?|calls?|notes?|tasks?|reservations?|table|tickets?|taxi|cab|uber"
    r"|coffee(?: machine)?|vacuum(?: cleaner)?|robot|camera|alert|notification|speaker|sprinklers?"
    r"|photos?|pictures?|payment|bill|money|request|scene|mode|kettle|dishwasher|washing machine"
    r"|recording|report|screen|computer|car|house|movie|film|video|mail|heat|water)"
)
# What the action is about: a thing of the home, the person spoken to, or a bare on and off.
_OBJECT = (
    rf"(?:\b{_THING}\b|\b(?:you|your|yours|it|them|that|this|those|everything)\b|\bo(?:n|ff)\b)"
)
_NO = r"(?!not\b|never\b|no\b|n['’]t\b)"
_ADVERBS = r"(?: just| now| already| also| successfully| gone ahead and| gone and| then)*"
_I_HAVE = rf"\b(?:I|we)(?:['’]ve| have)?{_ADVERBS}"
_GOING_TO = (
    r"\b(?:(?:I|we)(?:['’]ll| will| shall|['’]m going to| am going to|['’]re going to"
    r"| are going to|['’]m about to| am about to| promise)|let me)"
)
_START = (
    r"^\W*(?:(?:ok(?:ay)?|sure|sure thing|alright|all right|yes|of course|certainly|great|got it"
    r"|no problem|there|absolutely|right|done|perfect|will do)\b\W*)*"
)
# A word before a thing's name, as in "the living room lights".
_NAME = (
    r"(?!(?:I|you|we|they|he|she|it|to|can|can['’]t|cannot|could|should|would|must|do|don['’]t|not"
    r"|no|please|let|how|try|keep|leave|turn|switch|turning|switching|get|put)\b)[\w'’-]+"
)
_IS = r"(?:['’]s|['’]re| is| are| has been| have been| will be(?= now)| should be(?= now))"
_NOW = r"(?: now| already| successfully| all| both| again| back| being| just)*"
_TOO = r"(?: now| again| for you| as (?:you )?(?:asked|requested|wished))*"
# A general statement goes on like this: "Setting a timer is easy", "... saves energy".
_RULE = (
    r"(?!.*\b(?:is|are|can|could|will|would|help|helps|may|might|means|requires?|takes?|was|were"
    r"|has|makes?|saves?|uses?|keeps?|reduces|costs?|wastes?|prevents?|lets|allows?|gives?|needs?"
    r"|improves?|works|feels|sounds|seems|involves?|should|must|shows?|brings?|leads?|lowers?)\b)"
)
_MOVING = (
    r"(?:playing|closing|opening|preheating|heating(?: up)?|cooling(?: down)?|cleaning|running"
    r"|recording|going (?:up|down|on|off)|coming (?:up|down|on)|starting|ringing|locking"
    r"|on (?:its|their) way)"
)

_CLAIMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # I've set a timer. I turned it off. I rescheduled the call.
        rf"{_I_HAVE} {_DONE}\b.*{_OBJECT}",
        rf"{_I_HAVE} {_SURE_DONE}\b",
        rf"{_I_HAVE} ordered (?:an?|the|some|two|three|four)\b|{_I_HAVE} (?:took|taken) (?:a"
        rf"|the) p",
        rf"{_I_HAVE} (?:did|done) (?:it|that|this|as you|what you|so\b)",
        rf"{_I_HAVE} got .*\b(?:playing|running|going|ready|set up|covered)\b",
        # I'll remind you. I am going to turn off the lights.
        rf"{_GOING_TO} (?:{_NO}[\w'’]+ ){{0,4}}?{_NO}{_DO}\b(?=.*(?:{_OBJECT}|\b(?:her|him)\b))",
        rf"{_GOING_TO} (?:let you know (?:when|if|once|as soon)|keep (?:an eye|a watch|watch|track)"
        r"|get (?:right )?on it|do (?:it|that|so)(?: now| right away)?\W*$)",
        # I'm setting a timer.
        rf"\b(?:I(?:['’]m| am)|we(?:['’]re| are)){_ADVERBS} {_DOING}\b.*{_OBJECT}",
        # Turning off the lights now. Calling mum. (But not: Setting a timer is easy.)
        rf"{_START}(?:now )?{_DOING}\b{_RULE}.*{_OBJECT}",
        rf"{_START}(?:calling|dialing|texting|ordering|booking)"
        rf"(?: \w+){{1,3}}{_TOO}\W*$",
        # Timer set for five minutes. Lights off. Reminder created. Added milk to your list.
        rf"{_START}(?:{_NAME}\s+){{0,4}}?{_THING}"
        rf"(?: (?:now|is now|are now))? (?:{_DONE}|{_SURE_DONE}|on|off)\b(?! (?:by|with|in|of)\b)",
        rf"{_START}(?:added|removed|deleted|sent|saved|turned|switched|booked"
        rf"|ordered)\b.*{_OBJECT}",
        # Done! All set. It's done. Consider it done. On it!
        rf"{_START}(?:(?:it|that|this|everything|task|all)(?:['’]s| is| has been)?(?: now| all)? )?"
        r"(?:all )?(?:done|set|completed|finished|taken care of)\W*$",
        r"\bconsider it\b|\b(?:it|that)(?:['’]s| is) (?:all )?taken care of\b",
        rf"{_START}(?:(?:I['’]m )?(?:right )?on it(?: now| right away)?|right away|will do"
        rf"|as you wish"
        r"|coming (?:right )?up|(?:I['’]m )?(?:working on|doing) (?:it|that)(?: now)?|at once"
        r"|immediately)\W*$",
        rf"{_START}now playing\b|{_START}volume (?:up|down)\b",
        rf"{_GOING_TO} (?:get (?:it|that|this) (?:done|sorted|ready)|tell you (?:at|when|in"
        rf"|as soon)\b)",
        r"\b(?:your|the) (?:[\w-]+ ){0,2}(?:timer|alarm|countdown)s?(?: for [\w -]+)? (?:has|have)?"
        r" ?(?:started|begun|starts? now|begins? now|is running)\b",
        r"\b(?:your|the) (?:volume|temperature|brightness|thermostat) is now\b",
        # It's off now. They are all locked. Everything has been switched off.
        rf"\b(?:it|they|everything|that|all of them|both){_IS}{_NOW} (?:(?:{_DONE}|{_SURE_DONE}) )?"
        rf"(?:on|off){_TOO}\W*$",
        rf"\b(?:it|they|everything|that){_IS}{_NOW} (?:locked|unlocked|cancell?ed|deleted|scheduled"
        rf"|booked|ordered|activated|deactivated|muted|enabled|disabled|turned (?:on|off)"
        rf"|(?:added|saved|sent|moved) (?:to|in|on) (?:your|the)){_TOO}",
        r"\b(?:has|have) been (?:added|saved|removed|moved|put|placed) (?:to|from|on|in) (?:your"
        r"|the)"
        r" (?:[\w-]+ ){0,2}(?:list|calendar|cart|basket|notes|agenda|diary|playlist)\b",
        r"\b(?:is|are) (?:now |already )?on (?:your|the) (?:[\w-]+ ){0,2}list\b",
        rf"{_START}\ban? (?:[\w-]+ )?(?:timer|alarm|reminder) (?:has been|is now|was) (?:set"
        rf"|created)",
        # Your pizza is on its way. Your meeting has been moved. Your coffee is being made.
        r"\byour (?:[\w-]+ ){1,3}(?:is|are|has been|have been|was|were) "
        r"(?:(?:now |all |already )*(?:on (?:its|their|the) way|being \w+ed|being made|processed)"
        rf"|(?:now |all |already |being )*(?!made\b|called\b|given\b|run\b|changed by){_DONE}(?!\w)"
        rf"|(?:now |all |already )*{_SURE_DONE})(?! (?:of|by|when|if)\b)",
        r"\b(?:taxi|cab|uber|doctor|ambulance|police) (?:has|have) been called\b",
        r"\b(?:taxi|cab|uber|pizza|order|food|ambulance|robot|vacuum|help) is on (?:its|the) way\b"
        r"(?! around)",
        r"\b(?:your|the) (?:[\w-]+ ){0,2}(?:alarm|timer|reminder)s? will (?:ring|go off|sound|start"
        r"|wake|remind|be set)\b",
        r"\byou(?:['’]ll| will) be (?:woken|reminded|notified|alerted|called)\b",
        r"\bhere(?:['’]s| is| are) (?:your|the) (?:[\w-]+ )?(?:playlist|music|song|order"
        r"|reservation"
        r"|photo|recording|ticket|booking)\b",
        rf"{_START}enjoy (?:your|the) (?:[\w-]+ )?(?:music|songs?|movie|film|show|podcast|playlist"
        r"|pizza|coffee|meal|ride)\b",
    )
)
# Your alarm is set. The lights are off. The front door is now open.
_STATE = re.compile(
    rf"\b(?:the|your|all|my|both|that|this|night|away|party|movie)\s+"
    rf"(?:[\w'’-]+\s+){{0,3}}?{_THING}"
    rf"\b(?: \w+ \w+)?{_IS}{_NOW} (?:(?!made\b|called\b|given\b|run\b|played\b){_DONE}|{_SURE_DONE}"
    rf"|on\b(?! (?:the|its|their|a|an)\b)|off\b|open\b|{_MOVING}|(?:at|down to|up to) \d+)"
    r"(?!\w)(?! (?:when|if|by|because|until|while|in \d)\b)",
    re.IGNORECASE,
)
# In such a clause a state is a condition or advice, not a claim.
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|once|until|till|unless|whether|while|before|after|because|since|that"
    r"|ensure|sure|check|how|why|where|which)\b[^,;:]*$",
    re.IGNORECASE,
)
_LOOKED = re.compile(
    rf"{_I_HAVE} (?:checked|looked (?:it|that|this|them) up|looked up|searched|googled|browsed"
    r"|found (?:your|the|two|three|four|several|some|a few)|scanned|accessed)\b"
    r"|\bI (?:can |now )*see that (?:the|your)\b|\baccording to your (?:calendar|list|messages?)\b"
    r"|\b(?:the|my) search (?:shows|found|results)\b|\blet me check (?:the|your|that|it)\b",
    re.IGNORECASE,
)
_SAID_BY_ANOTHER = re.compile(r"[\"”“,]\s*(?:said|asked|cried|replied|answered)\b", re.IGNORECASE)


def claims_action(sentence: str) -> bool:
    """Whether the sentence says that something was, is being or will be done, or was looked up."""
    return honest_instead(sentence) is not None


def honest_instead(sentence: str) -> str | None:
    """What is true in the place of a claim; None when the sentence claims nothing."""
    if sentence.rstrip().endswith("?") or _SAID_BY_ANOTHER.search(sentence):
        return None
    if _LOOKED.search(sentence):
        return NOT_LOOKED
    if any(claim.search(sentence) for claim in _CLAIMS):
        return HONEST
    states = _STATE.finditer(sentence)
    if any(_CONDITION.search(sentence[: state.start()]) is None for state in states):
        return HONEST
    return None


class HonestyFilter:
    """Puts one honest sentence in the place of those that claim an action."""

    def __init__(self) -> None:
        self._replaced = False

    def check(self, sentence: str) -> str:
        """The sentence, or what is true for the first claim of a reply and "" for further ones."""
        honest = honest_instead(sentence)
        if honest is None:
            return sentence
        if self._replaced:
            return ""
        self._replaced = True
        blank = sentence[: len(sentence) - len(sentence.lstrip())]
        return blank + honest


def honest(pieces: Iterable[str]) -> Iterator[str]:
    """A text without claims, whatever the pieces are that it comes in.

    A piece that ends a sentence goes on at once.
    """
    stream = SentenceStream()
    check = HonestyFilter().check
    for piece in pieces:
        sentences = stream.push(piece)
        if is_closed(piece) and not piece[-1].isspace():
            sentences.append(stream.rest())
        yield from filter(None, map(check, sentences))
    if rest := check(stream.rest()):
        yield rest
