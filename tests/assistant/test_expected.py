from __future__ import annotations

import pytest

from assistant.asr.moonshine import Moonshine
from assistant.asr.sentences import Sentences, WordNetwork
from assistant.expected import Expected
from assistant.home.base import Area, Entity, Snapshot
from tests.assistant import clips


class House:
    """A home whose names can change."""

    def __init__(self) -> None:
        self.snapshot = Snapshot(
            areas=(Area("attic", "Attic"),),
            entities=(Entity("light.ottavia", "Ottavia lamp", aliases=("reading (light)",)),),
            version=1,
        )

    def __call__(self) -> Snapshot:
        return self.snapshot


def skills() -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    return ("set a timer for {length}", "what time is it"), {"length": ("ten minutes", "an hour")}


def takes(sentences: Sentences, text: str) -> bool:
    return WordNetwork(sentences).takes(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "set a timer for an hour",
        "hey jarvis what time is it",
        "please set a timer for ten minutes thank you",
        "turn on the Ottavia lamp",
        "turn the reading light off",
        "could you switch off the Attic lights please",
        "is the Ottavia lamp on",
    ],
)
def test_commands_of_the_skills_and_to_the_home(text: str) -> None:
    assert takes(Expected([skills], House(), ["hey jarvis"])(), text)


@pytest.mark.parametrize(
    "text", ["turn on the octavia lamp", "please", "hey jarvis", "set a timer"]
)
def test_nothing_else(text: str) -> None:
    assert not takes(Expected([skills], House(), ["hey jarvis"])(), text)


def test_it_is_made_anew_when_the_names_change() -> None:
    house = House()
    expected = Expected([skills], house, [])
    first = expected()
    assert expected() is first
    house.snapshot = Snapshot(entities=(Entity("fan.breeze", "Breeze"),), version=2)
    assert takes(expected(), "turn off the Breeze")
    assert not takes(expected(), "turn off the Ottavia lamp")


def test_without_a_home_there_are_the_skills() -> None:
    sentences = Expected([skills], None, [])()
    assert takes(sentences, "what time is it please")
    assert not takes(sentences, "turn on the lights")


@pytest.fixture(scope="module")
def moonshine() -> Moonshine:
    recognizer = Moonshine(clips.model("moonshine-tiny-en"))
    recognizer.load()
    return recognizer


def heard(recognizer: Moonshine, said: str, vocabulary: tuple[str, ...] = ()) -> str:
    recognizer.start(vocabulary)
    recognizer.feed(clips.spoken(said))
    return recognizer.finish().text.lower().strip(".!? ")


def test_a_made_up_name_is_heard_when_it_is_expected(moonshine: Moonshine) -> None:
    said = "Turn on the Ottavia lamp."
    moonshine.expect(None)
    assert "ottavia" not in heard(moonshine, said)
    moonshine.expect(Expected([skills], House(), ["hey jarvis"])())
    assert heard(moonshine, said) == "turn on the ottavia lamp"


def test_a_made_up_name_is_heard_when_it_is_in_the_vocabulary(moonshine: Moonshine) -> None:
    said = "Play music on Pelagia."
    moonshine.expect(None)
    assert "pelagia" not in heard(moonshine, said)
    assert heard(moonshine, said, ("desk lamp", "Pelagia")) == "play music on pelagia"


@pytest.mark.parametrize(
    "said", ["What is the capital of France?", "I like my new lamp a lot.", "Stop.", "Yes."]
)
def test_what_is_not_expected_is_heard_as_before(moonshine: Moonshine, said: str) -> None:
    vocabulary = ("Ottavia lamp", "Attic", "desk lamp")
    moonshine.expect(None)
    before = heard(moonshine, said)
    moonshine.expect(Expected([skills], House(), ["hey jarvis"])())
    assert heard(moonshine, said, vocabulary) == before
    assert before


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
@pytest.mark.parametrize("seconds", [1, 4])
def test_noise_is_none_of_the_commands(moonshine: Moonshine, kind: str, seconds: float) -> None:
    moonshine.expect(Expected([skills], House(), ["hey jarvis"])())
    moonshine.start(("Ottavia lamp", "stop", "timer"))
    moonshine.feed(clips.noise(seconds, 600, kind))
    assert moonshine.finish().text == ""


def test_real_noise_is_none_of_the_commands(moonshine: Moonshine) -> None:
    sentences = Expected([skills], House(), ["hey jarvis"])()
    moonshine.expect(sentences)
    network = WordNetwork(sentences)
    for row in clips.rows("noise-rir"):
        if row["kind"] == "rir" or "rir" in row["file"]:
            continue
        moonshine.start(("Ottavia lamp", "Attic"))
        moonshine.feed(clips.recording("noise-rir", row)[: 4 * 16_000])
        text = moonshine.finish().text.lower()
        assert not network.takes(text.strip(".!?").split()), text
        assert "ottavia" not in text
