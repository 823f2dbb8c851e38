"""Yes or no, as people say it: "yeah go on", "I guess so", "no thanks", "absolutely not"."""

from __future__ import annotations

import re

from assistant.intent.normalize import normalize, strip_courtesy

# Before the single words, since they turn them round: "not ok", "no problem", "why not".
_YES_IN_SPITE = (
    r"why not|no problem|no worries|no doubt|no objections?|not a problem|cannot complain"
    r"|(?:i )?(?:do|would) not mind(?: if i do)?|if you (?:like|want|must|insist)|cannot hurt"
    r"|no question"
)
_NO_WITH_MORE = (
    r"(?:yes|yeah|yep) (?:but )?no|not? (?:yes|yeah|sure thing)"
    r"|not (?:ok|okay|right|correct|now|today|yet|really|quite|exactly|good|fine|at all|sure"
    r"|at the moment|this time|necessary|needed|interested|likely|that|so|for me|in the least"
    r"|if i can help it)"
    r"|(?:absolutely|definitely|certainly|of course|surely|probably|maybe|i think|i guess|i hope"
    r"|i would rather|rather|better|preferably|please|thanks? but|i am afraid|obviously) not"
    r"|(?:no|not in a|not a) (?:way|chance)|by no means|under no circumstances|no need(?: to)?"
    r"|i (?:really )?(?:do not|did not|would not|will not|should not|cannot)"
    r"|(?:please )?do not(?: do (?:it|that))?|(?:it|that|this) (?:is|was) (?:not|wrong|enough)"
    r"|(?:it|that) (?:will|would|should) not|let us not|i would rather you did not|i had rather not"
    r"|i will pass|i am (?:good|fine|ok|okay|set)|rather not|forget (?:it|that|about it)"
    r"|never ?mind|(?:leave|keep) (?:it|them|that)|(?:hell|heck|god) no"
    r"|nothing(?: else| more| at all| of the sort)?|far from it|i (?:have )?changed my mind"
    r"|that (?:is|was|will be) (?:all|everything|it for now)(?! (?:right|good|fine))"
)
_UNDECIDED = (
    r"yes and no|i (?:do not|would not) (?:know|care)|(?:i )?do not know|dunno|no idea|who knows"
    r"|it depends|hard to say|either|i cannot (?:decide|say|tell|remember)"
)
_YES = (
    r"yes|yeah|yea|yep|yup|ya|yah|aye|sure|affirmative|absolutely|definitely|certainly|indeed"
    r"|naturally|obviously|totally|positive|agreed?|exactly|of course|by all means|you bet"
    r"|my pleasure|gladly|with pleasure|m+[ -]?hm+|mhm|right on|you got (?:it|that right)|ja"
    r"|alrighty|surely|fantastic|go (?:on|ahead|for it)|(?:carry|read) on|keep going|continue"
    r"|do (?:it|that|so)|please do|let us (?:do|go)|you (?:may|can)(?=$| please)"
    r"|i (?:do|would|will|am|did)(?= please| thank| indeed| actually| sure|$)"
    r"|i (?:guess|suppose|think|believe|hope|reckon)(?: so)?(?=$| please)|i sure do|i agree"
    r"|guess so|i would (?:like|love) (?:that|it|to)(?=$| please| thank)|why of course|that works"
    r"|works for me|fine by me|suits me|count me in|(?:sounds?|looks?|seems?)"
    r" (?:good|great|fine|right|ok|okay|perfect|correct|lovely|nice|like a plan)"
    r"|(?:it|that|this|which|all|everything)(?: one)? (?:is|was|will be|would be|should be|looks"
    r"|sounds|seems) (?:just |all |so |very |really |quite |absolutely |perfectly |totally"
    r" |exactly )*(?:it|ok|okay|fine|good|great|right|correct|perfect|true|excellent|alright"
    r"|awesome|lovely|wonderful|cool|ideal|what i (?:want|wanted|said|meant|need))"
    r"|(?:that|it|this) (?:will|would|should|could|might) (?:do|work|be (?:good|great|fine|nice"
    r"|lovely|awesome|perfect|wonderful|ok|okay|cool|excellent|ideal|appreciated))"
    r"|all of (?:them|it)|👌|👍|✅|✔"
)
# These mean yes or no only where they begin the answer: they are everywhere in talk.
_YES_FIRST = (
    r"ok|okay|alright|all right|right|correct|fine|good|great|perfect|please|true|cool|lovely"
    r"|excellent|awesome|wonderful|super|brilliant|nice|splendid|go|confirmed?|done|deal|amen"
    r"|as you (?:like|wish|please)|probably|very well|very good|all|everything"
)
_NO = (
    r"no|nope|nah|naw|nay|never|negative|disagree|wrong|incorrect|false|no[ -]no|na|not|neither"
    r"|none"
)
_NO_FIRST = r"stop|cancel|abort|wait|quit|enough|skip (?:it|that)|pass|👎|❌"

_SIGN = re.compile(
    rf"(?<!\w)(?:(?P<open>{_UNDECIDED})|(?P<spite>{_YES_IN_SPITE})|(?P<more>{_NO_WITH_MORE})"
    rf"|(?P<yes>{_YES})|(?P<no>{_NO}))(?!\w)"
)
_FIRST = re.compile(
    r"^(?:(?:um|uh|oh|well|hmm|so|er|ah|and|then|hey|i said|i mean|actually|but|just)\s)*"
    rf"(?:(?P<yes>{_YES_FIRST})|(?P<no>{_NO_FIRST}))(?!\w)"
)
_ASKS = re.compile(
    r"^(?:what|who|whose|when|where|which|how|is|are|was|were|does|did|can|could|will|would|should"
    r"|has|have|do (?!it\b|that\b|so\b|not\b)|why (?!not$|of course))(?:\b|$)"
)
_AROUND = frozenset(
    """please thank thanks you very much so a lot the that it this then now well oh um uh er hmm ah
    i and just really do is was for me again my sir dear mate man buddy all more right okay ok sure
    if will would like love want to be one go ahead on with need actually anyway think thing so hell
    heck bother today no yes mean any am sorry stop enough them there""".split()
)
_NO_ANSWER = re.compile(
    rf"(?:{_UNDECIDED}|i am not sure|not sure|i have no idea|i forgot|i have forgotten|maybe later"
    r"|let me think|not important|it does not matter)(?: yet| really| right now| now)?"
)
_HUMMED = ((re.compile(r"\b(?:n?uh[ -]uh|nuh)\b"), "no"), (re.compile(r"\buh[ -]?huh\b"), "yes"))
_SKIN_TONES = re.compile(r"[\U0001f3fb-\U0001f3ff]")


def leaning(text: str) -> bool | None:
    """Which way an answer leans, whatever else it says; None when it is another question.

    The first word that decides counts: "yes, I said no onions" is a yes.
    """
    plain = _plain(text)
    if _ASKS.match(plain):
        return None
    first, sign = _FIRST.match(plain), _SIGN.search(plain)
    if sign is not None and (first is None or sign.start() <= first.start(first.lastgroup or 0)):
        if sign["open"]:
            return None
        return bool(sign["yes"] or sign["spite"])
    return bool(first["yes"]) if first is not None else None


def yes_no(text: str) -> bool | None:
    """True for yes, False for no; None for what says more ("no, ten minutes"), or neither."""
    answer = leaning(text)
    if answer is None:
        return None
    rest = _FIRST.sub(" ", _SIGN.sub(" ", _plain(text)).strip()).split()
    return answer if all(word in _AROUND for word in rest) else None


def undecided(text: str) -> bool:
    """Whether an answer is none and says so: "I don't know yet"."""
    return _NO_ANSWER.fullmatch(strip_courtesy(_plain(text))) is not None


def _plain(text: str) -> str:
    text = _SKIN_TONES.sub("", text.lower())
    for hum, word in _HUMMED:  # hesitations go when a text is normalised
        text = hum.sub(word, text)
    return normalize(text)
