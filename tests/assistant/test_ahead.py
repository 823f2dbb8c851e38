"""Thinking while the turn may still go on: nothing comes of it but time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant import config
from assistant.ahead import Ahead
from assistant.assembly import Assembly
from assistant.config import Config, TurnConfig
from assistant.dialogue.foreseen import Foreseen, Topic
from assistant.errors import LlmError, ModelError
from assistant.events import (
    ActionDone,
    Event,
    IntentMatched,
    PartialTranscript,
    Reply,
    SpeechEnded,
    Transcript,
    TurnEnded,
)
from assistant.models import path_of
from assistant.speaking import Speaker
from tests.assistant.room import Room
from tests.fakes import BeepVoice, EventLog, HoldingSink
from tests.patience import PATIENCE_S

TALK = "smollm2-135m-instruct"


def pause(r: Room) -> None:
    """Speech, and a silence that is too short to be the end."""
    r.source.wake()
    r.source.quiet(0.2)
    r.source.say(1.0)
    r.source.quiet(0.2)


def test_the_answer_is_begun_before_the_turn_has_ended(room: Callable[..., Room]) -> None:
    begun = threading.Event()
    seen: list[list[Event]] = []

    def first() -> str:
        seen.append(list(r.log.events))
        begun.set()
        return "Cats purr."

    r = room(["Why are happy cats so loud?"], talk=[first, " They like it."])
    pause(r)
    assert begun.wait(PATIENCE_S)
    r.source.quiet(2.0)
    r.log.wait(TurnEnded, outcome="answered")
    told = {type(event) for event in seen[0]}
    assert PartialTranscript in told
    assert not told & {SpeechEnded, Transcript, IntentMatched, Reply, ActionDone}
    assert r.talker.asked == ["Why are happy cats so loud?"]
    assert [e.text for e in r.log.of(Reply)] == ["Cats purr.", "They like it."]
    assert r.voice.said == ["Cats purr.", "They like it."]


def test_a_turn_that_goes_on_drops_it(room: Callable[..., Room]) -> None:
    def words(seconds: float) -> str:
        return (
            "Why are cats so loud?" if seconds < 2 else "Why are cats so loud when it is raining?"
        )

    r = room([words])
    pause(r)
    assert r.wait_for(lambda: r.talker.asked == ["Why are cats so loud?"])
    r.source.say(1.0)
    r.source.quiet(2.0)
    r.log.wait(TurnEnded, outcome="answered")
    assert r.talker.asked[-1] == "Why are cats so loud when it is raining?"
    assert [e.text for e in r.log.of(Transcript)] == ["Why are cats so loud when it is raining?"]
    assert len(r.log.of(IntentMatched)) == 1
    assert [e.text for e in r.log.of(Reply)] == ["Cats purr.", "They like it."]
    assert [e.user for e in r.manager._history.exchanges()] == [
        "Why are cats so loud when it is raining?"
    ]


def test_no_command_is_done_ahead(room: Callable[..., Room]) -> None:
    def words(seconds: float) -> str:
        return "Cancel all timers" if seconds < 2 else "Cancel all timers or shall we wait a bit"

    r = room([words])
    pause(r)
    r.source.say(1.0)
    r.source.quiet(2.5)
    r.log.wait(TurnEnded)
    assert r.log.of(ActionDone) == []


def test_what_fails_ahead_is_told_once_by_the_turn(room: Callable[..., Room]) -> None:
    r = room(["Why are cats so loud?"], talk=[LlmError("llm.timeout", "No answer in time.")])
    r.command()
    r.log.wait(TurnEnded)
    assert [e.text for e in r.log.of(Reply)] == ["Sorry, I can't think of an answer right now."]
    assert len(r.talker.asked) == 1


def test_it_can_be_switched_off(room: Callable[..., Room]) -> None:
    seen: list[bool] = []

    def first() -> str:
        seen.append(bool(r.log.of(SpeechEnded)))
        return "Cats purr."

    cfg = Config(turn=TurnConfig(think_ahead=False))
    r = room(["Why are happy cats so loud?"], cfg=cfg, talk=[first])
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    assert seen == [True]


def test_a_prepared_sentence_is_spoken_once() -> None:
    voice, log = BeepVoice(), EventLog()
    speaker = Speaker(voice, HoldingSink(), log)
    speaker.prepare("Cats purr. ", 1.0)
    assert log.events == []
    said = speaker.say(["Cats purr. ", "They like it."], cancel=threading.Event())
    assert said.text == "Cats purr. They like it."
    assert voice.said == ["Cats purr.", "They like it."]


@pytest.mark.parametrize(("prepared", "speed"), [("Dogs bark. ", 1.0), ("Cats purr. ", 0.8)])
def test_another_sentence_or_speed_is_not_the_prepared_one(prepared: str, speed: float) -> None:
    voice = BeepVoice()
    speaker = Speaker(voice, HoldingSink(), EventLog())
    speaker.prepare(prepared, speed)
    speaker.say(["Cats purr."], cancel=threading.Event())
    assert voice.said[-1] == "Cats purr."
    assert len(voice.said) == 2


def test_an_answer_that_nobody_wants_is_no_answer() -> None:
    cancel = threading.Event()
    topic = Topic("why", (), ())
    foreseen = Foreseen(topic, iter(["Because."]), cancel)
    assert foreseen.is_about(topic)
    assert not foreseen.is_about(Topic("why", ("It is noon.",), ()))
    cancel.set()
    assert not foreseen.is_about(topic)


# -- with the real models ------------------------------------------------------------------


@pytest.fixture(scope="module", params=["fp16", "adaptive"])
def assembly(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Assembly]:
    try:
        path_of(TALK)
    except ModelError:
        pytest.skip("the language model is not fetched: assistant models fetch")
    pytest.importorskip("kvquant._native", reason="the native engine is not built")
    folder = tmp_path_factory.mktemp("state")
    wanted = (f"service.state_dir={folder}", f"llm.kv.mode={request.param}", "dialogue.seed=1")
    cfg = config.load(None, wanted)
    made = Assembly(cfg)
    made.load(sound=False)
    yield made
    made.close()


def answer(assembly: Assembly, text: str) -> str:
    said = assembly.manager.respond(text, turn=1, cancel=threading.Event())
    return "".join(said.pieces)


def test_what_was_foreseen_is_what_would_be_answered(assembly: Assembly) -> None:
    text = "I am going to the beach with my dog."
    plain = answer(assembly, text)
    ahead = Ahead(assembly.manager, Speaker(BeepVoice(), HoldingSink(), EventLog()))
    cancel = threading.Event()
    # the turn goes on twice, and the second time a quite different one
    ahead.begin("I am going", cancel)
    ahead.begin("Tell me something about whales and the sea", cancel)
    ahead.begin(text, cancel)
    ahead.settle(text)
    assert answer(assembly, text) == plain
    ahead.close()


def test_what_was_dropped_leaves_the_next_answer_as_it_is(assembly: Assembly) -> None:
    text = "My sister likes to paint."
    plain = answer(assembly, text)
    ahead = Ahead(assembly.manager, Speaker(BeepVoice(), HoldingSink(), EventLog()))
    ahead.begin("My sister likes", threading.Event())
    ahead.settle(text)
    assert answer(assembly, text) == plain
    ahead.close()


def test_commands_are_not_foreseen(assembly: Assembly, tmp_path: Path) -> None:
    foresee = assembly.manager.foresee
    assert foresee("set a timer for ten minutes", threading.Event()) is None
    assert foresee("could you get me out of bed at seven tomorrow", threading.Event()) is None
    assert assembly.registry.scheduler is not None
    assert assembly.registry.scheduler.timers() == []
