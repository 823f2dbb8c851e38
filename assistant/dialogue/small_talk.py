"""Small talk that has one fitting answer; a small model would answer it with nonsense.

By pattern, on the whole sentence, after everything that understands commands.
"""

from __future__ import annotations

import re
from datetime import datetime

from assistant.dialogue.feelings import sympathy
from assistant.dialogue.foreign import ONLY_ENGLISH, foreign
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.values.duration import parse_duration
from assistant.intent.values.number import parse_number
from assistant.intent.values.when import parse_time
from assistant.intent.yes_no import yes_no

NO_QUESTION = "What can I do for you?"
FOR_WHAT = "Sorry, I don't know what that is for."
PRIVATE = (
    "I wait for my wake word, and what you say is worked out on this device. "
    "It isn't sent to the internet."
)
NOTED = "OK."
NO_MATTER = (NOTED, NO_QUESTION, FOR_WHAT)
"""Answers to what says nothing by itself; while a question is open it may be meant for that."""

MAX_VALUE_WORDS = 6
UNSURE = "Not always. I'm often wrong about facts."
A_PROGRAM = "I'm only a program, so I have no likes or feelings."
NAME_SOME = "I can't tell, but name a few things, and I'll pick one."
NO_FACTS = "I'm not good with facts, but I know a few jokes."

_GOOD = (
    r"(?:ok|okay|cool|nice|great|good|perfect|fine|wow|awesome|excellent|lovely|super|brilliant"
    r"|fantastic|wonderful|amazing|alright|all right|right|sweet|neat|interesting|funny)"
)
_VERY = r"(?:(?:very|so|really|just|well|oh|ah|also|all) )*"
_ACKNOWLEDGED = re.compile(
    rf"{_VERY}(?:{_GOOD} {_VERY})*(?:{_GOOD}"
    rf"|(?:that|this|it) (?:is|was|sounds|works)(?: {_VERY}{_GOOD})"
    r"(?: (?:to me|for me|then|enough))*"
    rf"|sounds {_VERY}{_GOOD}(?: to me)?|that (?:works|will do)(?: for me)?|got it|i see"
    r"|good to know|no (?:problem|worries)|understood|fair enough|makes sense|whatever)"
)
_YOU_ARE = r"you (?:are|really are|were) (?:(?:so|very|really|just|such|too|a|an|the|my) )*"

_ANSWERS: tuple[tuple[str, str], ...] = (
    (
        r"(?:how (?:are you|have you been|do you (?:do|feel)|is it going|are things|is life"
        r"|is your day)|what is (?:up|new|happening)|are you (?:ok|okay|well|fine))"
        r"(?: (?:doing|feeling|going|today|tonight|now|this (?:morning|evening)|so far|with you))*",
        "I'm fine, thank you. What can I do for you?",
    ),
    (
        r"(?:good night|goodnight|night night|nighty night|sleep (?:well|tight)|sweet dreams"
        r"|i am (?:going|off|heading|ready)(?: now)?(?: to| for)? (?:bed|sleep))"
        r"(?: (?:now|everyone|then|sleep (?:well|tight)))*",
        "Good night.",
    ),
    (
        r"(?:good ?bye|bye|bye bye|see (?:you|ya)|talk to you|until|so long|take care|farewell"
        r"|i am (?:leaving|off|going out|heading out))"
        r"(?: (?:later|soon|tomorrow|again|then|now|around|next time|bye))*",
        "Goodbye.",
    ),
    (
        r"i (?:really |do )*(?:love|like|adore|appreciate) you(?: (?:so|very) much| a lot| too)?"
        rf"|{_YOU_ARE}(?:great|awesome|best|amazing|smart|clever|funny|nice|kind|sweet|cute|good"
        r"|helpful|wonderful|friend|star|genius|lovely|cool|brilliant)"
        r"(?: (?:one|assistant|friend|at this))?"
        r"|good (?:boy|girl|bot|robot)",
        "Thank you, that's kind.",
    ),
    (
        rf"{_YOU_ARE}(?:stupid|dumb|useless|idiot|terrible|annoying|bad|awful|rubbish|slow|rude"
        r"|horrible|worst|boring|broken|joke|moron|not (?:very |so |too |really |that )*\w+)"
        r"(?: (?:one|thing|bot|at this|at all))?"
        r"|are you (?:(?:really|just|so|an?|completely|totally) )*(?:stupid|dumb|deaf|useless|idiot"
        r"|broken|mad|crazy|drunk|moron|thick|kidding me)(?: (?:or (?:what|something)|today))?"
        r"|(?:i (?:hate|do not like) you|you suck|you never (?:listen|understand)(?: to me| me)?)",
        "I'm sorry that I'm not more help.",
    ),
    (
        r"(?:(?:no )?(?:that|this|it) (?:is|was) (?:wrong|incorrect|not (?:right|correct|true"
        r"|what i (?:said|meant|wanted|asked(?: for)?)|it))"
        r"|you (?:got (?:it|that|me)|are|were) wrong|wrong(?: again)?|you misunderstood(?: me)?"
        r"|you (?:did not|do not) (?:understand|get)(?: me| that| it)?"
        r"|you (?:made|have made) a mistake)",
        "I'm sorry. Please tell me again in other words.",
    ),
    (
        r"(?:(?:are|do|can) you (?:\w+ )?(?:listening|listen|hear|hearing|recording|record|spying"
        r"|spy|watching|eavesdrop(?:ping)?)(?: (?:to|on))?(?: (?:me|us|everything|this|what i say"
        r"|what we say|my voice|conversations|our conversations))?"
        r"(?: (?:all|the|time|right|now|always|constantly|still))*"
        r"|(?:do|are|will|can) you (?:\w+ )?(?:send|sending|share|sharing|upload|uploading|store"
        r"|storing|save|saving|keep|keeping|sell|selling|collect|collecting)(?: \w+){0,3}"
        r" (?:voice|data|conversations?|recordings?|information|say)"
        r"(?: (?:to|on|with|in) (?:the )?\w+)?"
        r"|is (?:my|our|the) (?:voice|data|information|conversation|privacy)(?: \w+)?"
        r" (?:safe|private|secure|protected|recorded|stored|sent|with you)(?: \w+){0,3}"
        r"|who (?:can hear|hears|is listening|listens)(?: (?:to|me|us|this|in|what i say))*"
        r"|(?:is|does) (?:anyone|somebody|someone|anybody) (?:else )?(?:listening|listen|hear)"
        r"(?: (?:to|in|me|us))*"
        r"|where does my (?:voice|data) go"
        r"|are you (?:connected to|on) the (?:internet|cloud)|are you (?:online|offline|private)"
        r"|do you (?:need|use|have) (?:the |an? )?(?:internet|cloud|internet connection))",
        PRIVATE,
    ),
    (
        r"are you (?:the )?(?:alexa|siri|google(?: assistant| home)?|cortana|bixby|chat ?gpt|gemini"
        r"|jarvis|amazon|apple)|(?:hey |hi |hello )?(?:alexa|siri|google|cortana|bixby)",
        "No, I'm the voice assistant that runs on this device.",
    ),
    (
        r"(?:are you|you are) (?:really |quite |absolutely |very )?(?:sure|certain|serious|kidding)"
        r"(?: about (?:that|this|it))?|(?:really|seriously|is that (?:right|true|correct|so|really"
        r" true)|is it true)",
        UNSURE,
    ),
    (
        r"(?:do|can) you (?:like|love|enjoy|hate|prefer|feel|miss|dream)\b.*"
        r"|what (?:is|are) your (?:favou?rite\b.*|hobbies|hobby|dreams?|opinions? .*)"
        r"|(?:do|have) you (?:have|got|ever had) (?:any |a |an )?(?:feelings?|emotions?|friends?"
        r"|family|soul|dreams?|hobbies|opinions?|favou?rite\b.*|brain|heart|boyfriend|girlfriend"
        r"|pets?|kids|children)"
        r"|are you (?:happy|sad|hungry|tired|bored|lonely|single|married|in love|angry)"
        r"(?: (?:today|now|with me))?|will you (?:marry|be) (?:me|my .+)",
        A_PROGRAM,
    ),
    (
        r"what (?:should|shall|can|could|do) (?:i|we) (?:cook|eat|have|make|bake|wear|watch|do|play"
        r"|read)(?: (?:for (?:breakfast|lunch|dinner|tea|supper|dessert)|to (?:eat|drink|cook)))?"
        r"(?: (?:tonight|today|tomorrow|now|this (?:evening|weekend|morning)))*",
        NAME_SOME,
    ),
    (
        r"tell (?:me|us) (?:something|anything)"
        r"(?: (?:interesting|new|fun|cool|else|i do not know))?"
        r"|(?:tell|give) (?:me|us) (?:a|an|another|some) (?:(?:fun|interesting|random) )?facts?",
        NO_FACTS,
    ),
    (
        r"(?:merry|happy) (?:christmas|xmas|new year|easter|birthday|halloween|thanksgiving"
        r"|holidays|diwali|hanukkah|eid|valentine's day)(?: (?:to you|everyone|too))*",
        "Thank you, the same to you.",
    ),
    (
        r"(?:sing|rap|hum|whistle|beatbox|dance)(?: me| us| for me)?(?: (?:a|the|some) [\w -]+"
        r"| something| happy birthday)?|(?:can|could) you (?:sing|dance|rap|whistle)",
        "Sorry, I can't sing.",
    ),
    (
        r"(?:when|how (?:long|many \w+)|what day) (?:is|until|till|to|is it until|are there until)"
        r"(?: it is)? (?:my|our|his|her) (?:\w+ )?"
        r"(?:birthday|anniversary|wedding|vacation|holiday)",
        "Sorry, I don't know when that is.",
    ),
)
_SPELL = re.compile(
    r"(?:(?:how (?:do|would) (?:you|i) |how is |can you |tell me how to )?(?:spell|spelled|spelt)"
    r"(?: the word)?|what is the spelling of) (?P<word>[a-z]{2,20})(?: spelled| spelt| for me)?"
    r"|how is (?:the word )?(?P<other>[a-z]{2,20}) (?:spelled|spelt)"
)
_PATTERNS = tuple((re.compile(pattern), answer) for pattern, answer in _ANSWERS)


def acknowledges(text: str) -> bool:
    """Whether the text only takes note of what was said: "cool", "that's great"."""
    return _ACKNOWLEDGED.fullmatch(normalize(text)) is not None


def small_talk(text: str, now: datetime, done: str = "") -> str:
    """The answer; "" when the text is another matter.

    done: what was said of the last command, "" when there is none.
    """
    if acknowledges(text):
        return NOTED
    for plain in dict.fromkeys((normalize(text), strip_courtesy(normalize(text)))):
        for pattern, answer in _PATTERNS:
            if pattern.fullmatch(plain):
                return f"I said: {done}" if done and answer is UNSURE else answer
        if said := sympathy(plain) or _spelled(plain):
            return said
    if foreign(text):
        return ONLY_ENGLISH
    agrees = yes_no(text)
    if agrees is not None:
        return NO_QUESTION if agrees else NOTED
    return FOR_WHAT if _is_value(strip_courtesy(normalize(text)), now) else ""


def _spelled(plain: str) -> str:
    """The letters of the word that is to be spelled; "" when none is."""
    asked = _SPELL.fullmatch(plain)
    word = (asked["word"] or asked["other"]) if asked else ""
    return f"{', '.join(word.upper())}." if word else ""


def _is_value(plain: str, now: datetime) -> bool:
    """A length, a time or a number on its own, that nothing was asked for."""
    return len(plain.split()) <= MAX_VALUE_WORDS and (
        parse_duration(plain) is not None
        or parse_number(plain) is not None
        or parse_time(plain.removeprefix("at ").removeprefix("for "), now) is not None
    )
