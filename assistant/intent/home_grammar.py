"""Understands what is said to the home: Home Assistant's own sentences and more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from assistant.home.base import Snapshot
from assistant.intent import home_sentences
from assistant.intent.base import Intent, Understander
from assistant.intent.home_except import excepting
from assistant.intent.home_later import at_a_time
from assistant.intent.home_matcher import HERE, Fit, Matcher
from assistant.intent.home_names import Mention, Names, plain
from assistant.intent.home_several import longest, several
from assistant.intent.home_translate import seconds, translate
from assistant.intent.home_unknown import Unknowns
from assistant.intent.normalize import normalize, strip_courtesy

MAX_CHARACTERS = 200


class HomeGrammar(Understander):
    """Sentences about the devices, rooms and floors of one home.

    The names of intents and slots are Home Assistant's with "home." before them. Added
    are the slots ``here`` (True: the room of this device is meant), ``everywhere`` (True:
    the whole home) and, for questions, ``response``: "any", "all", "which", "how_many",
    "one", "one_yesno", "where"; ``said`` is a per cent beyond 0 or 100 that was made 0 or
    100; ``except`` names devices and rooms to leave out. Two more intents: "home.several"
    with ``commands``, a list of {"intent", "slots"}, and "home.unknown_name" (``Unknowns``).
    What is to be done later has ``delay`` (seconds) or ``until`` (an ISO moment).
    """

    def __init__(
        self, snapshot: Callable[[], Snapshot], now: Callable[[], datetime] | None = None
    ) -> None:
        """snapshot: gives the home as it is now, at once. now: with its time zone."""
        self._snapshot = snapshot
        self._now = now or (lambda: datetime.now().astimezone())
        self._version: int | None = None
        self._names = Names(Snapshot())
        self._matcher: Matcher | None = None
        self._unknowns: Unknowns | None = None

    def load(self) -> None:
        """Compiles all sentences. Raises PackageError, IntentError."""
        package = home_sentences.package()
        self._matcher = Matcher(home_sentences.compile_sentences([package, home_sentences.own()]))
        self._unknowns = Unknowns(package)
        for text in _WARM_UP:
            self.understand(text)

    def understand(self, text: str) -> Intent | None:
        """The intent of ``text``; None when it is not about the home."""
        assert self._unknowns is not None, "load() comes before understand()"
        if len(text) > MAX_CHARACTERS:
            return None
        names = self._current_names()
        ways = self._ways(normalize(text))
        if not ways:
            return None
        for words in ways:
            mentions = list(names.mentions(words))
            intent = self._understand(words, mentions, text) or several(
                words, mentions, lambda part: self._part(part, text)
            )
            intent = intent or excepting(words, lambda part: self._part(part, text), self._longest)
            intent = intent or at_a_time(words, lambda part: self._part(part, text), self._now())
            if intent is not None:
                return intent
        if (clamped := _clamped(ways[0])) is not None:
            words, said = clamped
            intent = self._understand(words, list(names.mentions(words)), text)
            if intent is not None:
                return Intent(intent.name, {**intent.slots, "said": said})
        bare = _without_wish(ways[0])
        mentions = list(names.mentions(bare))
        if bare != ways[0] and (intent := self._understand(bare, mentions, text)):
            return intent
        return self._unknowns.find(bare, mentions, names)

    def _ways(self, whole: str) -> list[str]:
        """The words to try, the likelier first: without courtesy, unless it is in a name."""
        bare, full = plain(strip_courtesy(whole)), plain(whole)
        ways = [bare, full]
        if bare != full and self._said(full) > self._said(bare):
            ways.reverse()
        if " and a half" in full:
            ways.append(_HALF.sub(_point_five, bare))
        return list(dict.fromkeys(filter(None, ways)))

    def _longest(self, words: str) -> list[Mention]:
        return longest(self._names.mentions(words))

    def _said(self, words: str) -> int:
        """Letters of the longest name in ``words``."""
        return max((m.end - m.start for m in self._names.mentions(words)), default=0)

    def _part(self, words: str, text: str) -> Intent | None:
        """The intent of some words of ``text``; a name alone is none."""
        return self._understand(words, list(self._names.mentions(words)), text, bare=False)

    def _understand(
        self, words: str, mentions: Sequence[Mention], text: str, *, bare: bool = True
    ) -> Intent | None:
        assert self._matcher is not None
        fit = self._matcher.best(words, mentions, bare=bare)
        if fit is None:
            return None
        slots = _slots(fit, text)
        if "conversation_command" in slots:
            return self._later(slots, text)
        # "bedroom lamp" may go on: "... off"
        home = Intent(f"home.{fit.intent}", slots, asks=fit.bare)
        return translate(fit.intent, slots) or home

    def _later(self, slots: dict[str, Any], text: str) -> Intent | None:
        """A command for later, when it is one: "turn off the lights in five minutes"."""
        command = self._part(plain(slots["conversation_command"]), text)
        if command is None:
            return None
        commands = [{"intent": command.name, "slots": command.slots}]
        return Intent(
            "home.HassStartTimer", {**slots, "delay": seconds(slots), "commands": commands}
        )

    def _current_names(self) -> Names:
        snapshot = self._snapshot()
        if snapshot.version != self._version:
            self._names = Names(snapshot)
            self._version = snapshot.version
        return self._names


_WARM_UP = (
    "set the brightness to fifty percent",
    "set the temperature to twenty point five degrees",
    "set the color temperature to twenty seven hundred kelvin",
    "turn off the lights in five minutes",
)

_HALF = re.compile(r"(?P<digit>\d)? and a half\b")


def _point_five(half: re.Match[str]) -> str:
    return f"{half['digit']}.5" if half["digit"] else " point five"


_PERCENT = re.compile(r"(?<![\d.])(?P<number>-?\d+)(?= ?(?:%|percent\b))")


def _clamped(words: str) -> tuple[str, int] | None:
    """The text with 0 or 100 in place of a per cent beyond them, and what it was."""
    match = _PERCENT.search(words)
    if match is None or 0 <= int(match["number"]) <= 100:
        return None
    said = int(match["number"])
    return f"{words[: match.start()]}{100 if said > 0 else 0}{words[match.end() :]}", said


_WISHES = ("i want to ", "i would like to ", "i want ", "i would like ", "you can ", "let us ")


def _without_wish(words: str) -> str:
    """Without the words that Home Assistant's sentences skip."""
    words = " ".join(f" {words} ".replace(" please ", " ").split())
    for wish in _WISHES:
        words = words.removeprefix(wish)
    return words


def _slots(fit: Fit, text: str) -> dict[str, Any]:
    slots = {name: _value(value) for name, value in fit.slots.items()}
    for name in fit.free:
        slots[name] = as_said(slots[name], text)
    if slots.get("area") == HERE:
        del slots["area"]
        slots["here"] = True
    if fit.intent in ("HassGetState", "HassRespond"):
        slots["response"] = fit.response
    return slots


def _value(value: Any) -> Any:
    """Whole numbers as int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_said(words: str, original: str) -> str:
    """The piece of ``original`` that became ``words``, in the user's own letters."""
    said = original.split()
    for start in range(len(said)):
        for end in range(len(said), start, -1):
            piece = " ".join(said[start:end]).strip(" \t\"'.,!?;:“”„")
            if plain(piece) == words:
                return piece
    return words
