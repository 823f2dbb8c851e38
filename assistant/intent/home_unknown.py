"""Finds what a command to the home names that is not there, to say so by its name."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.intent import home_sentences
from assistant.intent.base import Intent
from assistant.intent.home_matcher import Fit, Matcher
from assistant.intent.home_names import Mention, Names
from assistant.intent.sound_alike import best_match

FILE = home_sentences.OWN_FILE.with_name("home_unknown_en.yaml")
MAX_WORDS = 4
LIKE = 0.75
"""So alike a known name is worth asking for; it is never taken without."""

# What is never part of a name: the sentence is talk, or about something else.
_NO_NAME = frozenset(
    """it that this these those them they he she him her me you i we us myself yourself something
    anything everything nothing someone anyone everyone one ones thing things stuff what which who
    how why when where if because and or but not no do does did is are was were be to for with
    about of from than then so too very more less again please now later today tomorrow music sound
    volume alarm alarms timer timers reminder reminders way mind time on off out up down in at
    charm waterworks heat eyes brain everybody all your mode account voice
    by percent % whole round around through over under behind""".split()
)
_NO_WHOLE_NAME = frozenset(("room", "rooms", "house", "home", "place", "world", "light", "lights"))


class Unknowns:
    """Sentences whose name may be any."""

    def __init__(self, package: dict[str, object]) -> None:
        """package: Home Assistant's sentences, for the rules and lists in them."""
        own = home_sentences.own(FILE)
        rules = {**package, "intents": {}}
        self._matcher = Matcher(home_sentences.compile_sentences([rules, own]))

    def find(self, text: str, mentions: Sequence[Mention], names: Names) -> Intent | None:
        """What ``text`` wants of something that is not there; None when it wants nothing."""
        fit = self._matcher.best(text, mentions)
        if fit is None:
            return None
        kind, said = _said(fit)
        words = said.split()
        if not 0 < len(words) <= MAX_WORDS or not _NO_NAME.isdisjoint(words):
            return None
        if said.isdigit() or said in _NO_WHOLE_NAME:
            return None
        if any(said == value.said for value in names.values[kind]):
            return None  # it is there, but cannot do that
        known = dict.fromkeys(value.name for value in names.values[kind] if value.exact)
        slots = {
            "said": said,
            "kind": kind,
            "intent": f"home.{fit.intent}",
            "like": best_match(said, known, least=LIKE, margin=0.0) or "",
        }
        # "turn on the living" may go on
        return Intent("home.unknown_name", slots, asks=True)


def _said(fit: Fit) -> tuple[str, str]:
    if "room" in fit.slots:
        return "area", str(fit.slots["room"])
    # "desk lamp": the noun was matched apart from the rest
    return "name", f"{fit.slots['said']} {fit.texts.get('noun', '')}".strip()
