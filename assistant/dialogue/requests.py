"""Requests that nothing here fulfils: said so at once, not left to a model that would play along.

By pattern, on the whole sentence, and only after everything that understands commands has passed
it by. What is said depends on what is loaded: a skill that has the matter says how it is asked,
one that is switched off or has nothing to act on says that, and for the rest it says what is
missing. What only mentions such things is talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.dialogue.honesty import HONEST
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.skills.base import Skill

NO_LOOKUP = "Sorry, I don't know. I can't look things up."

MAX_WORDS = 16
"""Longer sentences are stories."""

_THE = r"(?:(?:the|my|our|a|an|some|all|all the|any|this|that|every)\s)?(?:[\w'-]+\s){0,3}?"
_DEVICE = (
    r"(?:lights?|lamps?|bulbs?|tv|television|radio|stereo|music|fan|heat|heating|heater|radiator"
    r"|thermostat|temperature|brightness|air conditioning|air conditioner|ac|oven|stove|kettle"
    r"|blinds?|curtains?|shutters?|doors?|garage|gate|windows?|lock|plugs?|sockets?|outlet"
    r"|vacuum|robot|hoover|dishwasher|washing machine|washer|dryer|coffee machine|coffee maker"
    r"|sprinklers?|camera|computer|printer|projector|fireplace|humidifier|bluetooth|wi-?fi|pump)"
)
_CLOCKWORK = r"(?:timers?|alarms?|reminders?|stopwatch|countdown)"
_MEDIA = r"(?:music|songs?|tracks?|albums?|playlists?|radio|podcasts?|audiobooks?|movie|video)"
_LIST = r"(?:lists?|calendar|diary|basket|cart|agenda|notes)"
_DATED = r"(?:appointments?|meetings?|events?|subscription|orders?|reservations?|bookings?|flight)"
_COUNT = r"(?:an?|the|my|me|us|some|two|three|another|it|that|this|one)"
_TIED = (
    r"(?:me|it|him|her|them|us|that|this|these|those|a|an|into|in|for|back|out|on|your|yourself|of)"
)

_MUSIC = re.compile(r"\b(?:music|stereo|radio|songs?|tracks?|albums?|playlists?|podcasts?)\b")

_ORDERS: dict[str, tuple[str, ...]] = {
    "timer": (
        rf"(?:set|create|make|start|pause|resume|restart|unpause|rename|snooze|change|move|cancel"
        rf"|delete|stop|repeat|edit) (?:[\w'-]+ ){{0,5}}?{_CLOCKWORK}\b",
        r"snooze\b",
        r"wake (?:me|us|my|the)\b.*(?:\d|at|in|every|when|up|tomorrow)\b",
    ),
    "reminder": (
        r"remind (?:me|us|my) (?:to|at|in|on|about|that|when|tomorrow|tonight|every|later"
        r"|of the)\b",
    ),
    "home": (
        rf"(?:turn|switch|shut|put) (?:on|off|up|down) {_THE}{_DEVICE}\b",
        r"(?:turn|switch|shut) (?:on|off) (?:the|my|our|all|everything)\b",
        rf"(?:turn|switch|shut) {_THE}[\w'-]+ (?:on|off)"
        r"(?: (?:for|until|till|when|if|at|every)\b.*)?$",
        rf"(?:turn|put) {_THE}{_DEVICE} (?:up|down|on|off)\b",
        rf"(?:the )?(?:[\w-]+ ){{0,2}}{_DEVICE} (?:on|off)$",
        rf"(?:set|change|make|adjust|raise|lower|increase|decrease|reduce|dim|brighten) "
        rf"{_THE}{_DEVICE}\b",
        r"(?:dim|brighten) (?:the|my|our)\b",
        rf"(?:open|close|lock|unlock|start|stop|run|pause|empty|clean) (?:the|my|our) "
        rf"(?:[\w-]+ )?(?:{_DEVICE}|house|car|app)\b",
    ),
    "media": (
        r"play (?!with\b|it cool|along|hide|around|on words|time\b|is\b)\S+",
        rf"(?:(?:i (?:want|would like|like) to )?(?:listen to|hear)|put on|find|pause|resume|skip"
        rf"|shuffle|repeat|next|previous|stop) {_THE}{_MEDIA}\b",
        r"(?:pause|resume|skip(?: this| it| that)?"
        r"|(?:next|skip|previous|last|skip this|skip the) (?:song|track|one))$",
    ),
    "calendar": (
        rf"(?:add|put|write|remove|delete|take) .+ (?:to|on|onto|off|from|in|into) "
        rf"{_THE}(?:calendar|diary|agenda)\b",
        rf"(?:cancel|schedule|reschedule|move|confirm) {_THE}{_DATED}\b",
        r"(?:read|check|show|open) (?:me )?(?:my|the) calendar\b",
    ),
    "lists": (
        rf"(?:add|put|write|remove|delete|take|cross|tick) .+ (?:to|on|onto|off|from|in|into) "
        rf"{_THE}{_LIST}\b",
        rf"(?:add|put) {_COUNT}? ?[\w' -]+ (?:to|on) (?:the|my|our) [\w-]+ {_LIST}\b",
        rf"(?:create|make|start|show|read|clear|open|delete|check) {_THE}(?:shopping|to-?do|to do"
        rf"|grocery|task|packing) list\b",
    ),
    "orders": (
        rf"(?:order|book|buy|reserve) {_COUNT} [\w-]+",
        rf"(?:cancel|book|delete) {_THE}{_DATED}\b",
        r"call (?:an? )?(?:taxi|cab|uber)\b",
    ),
    "messages": (
        rf"(?:call|phone|ring|dial|text|message|email|facetime) (?!{_TIED}\b|ring\b|home\b)"
        rf"[\w'-]+(?: [\w'-]+){{0,3}}$",
        r"(?:text|message|email) (?:my|the|our) [\w'-]+",
        r"call (?:an? )?(?:ambulance|police|doctor)\b",
        r"send (?:[\w'-]+ ){0,3}?(?:text|message|email|e-mail|sms|money)\b",
        r"(?:read|check|show|open) (?:me )?(?:my|the) (?:new |latest )?"
        r"(?:messages?|emails?|mail|texts?|notifications?|voicemail)\b",
    ),
    "pictures": (
        r"(?:take|make|record) (?:a |an )(?:photo|picture|selfie|note|video|recording"
        r"|voice memo)\b",
        r"(?:show|display) (?:me )?(?:the|my|a|some) (?:[\w-]+ )?"
        r"(?:photos?|pictures?|camera|video|screen|map|recipe)\b",
    ),
    "apps": (
        r"(?:open|launch|start|install|download) (?:the )?(?:[\w-]+ app|youtube|spotify|netflix"
        r"|google|amazon|facebook|whatsapp)\b",
        r"(?:google|search for|search the|look up|navigate|give me directions|find directions)\b",
    ),
    "itself": (
        r"(?:restart|reboot|shut down|update|upgrade|reset|power off|switch off|turn off)"
        r"(?: (?:yourself|the system|the computer|the device|the assistant|now))$",
    ),
    "translating": (
        r"translate\b|(?:say|how do (?:you|i) say) .+ in (?:french|spanish|german|italian|dutch"
        r"|portuguese|polish|swedish|chinese|japanese|russian|korean|arabic|hindi|latin|welsh)\b",
    ),
    "finding": (r"find my (?:phone|keys|wallet|glasses|watch|remote)\b",),
}
"""Patterns by the skill that has the matter, or by what no skill has."""

# A statement or a question about the words, not an order.
_STATEMENT = re.compile(
    r"\b(?:is|was|are|were|means|because|would|used to|were|said|did|does|why|how do|game of)\b"
)

_WHEN = (
    r"(?:today|tonight|tomorrow|now|right now|outside|this (?:morning|afternoon|evening|week)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|later|at the moment|currently)"
)
_LOOKUPS: dict[str, tuple[str, ...]] = {
    "home": (
        rf"(?:is|are) (?:the|my|our|any|all|all the|any of the) (?:[\w'-]+ ){{0,3}}?{_DEVICE}"
        rf"(?: in (?:the |my )?[\w'-]+(?: room)?)? (?:still )?(?:turned |switched )?"
        rf"(?:on|off|open|closed|shut|locked|unlocked|running)(?: {_WHEN}| yet| still)?$",
        rf"(?:did|have) i (?:leave|left|turn(?:ed)? off|lock(?:ed)?|close[d]?|shut) "
        rf"(?:the|my|our|any|all the) (?:[\w'-]+ ){{0,3}}?{_DEVICE}(?: on| off| open| unlocked)?$",
    ),
    "weather": (
        r"(?:what is|what will|how is|how will|tell me|give me|check|today's|tomorrow's|the) "
        r"(?:the |be the )(?:local )?(?:weather|forecast)(?: report| forecast)?"
        rf"(?: (?:like|in|for|going|doing|here|next|{_WHEN})\b.*)?$",
        rf"(?:weather|forecast)(?: (?:report|forecast|in|for|please|{_WHEN})\b.*)?$",
        r"will (?:it|there) (?:be )?(?:a )?(?:rain|snow|storm|freeze|thunder|sunny|hot|cold|warm"
        r"|windy|cloudy|nice|dry|wet)\b",
        r"is it (?:going to|gonna) (?:rain|snow|storm|be)\b",
        r"is it (?:raining|snowing|sunny|cold|hot|warm|windy|cloudy|freezing)"
        rf"(?: {_WHEN})?$",
        r"(?:do|will) i need (?:an? |my )?(?:umbrella|coat|jacket|raincoat|sunscreen)\b",
        rf"(?:what is|how is) the temperature(?: {_WHEN}|$)",
        rf"how (?:hot|cold|warm) (?:is|will) it (?:be )?{_WHEN}",
        r"how much (?:snow|rain) (?:is|was|will|fell)\b",
    ),
    "calendar": (
        r"(?:what is|what are|do i have|what do i have|have i got)\b.*\bon my "
        r"(?:calendar|schedule|agenda)\b",
        r"(?:what is my|what are my|when is my) (?:next )?(?:appointments?|meetings?|schedule"
        r"|flight)\b",
    ),
    "lists": (
        r"(?:what is|what are|do i have|what do i have|have i got)\b.*\bon my "
        r"(?:shopping list|to-?do list|list)\b",
    ),
    "news": (
        r"(?:what is|what are|tell me|give me|read|read me|any|what is on|what is in|is there any) "
        r"(?:in |on )?(?:the |today's )?(?:latest |local |world )?(?:news|headlines)"
        rf"(?: (?:about|from|in|for|{_WHEN})\b.*)?$",
    ),
    "": (
        r"(?:what is|how much is|check|tell me|how is) .*\b(?:stock|share|bitcoin|gold)"
        r"(?: (?:price|market|doing))",
        r"(?:what is|tell me) the (?:stock|share|exchange|current) (?:price|rate)\b",
        r"how much (?:is|does) .+ (?:cost )?(?:today|right now|at the moment)$",
        r"(?:how|what) is (?:the )?traffic\b",
        r"(?:who (?:won|is winning|will win)|what (?:is|was) the score|how did .+ play)\b.*"
        r"(?:last night|yesterday|today|tonight|game|match|race)$",
        r"(?:when|what time) (?:is|does|will|are|do) (?:the |my )?next (?:bus|train|tram|flight"
        r"|subway|ferry|game|match)\b",
        r"(?:when|what time) (?:does|do) (?:the|my) [\w' -]*(?:open|close)(?: .*)?$",
        rf"(?:is|are) (?:the|my) [\w' -]+ (?:open|closed)(?: {_WHEN})?$",
        r"(?:where (?:is|are)|have you seen) my [\w-]+(?: [\w-]+)?$",
        r"(?:what is|what will be) on (?:the )?(?:tv|television|radio|netflix)\b",
        r"what is my (?:heart rate|bank balance|location|ip address)\b",
        r"where am i$",
    ),
}

_MISSING = {
    "home": "Sorry, I have no devices here: no home is connected.",
    "media": "Sorry, I have no music player.",
    "weather": "Sorry, I can't tell the weather: no weather service is connected.",
    "calendar": "Sorry, I have no calendar.",
    "news": "Sorry, I have no news.",
    "orders": "Sorry, I can't order or book things.",
    "messages": "Sorry, I can't call anyone or send messages.",
    "pictures": "Sorry, I can't take or show pictures.",
    "apps": "Sorry, I can't open apps or search the web.",
    "itself": "Sorry, I can't restart or update myself.",
    "finding": "Sorry, I can't find things.",
    "translating": "Sorry, I only know English.",
    "": NO_LOOKUP,
}
"""What is said where no skill has the matter, or where it has nothing to act on."""

_OFF = {
    "timer": "Timers and alarms are switched off in my settings.",
    "reminder": "Reminders are switched off in my settings.",
    "lists": "Lists are switched off in my settings.",
    "home": "Switching devices is switched off in my settings.",
    "media": "Music is switched off in my settings.",
    "weather": "The weather is switched off in my settings.",
}
"""What is said where the skill of that name is not there."""


def unable(text: str, skills: Iterable[Skill] = ()) -> str:
    """What to say to a request that was not understood; "" when it is talk.

    skills: those that are there.
    """
    sentence = strip_courtesy(normalize(text))
    if len(sentence.split()) > MAX_WORDS:
        return ""
    topic = _topic(sentence, _LOOKUP_PATTERNS)
    if topic is None and not _STATEMENT.search(sentence):
        topic = _topic(sentence, _ORDER_PATTERNS)
    if topic is None:
        return ""
    if topic == "home" and _MUSIC.search(sentence):
        topic = "media"
    skill = next((skill for skill in skills if skill.name == topic), None)
    if skill is None:
        return _OFF.get(topic) or _MISSING[topic]
    if not skill.abilities:
        return _MISSING.get(topic, HONEST)
    if not skill.examples:
        return HONEST
    return f"Sorry, I didn't understand that. You can say, for example: {skill.examples[0]}."


_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def _compiled(patterns: dict[str, tuple[str, ...]]) -> _Patterns:
    return tuple(
        (topic, re.compile(rf"^(?:{pattern})", re.ASCII))
        for topic, some in patterns.items()
        for pattern in some
    )


_ORDER_PATTERNS = _compiled(_ORDERS)
_LOOKUP_PATTERNS = _compiled(_LOOKUPS)


def _topic(sentence: str, patterns: _Patterns) -> str | None:
    return next((topic for topic, pattern in patterns if pattern.search(sentence)), None)
