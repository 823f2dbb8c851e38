"""What the head for the assistant's own intents is trained on; all of it comes with the program."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import yaml

import assistant
from assistant.intent.grammar import EXAMPLES, Grammar
from assistant.intent.heads.example import OUT_OF_SCOPE, Example
from assistant.intent.own import examples
from assistant.intent.own.home_samples import HomeSampler
from assistant.intent.own.samples import Sampler

NAME = "own"
"""What the head is called."""

SKILLS = Path(assistant.__file__).with_name("skills")
TALK = Path(__file__).parents[1] / "files" / "talk.yaml"

LAYERS = (15, 24)
"""What the classifier reads; with few examples the later layers tell more."""

_CHECKED = 5
"""Of so many written examples one is held out, when some are."""


def folders() -> list[Path]:
    """Of the skills that come with the program."""
    return sorted(p for p in SKILLS.iterdir() if p.is_dir() and not p.name.startswith("_"))


def written() -> list[Example]:
    """The free-phrased examples of the skills. Raises IntentError."""
    return examples.read_folders(folders())


def talk() -> list[Example]:
    """What is for none of them."""
    lists = yaml.safe_load(TALK.read_text(encoding="utf-8"))
    return [Example(text, OUT_OF_SCOPE) for texts in lists.values() for text in texts]


def rows(given: Sequence[Example], *, seed: int, per_intent: int = 0) -> list[Example]:
    """The given examples, talk, and so many sentences of each intent drawn from templates; those
    are understood without a head.

    Raises IntentError, PackageError.
    """
    if per_intent == 0:
        return [*given, *talk()]
    sources = [folder for folder in folders() if any(_templates(folder))]
    grammar = Grammar(sources)
    grammar.load()
    drawn = Sampler(given, grammar, seed).draw(sources, per_intent)
    at_home = [e for e in given if e.intent.startswith("home.")]
    drawn += HomeSampler(at_home, grammar, seed).draw(per_intent)
    known = {example.text.casefold() for example in given}
    return [*given, *(e for e in drawn if e.text not in known), *talk()]


def held_out(example: Example) -> bool:
    """Whether it belongs to the fifth that is measured on; always the same for a text."""
    return zlib.crc32(example.text.casefold().encode()) % _CHECKED == 0


def _templates(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.yaml") if path.name != EXAMPLES]
