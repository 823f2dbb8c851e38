"""The user's file of lessons, and what is said about mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import IntentError
from assistant.intent.taught import lesson

KNOWN = {"timer.set", "timer.cancel"}
FIVE = "".join(f"\n      - sentence number {i} of it" for i in "abcde")


def write(folder: Path, text: str) -> Path:
    path = folder / "taught.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_lessons_are_read(tmp_path: Path) -> None:
    text = (
        f"intents:\n  bins:\n    reply: On Tuesday.\n    examples:{FIVE}\n"
        f"  nap:\n    command: timer.set\n    slots: {{duration: 1200}}\n"
        f"    examples:{FIVE.replace('sentence', 'line')}\n"
    )
    lessons = lesson.read(write(tmp_path, text), KNOWN)
    assert list(lessons) == ["bins", "nap"]
    assert lessons["bins"].reply == "On Tuesday."
    assert (lessons["nap"].command, lessons["nap"].slots) == ("timer.set", {"duration": 1200})
    assert len(lessons["nap"].examples) == 5


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        (f"    reply: x\n    command: timer.set\n    examples:{FIVE}", 2, "either a reply or"),
        (f"    examples:{FIVE}", 2, "either a reply or"),
        ("    reply: x\n    examples: [one of them]", 4, "intents.bins.examples"),
        (f"    command: timer.sat\n    examples:{FIVE}", 3, "intents.bins.command"),
        (f"    reply: x\n    slots: {{a: 1}}\n    examples:{FIVE}", 4, "only a command has slots"),
        (f"    reply: x\n    answer: y\n    examples:{FIVE}", 4, "intents.bins.answer"),
        (f"    reply: x\n    examples:{FIVE}\n      - yes", 10, "intents.bins.examples.5"),
        (f'    reply: x\n    examples:{FIVE}\n      - "?"', 10, "it is empty"),
        (f"    reply: x\n    examples:{FIVE}\n  c:\n    reply: y\n    examples:{FIVE}", 13, "bins"),
        ("    reply: [", 4, "taught.yaml"),
    ],
)
def test_mistakes_are_placed(tmp_path: Path, body: str, line: int, words: str) -> None:
    path = write(tmp_path, f"intents:\n  bins:\n{body}\n")
    with pytest.raises(IntentError) as caught:
        lesson.read(path, KNOWN)
    assert f"{path}, line {line}" in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


def test_a_near_name_is_proposed(tmp_path: Path) -> None:
    body = f"intents:\n  nap:\n    command: timer.sett\n    examples:{FIVE}\n"
    with pytest.raises(IntentError) as caught:
        lesson.read(write(tmp_path, body), KNOWN)
    assert "timer.set" in caught.value.hint


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(IntentError, match="no such file"):
        lesson.read(tmp_path / "none.yaml", KNOWN)


def test_what_is_no_such_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "taught.yaml"
    examples = "examples: [one a, two b, three c, four d, five e]"
    one = f"{{command: timer.list, {examples}}}"
    cases = {
        "": "there is no intents: in it",
        f"intents:\n  a: {one}\n  a: {one}\n": 'line 3: "a" is there twice',
        f"intents:\n  a: {{command: timer.list, slots: {{d: 2024-05-01}}, {examples}}}": (
            "d is a date; put it in quotes"
        ),
        "intents: " + "[" * 3000 + "]" * 3000: "nested too deeply",
    }
    for text, told in cases.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(IntentError) as caught:
            lesson.read(path, {"timer.list"})
        assert told in str(caught.value)
    with pytest.raises(IntentError, match="it is no file"):
        lesson.read(Path("/dev/zero"), {"timer.list"})
    path.write_bytes(f"\ufeffintents:\r\n  a: {one}\r\n".encode())
    assert list(lesson.read(path, {"timer.list"})) == ["a"]
