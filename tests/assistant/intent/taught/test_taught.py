"""What was taught is understood again, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelError
from assistant.intent.heads.example import Example
from assistant.intent.heads.remembered import Remembered
from assistant.intent.heads.states import TextStates
from assistant.intent.taught.addon import AddOn, teach
from assistant.intent.taught.learn import AT_LIMIT, learn
from assistant.intent.taught.lesson import Lesson
from assistant.intent.taught.taught import Taught
from tests.assistant.intent.heads.fake_states import FakeStates

LESSONS = {
    "bins": Lesson(
        reply="On Tuesday.",
        examples=[
            "when do the bins go out",
            "which day are the bins collected",
            "are the bins due tomorrow",
            "do I put the bins out tonight",
            "what about the bins this week",
            "when are the bins emptied",
        ],
    ),
    "nap": Lesson(
        command="timer.set",
        slots={"duration": "twenty minutes"},
        examples=[
            "time for my nap",
            "I want a nap now",
            "let me have my nap",
            "nap mode please",
            "it is nap o'clock",
            "start the nap",
        ],
    ),
}
OTHERS = [
    Example(text, "oos")
    for text in (
        "how are you today", "tell me a story", "what is the weather like", "turn on the lamp",
        "who won the race", "set a timer", "I like tea", "where is the station", "stop that",
        "is it cold out", "call my brother", "what day is it", "play some music", "good night",
        "when does the train leave", "put the kettle on", "do I need a coat", "never mind",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def states() -> TextStates:
    return FakeStates()


@pytest.fixture(scope="module")
def addon(states: TextStates) -> AddOn:
    return teach(LESSONS, OTHERS, states, "system")[0]


@pytest.fixture
def taught(addon: AddOn, states: TextStates, tmp_path: Path) -> Taught:
    path = tmp_path / "state" / "taught.head"
    addon.save(path)
    taught = Taught(path, states)
    taught.load()
    return taught


def test_examples_are_certain(taught: Taught) -> None:
    intent = taught.exactly("When do the bins go out?")
    assert intent is not None
    assert (intent.name, intent.slots, intent.score) == (
        "commands.say", {"reply": "On Tuesday."}, 1.0,
    )  # fmt: skip


def test_other_words_are_a_guess(taught: Taught) -> None:
    text = "when do I put out the bins"
    assert taught.exactly(text) is None
    intent = taught.understand(text)
    assert intent is not None
    assert intent.slots == {"reply": "On Tuesday."}
    assert AT_LIMIT <= intent.score < 1
    nap = taught.understand("a nap for me now please")
    assert nap is not None
    assert (nap.name, nap.slots) == ("timer.set", {"duration": "twenty minutes"})


@pytest.mark.parametrize("text", ["how is the weather", "sing a song for us", "", "   ", "?!"])
def test_other_sentences_are_not_taken(taught: Taught, text: str) -> None:
    assert taught.understand(text) is None


def test_the_file_keeps_everything(addon: AddOn, states: TextStates, tmp_path: Path) -> None:
    path = tmp_path / "taught.head"
    addon.save(path)
    again = AddOn.load(path)
    assert again.meanings == addon.meanings
    text = "when do I put out the bins"
    assert again.scores(text, states) == pytest.approx(addon.scores(text, states), abs=1e-5)


def test_a_damaged_file_is_no_reason_to_stop(
    addon: AddOn, tmp_path: Path, states: TextStates, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "taught.head"
    addon.save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ModelError):
        AddOn.load(path)
    taught = Taught(path, states)
    taught.load()
    assert taught.understand("time for my nap") is None
    assert "what was taught is not understood" in caplog.text


def test_another_model_is_told_of(
    addon: AddOn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Other(FakeStates):
        fingerprint = 99

    path = tmp_path / "taught.head"
    addon.save(path)
    taught = Taught(path, Other())
    taught.load()
    assert taught.understand("I need the nap") is None
    assert "another language model" in caplog.text
    assert taught.understand("time for my nap") is not None


def test_what_an_unseen_example_scores_is_what_it_scores() -> None:
    """Left out in closed form is the same as left out."""
    rng = np.random.default_rng(3)
    pooled = rng.normal(size=(40, 24)).astype(np.float32)
    pooled[:8] += 1.5
    texts = [f"word{i} thing{i % 5}" for i in range(40)]
    labels = np.where(np.arange(40) < 8, 0, -1)
    _, (unseen,) = learn(pooled, texts, labels, 1)
    assert unseen.found > 0.7
    assert all(labels[i] == -1 for i in unseen.alike)


def test_one_pass_serves_several_heads() -> None:
    fake = FakeStates()
    once = Remembered(fake, (15, 24))
    first = once.states("ring the bell", (12, 18), twice=True, prefix="a")
    second = once.states("ring the bell", (15, 24), twice=True, prefix="a")
    assert fake.read == ["ring the bell"]
    assert first.values.shape == second.values.shape
    assert np.array_equal(second.values, fake.states("ring the bell", (15, 24), True).values)
    once.states("ring the bell", (15,), twice=True, prefix="b")
    assert len(fake.read) == 3
