"""A small head from labelled sentences to understanding, with a reader that is no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import InputFileError, LlmError, ModelError
from assistant.intent.heads import file
from assistant.intent.heads.example import OUT_OF_SCOPE, Example, Mark
from assistant.intent.heads.head import Head, Setup
from assistant.intent.heads.heads import Heads
from assistant.intent.heads.states import TokenStates
from assistant.intent.heads.training import Trained, draw, train
from tests.assistant.intent.heads.fake_states import FakeStates

SETUP = Setup("You are a test.", layers=(1, 2), tag_layers=(2,))
AWKWARD = ("", "   ", "?", "weather", "ß", "東京の天気", "\udcff", "x " * 5000, "a" * 5000, "\n\n")


def sentences() -> list[Example]:
    rows = []
    for city in ("paris", "london", "rome", "new york", "oslo", "berlin"):
        for start in ("what is the weather in ", "will it rain in ", "weather for "):
            text = start + city
            rows.append(Example(text, "weather", (Mark(len(start), len(text), "city"),)))
    for kind in ("jazz", "rock", "blues", "pop", "folk music"):
        for start in ("play some ", "i want to hear ", "put on "):
            text = start + kind
            rows.append(Example(text, "music", (Mark(len(start), len(text), "genre"),)))
    for text in ("stop", "stop it", "be quiet", "silence please", "stop now", "quiet please"):
        rows.append(Example(text, "stop"))
    for text in ("how are you", "tell me a story", "who was caesar", "why is it blue", "i am sad"):
        rows.append(Example(text, OUT_OF_SCOPE))
    return rows


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train("tiny", sentences(), FakeStates(), SETUP)


@pytest.fixture(scope="module")
def path(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("head") / "tiny.head"
    trained.head.save(path)
    return path


def test_it_learns_what_it_is_told(trained: Trained) -> None:
    assert trained.accuracy > 0.7
    assert trained.oos_recall is not None
    assert trained.slot_f1 is not None
    assert trained.head.labels == ["music", "stop", "weather", OUT_OF_SCOPE]
    found = trained.head.read("What is the weather in Madrid?", FakeStates())
    assert (found.intent, found.marks) == ("weather", (Mark(23, 29, "city"),))
    found = trained.head.read("play some new york", FakeStates())
    assert found.intent == "music"
    assert all(mark.slot == "genre" for mark in found.marks)


def test_the_same_seed_gives_the_same_head(trained: Trained, tmp_path: Path) -> None:
    again = train("tiny", sentences(), FakeStates(), SETUP)
    trained.head.save(tmp_path / "one.head")
    again.head.save(tmp_path / "two.head")
    assert (tmp_path / "one.head").read_bytes() == (tmp_path / "two.head").read_bytes()


def test_from_its_file_it_judges_alike(trained: Trained, path: Path) -> None:
    read = Head.load(path)
    for text in ("weather for new york", "play some jazz", "stop", *AWKWARD):
        assert read.read(text, FakeStates()) == trained.head.read(text, FakeStates())
    assert (read.name, read.setup, read.threshold) == ("tiny", SETUP, trained.head.threshold)


def test_awkward_texts_are_read(path: Path) -> None:
    heads = Heads(path, FakeStates())
    heads.load()
    for text in AWKWARD:
        heads.understand(text)
    assert heads.understand("") is None
    assert heads.understand("  \n ") is None


def test_understanding_and_its_threshold(path: Path) -> None:
    heads = Heads(path, FakeStates())
    heads.load()
    intent = heads.understand("  Weather for New York.")
    assert intent is not None
    assert (intent.name, intent.slots) == ("weather", {"city": "New York"})
    assert intent.source == "heads"
    assert 0 < intent.score <= 1
    assert heads.exactly("weather for new york") is None
    assert heads.understand("tell me a story") is None
    strict = Heads(path, FakeStates(), min_score=1.0)
    strict.load()
    assert strict.understand("weather for new york") is None
    lax = Heads(path, FakeStates(), min_score=1e-9)
    lax.load()
    assert lax.understand("my dog is wet") is not None


def test_a_head_of_another_model_is_refused(path: Path) -> None:
    class Other(FakeStates):
        fingerprint = 99

    heads = Heads(path, Other())
    heads.load()
    with pytest.raises(ModelError, match="another language model"):
        heads.warm_up()
    assert heads.understand("stop") is None


def test_when_the_model_fails_nothing_is_understood(path: Path) -> None:
    class Failing(FakeStates):
        broken = False

        def states(self, *args: object, **kwargs: object) -> TokenStates:
            if self.broken:
                raise LlmError("llm.failed", "The language model failed.")
            return super().states(*args, **kwargs)  # type: ignore[arg-type]

    states = Failing()
    heads = Heads(path, states)
    heads.load()
    states.broken = True
    assert heads.understand("stop") is None
    states.broken = False
    assert heads.understand("stop") is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [("labels", ["a"]), ("classifier", {}), ("setup", {"prefix": "x"}), ("tagger", {"slots": []})],
)
def test_a_file_that_does_not_hold_together_is_refused(
    path: Path, tmp_path: Path, key: str, value: object
) -> None:
    header, arrays = file.read(path)
    file.write(tmp_path / "bad.head", {**header, key: value}, arrays)
    with pytest.raises(ModelError, match="does not hold together"):
        Head.load(tmp_path / "bad.head")


def test_too_little_to_learn_from_is_said() -> None:
    with pytest.raises(InputFileError, match='"rare" has 1 example'):
        train("x", [*sentences(), Example("once", "rare")], FakeStates(), SETUP)
    with pytest.raises(InputFileError, match="two intents"):
        train("x", [e for e in sentences() if e.intent == "stop"], FakeStates(), SETUP)


def test_two_intents_without_values_or_talk_are_enough() -> None:
    rows = [e for e in sentences() if e.intent == "stop"]
    rows += [Example(f"go {way}", "go") for way in ("on", "away", "home", "left", "right")]
    head = train("x", rows, FakeStates(), SETUP).head
    assert head.labels == ["go", "stop"]
    assert head.tagger is None
    assert head.read("go home", FakeStates()).intent == "go"
    assert head.read("stop", FakeStates()).intent == "stop"


def test_draws_are_seeded_and_keep_what_is_out_of_scope() -> None:
    few = draw(sentences(), 2, 0)
    assert [e.intent for e in few].count("weather") == 2
    assert [e.intent for e in few].count(OUT_OF_SCOPE) == 5
    assert few == draw(sentences(), 2, 0)
    assert few != draw(sentences(), 2, 1)


def test_without_the_head_that_is_shipped_whole_commands_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = tmp_path / "own.head"
    damaged.write_bytes(b"PVAHEAD\n" + bytes(100))
    with pytest.raises(ModelError):
        Heads(damaged, FakeStates()).load()
    monkeypatch.setattr("assistant.intent.heads.heads.SHIPPED", damaged)
    heads = Heads(damaged, FakeStates())
    heads.load()
    heads.warm_up()
    assert heads.understand("stop") is None
    assert str(damaged) in caplog.text
