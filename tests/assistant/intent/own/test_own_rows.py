"""What the head for the assistant's own intents learns from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from assistant.errors import IntentError
from assistant.intent.grammar import Grammar
from assistant.intent.heads.example import OUT_OF_SCOPE, Mark
from assistant.intent.own import examples, rows
from assistant.intent.own.home_samples import HomeSampler
from assistant.intent.own.samples import Sampler

TALK_TESTS = Path(__file__).parents[3] / "data" / "intents" / "talk.txt"


@pytest.fixture(scope="module")
def sources() -> list[Path]:
    return [rows.SKILLS / "timer", rows.SKILLS / "lists"]


@pytest.fixture(scope="module")
def grammar(sources: list[Path]) -> Grammar:
    grammar = Grammar(sources)
    grammar.load()
    return grammar


def test_marks_are_read() -> None:
    example = examples.marked("ring in [ten minutes](duration) for the [pie](name)", "timer.set")
    assert example.text == "ring in ten minutes for the pie"
    assert example.marks == (Mark(8, 19, "duration"), Mark(28, 31, "name"))


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("a.b:\n  - fine\n  - ring in [ten minutes\n", "line 3", "bracket"),
        ("a.b: just a sentence\n", "line 1", "not a list"),
        ("- one\n", "", "no list of intents"),
        ("a.b: [\n", "line 2", "expected"),
    ],
)
def test_mistakes_are_placed(tmp_path: Path, content: str, line: str, words: str) -> None:
    path = tmp_path / "examples.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(IntentError) as caught:
        examples.read(path)
    assert str(path) in caught.value.message
    assert line in caught.value.message
    assert words in caught.value.message


def test_every_intent_has_enough_examples() -> None:
    count = Counter(example.intent for example in rows.written())
    assert len(count) > 80
    assert [intent for intent, n in count.items() if n < 2] == []


def test_talk_is_not_that_of_the_tests() -> None:
    held_out = {line.strip().casefold() for line in TALK_TESTS.read_text().splitlines()}
    mine = [example.text.casefold() for example in rows.talk()]
    assert len(mine) > 200
    assert held_out.isdisjoint(mine)
    assert {example.intent for example in rows.talk()} == {OUT_OF_SCOPE}
    assert [text for text, n in Counter(mine).items() if n > 1] == []


def test_no_talk_is_a_command_of_a_skill(grammar: Grammar) -> None:
    assert [e.text for e in rows.talk() if grammar.understand(e.text) is not None] == []


def test_drawn_sentences_are_understood_as_they_were_meant(
    sources: list[Path], grammar: Grammar
) -> None:
    given = examples.read_folders(sources)
    drawn = Sampler(given, grammar, seed=1).draw(sources, 4)
    assert drawn == Sampler(given, grammar, seed=1).draw(sources, 4)
    assert max(Counter(example.intent for example in drawn).values()) <= 4
    for example in drawn:
        intent = grammar.understand(example.text)
        assert intent is not None
        assert intent.name == example.intent
    assert any(example.marks for example in drawn)


def test_values_of_drawn_sentences_are_those_of_the_examples(
    sources: list[Path], grammar: Grammar
) -> None:
    given = examples.read_folders(sources)
    values = {(m.slot, e.text[m.start : m.end]) for e in given for m in e.marks}
    for example in Sampler(given, grammar, seed=2).draw(sources, 3):
        for mark in example.marks:
            assert (mark.slot, example.text[mark.start : mark.end]) in values


def test_sentences_of_the_home_are_drawn_for_intents_with_examples(grammar: Grammar) -> None:
    given = examples.read_folders([rows.SKILLS / "home"])
    drawn = HomeSampler(given, grammar, seed=0).draw(3)
    known = {example.intent for example in given}
    assert len(drawn) > 40
    assert {example.intent for example in drawn} <= known
    for example in drawn:
        assert grammar.understand(example.text) is None
        for mark in example.marks:
            words = example.text[mark.start : mark.end]
            assert words == words.strip()
            assert words


def test_a_fifth_is_held_out() -> None:
    all_of_them = rows.written()
    part = sum(rows.held_out(example) for example in all_of_them) / len(all_of_them)
    assert 0.15 < part < 0.25
