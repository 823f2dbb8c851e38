"""Writes a new skill that works: for a person to change."""

from __future__ import annotations

import keyword
import os
from pathlib import Path

from assistant.errors import SkillError, UsageError
from assistant.skills.own import NAME

_SKILL = '''"""What the assistant does when one of the sentences in en.yaml is said."""

from __future__ import annotations

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State


class {class_name}(Skill):
    name = "{name}"
    # for "what can you do" and "what can you do with {words}"
    abilities = ("greet people from {words}",)
    topics = ("{words}",)
    examples = ("greet anna from {words}",)

    def __init__(self, cfg: Config, state: State) -> None:
        # skills.own.{name}.greeting in config.yaml
        self._greeting = str(self.settings.get("greeting", "Hello"))
        self._state = state  # get() and set() keep values over a restart

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        """Answers every intent in en.yaml. Raise SkillError to say why something cannot be done."""
        who = intent.slots.get("name", "everybody")
        return Outcome(
            f"{{self._greeting}}, {{who}}.",
            action={{"skill": self.name, "do": "greet", "name": who}},
        )
'''

_SENTENCES = """# The sentences of the skill {name}: (a|b) is a choice, [c] may be left out, <d> is
# a rule of those below, {{name}} is a value: duration, number, percent, level, name, time, ...
language: en

intents:
  {name}.greet:
    data:
      - sentences:
          - "<greet> {{name}} from {words}"
          - "<greet> (everybody|everyone) from {words}"

expansion_rules:
  greet: "(greet|say hello to)"
"""

_EXAMPLES = """# How people may say it in other words; a value stands in [brackets](slot).
{name}.greet:
  - could you give [anna](name) a warm welcome from {words}
  - let [ben](name) know that {words} says hello
  - "{words} should greet [clara](name) now"
"""

_TEST = '''"""The skill {name}: python -m pytest {test_name}"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.skills.rehearsal import Rehearsal


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Rehearsal]:
    with Rehearsal(Path(__file__).parent, tmp_path, settings={{"greeting": "Welcome"}}) as talk:
        yield talk


def test_it_greets(talk: Rehearsal) -> None:
    outcome = talk.say("say hello to Anna from {words}")
    assert outcome.reply == "Welcome, anna."
    assert talk.say("please greet everybody from {words}").reply == "Welcome, everybody."


def test_other_sentences_are_not_for_it(talk: Rehearsal) -> None:
    assert talk.understand("what time is it") is None
'''


def write(name: str, parent: Path, taken: set[str]) -> list[Path]:
    """Writes the files of a new skill into ``parent / name`` and gives back their paths.

    Raises UsageError for a name that cannot be, is taken, or whose folder is there, SkillError
    when they cannot be written; then nothing is left behind.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            "skill.name",
            f'"{name}" cannot be the name of a skill.',
            "Take lower case letters, digits and _, with a letter first, such as coffee_machine.",
        )
    if name in taken:
        raise UsageError("skill.taken", f"There is a skill {name} already.", "Take another name.")
    folder = parent / name
    if os.path.lexists(folder):
        hint = "Take another name, or remove it first."
        raise UsageError("skill.there", f"{folder} is there already.", hint)
    words = name.replace("_", " ").strip()
    test_name = f"test_{name}.py"
    values = {
        "name": name,
        "words": words,
        "class_name": f"{words.title().replace(' ', '')}Skill",
        "test_name": test_name,
    }
    files = {
        "skill.py": _SKILL,
        "en.yaml": _SENTENCES,
        "examples.yaml": _EXAMPLES,
        test_name: _TEST,
    }
    try:
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text.format(**values), encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        # half a skill would be in the way of the next try
        for file in files if folder.is_dir() else ():
            (folder / file).unlink(missing_ok=True)
        if folder.is_dir():
            folder.rmdir()
        raise SkillError(
            "skill.write",
            f"The skill cannot be written to {folder}: {reason}.",
            "Make room on the disk, or name another folder by --dir.",
        ) from error
    return [folder / file for file in files]
