"""Files of free-phrased sentences, by intent: what a head learns from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from assistant.intent import sentence_file
from assistant.intent.grammar import EXAMPLES
from assistant.intent.heads.example import Example, Mark

_MARK = re.compile(r"\[(?P<value>[^\[\]]+)\]\((?P<slot>\w+)\)")
_LEFT_OVER = re.compile(r"[\[\]]")
_HINT = "It holds lists of sentences by intent: timer.set: [ring in [ten minutes](duration)]."


def read_folders(folders: list[Path]) -> list[Example]:
    """The examples beside the sentences of each skill that has some. Raises IntentError."""
    files = [folder / EXAMPLES for folder in folders]
    return [example for file in files if file.is_file() for example in read(file)]


def read(path: Path) -> list[Example]:
    """The sentences of one file. Raises IntentError that names the file and, where it can,
    the line."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        raise sentence_file.mistake(path, f"it cannot be read: {e}", hint=_HINT) from e
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        problem = str(getattr(e, "problem", None) or "no valid YAML")
        line = mark.line + 1 if mark else 0
        raise sentence_file.mistake(path, problem, line, hint=_HINT) from e
    if not isinstance(data, dict):
        raise sentence_file.mistake(path, "it is no list of intents", hint=_HINT)
    examples = []
    for intent, sentences in data.items():
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            line = sentence_file.line_of(path, f"{intent}:")
            raise sentence_file.mistake(path, f"{intent}: not a list of sentences", line, _HINT)
        examples += [_example(path, str(intent), sentence) for sentence in sentences]
    return examples


def marked(sentence: str, intent: str) -> Example:
    """The example of a sentence with marks as [value](slot). Raises ValueError for a bracket
    that belongs to no mark."""
    text, marks, at = "", [], 0
    for found in _MARK.finditer(sentence):
        text += sentence[at : found.start()]
        marks.append(Mark(len(text), len(text) + len(found["value"]), found["slot"]))
        text += found["value"]
        at = found.end()
    text += sentence[at:]
    if _LEFT_OVER.search(text):
        raise ValueError("a bracket belongs to no [value](slot)")
    return Example(text, intent, tuple(marks))


def _example(path: Path, intent: str, sentence: str) -> Example:
    try:
        return marked(sentence, intent)
    except ValueError as e:
        line = sentence_file.line_of(path, sentence)
        raise sentence_file.mistake(path, f'{intent}: "{sentence}": {e}', line, _HINT) from e
