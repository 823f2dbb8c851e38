from __future__ import annotations

import pytest

from assistant.asr.sentences import Sentences, WordNetwork
from assistant.errors import AsrError

LISTS = {"room": ("kitchen", "living room"), "lamp": ("[small] lamp", "spot"), "loop": ("{loop}",)}


@pytest.mark.parametrize(
    ("template", "taken", "refused"),
    [
        ("open the door", ["open the door"], ["open the", "open the door now", ""]),
        ("(turn|switch) on", ["turn on", "switch on"], ["on", "turn switch on"]),
        ("go [away] now", ["go now", "go away now"], ["go away"]),
        ("[please|kindly] go", ["go", "please go", "kindly go"], ["please kindly go"]),
        (
            "light the {lamp} in the {room}",
            ["light the small lamp in the living room", "light the spot in the kitchen"],
            ["light the lamp in the room", "light the small spot in the kitchen"],
        ),
        ("tell them *", ["tell them dinner is ready", "tell them no"], ["tell them"]),
        ("((a|b) c|d [e])", ["a c", "b c", "d", "d e"], ["a d", "c"]),
    ],
)
def test_templates(template: str, taken: list[str], refused: list[str]) -> None:
    network = WordNetwork(Sentences((template, "another one"), LISTS))
    for text in (*taken, "another one"):
        assert network.takes(text.split()), text
    for text in refused:
        assert not network.takes(text.split()), text


@pytest.mark.parametrize("template", ["(a|b", "a)", "[a", "a ]", "the {unknown}", "{loop}", "a {b"])
def test_a_template_that_cannot_be_read_is_an_error(template: str) -> None:
    with pytest.raises(AsrError, match="cannot be read"):
        WordNetwork(Sentences((template,), LISTS))


def test_no_templates_are_no_sentences() -> None:
    network = WordNetwork(Sentences(()))
    assert not network.takes([])
    assert not network.takes(["go"])
