"""Sentences out of a stream: nothing is lost, and they come as soon as they are whole."""

from __future__ import annotations

import pytest

from assistant.dialogue.sentences import SentenceStream, is_closed


def split(text: str, step: int = 1000) -> list[str]:
    stream = SentenceStream()
    out = [s for at in range(0, len(text), step) for s in stream.push(text[at : at + step])]
    return [*out, stream.rest()]


TEXT = 'Hi there! It is 3.5 km. Dr. Who said: "Go." Then J. S. Bach left… really?\nYes. e.g. this'


def test_cuts() -> None:
    assert split(TEXT) == [
        "Hi there!",
        " It is 3.5 km.",
        ' Dr. Who said: "Go."',
        " Then J. S. Bach left…",
        " really?",
        "\nYes.",
        " e.g. this",
    ]


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_pieces_of_any_size_give_the_same(step: int) -> None:
    assert split(TEXT, step) == split(TEXT)
    assert "".join(split(TEXT, step)) == TEXT


def test_a_sentence_comes_with_what_follows_it() -> None:
    stream = SentenceStream()
    assert stream.push("One.") == []
    assert stream.push(" T") == ["One."]
    assert stream.rest() == " T"
    assert stream.rest() == ""


def test_a_text_without_an_end_is_let_go_in_parts() -> None:
    text = "word " * 300
    parts = split(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 400
    assert "".join(split("x" * 1000)) == "x" * 1000


def test_closed() -> None:
    for text in ("Yes.", "No!", "Why?", "Well…", 'He said "no."', "Good.) ", "*Yes.*"):
        assert is_closed(text)
    for text in ("", "and then", "3.5 k", "first,"):
        assert not is_closed(text)
