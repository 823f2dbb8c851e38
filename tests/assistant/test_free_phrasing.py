"""Free phrasing with the shipped head and the real language model, until it is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.assembly import Assembly
from assistant.config import Config
from assistant.dialogue.manager import Answer
from assistant.errors import ModelError
from assistant.intent.heads.heads import SHIPPED
from assistant.models import path_of

TALK = Path(__file__).parents[1] / "data" / "intents" / "talk.txt"


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assembly]:
    cfg = Config.model_validate(
        {
            "service": {"state_dir": str(tmp_path_factory.mktemp("state"))},
            "llm": {"threads": 1},
            "dialogue": {"timeout_s": 600},
        }
    )
    try:
        path_of(cfg.llm.model)
    except ModelError:
        pytest.skip("the language model is not fetched: assistant models fetch")
    pytest.importorskip("kvquant._native", reason="the native engine is not built")
    assembly = Assembly(cfg)
    assembly.load(sound=False)
    yield assembly
    assembly.close()


def say(assembly: Assembly, text: str) -> Answer:
    return assembly.manager.respond(text, turn=1, cancel=threading.Event())


def test_a_timer_is_set(assembly: Assembly) -> None:
    answer = say(assembly, "would you mind giving me a shout in a quarter of an hour")
    assert (answer.intent.name, answer.intent.source) == ("timer.set", "heads")
    assert answer.action is not None
    assert answer.action["seconds"] == 900


@pytest.mark.parametrize(
    ("text", "does"),
    [
        (
            "I'm boiling potatoes, tell me when eighteen minutes are over",
            {"skill": "timer", "do": "set", "seconds": 1080},
        ),
        (
            "hey we're nearly out of dish soap so put that on the list",
            {"skill": "lists", "do": "add", "items": ["dish soap"]},
        ),
        ("you're shouting, tone it down a bit", {"skill": "volume"}),
    ],
)
def test_it_is_done(assembly: Assembly, text: str, does: dict[str, Any]) -> None:
    answer = say(assembly, text)
    assert answer.intent.source == "heads"
    assert answer.action is not None
    assert {key: answer.action.get(key) for key in does} == does


def test_a_conversion_is_right(assembly: Assembly) -> None:
    answer = say(assembly, "how would I say five miles in kilometres")
    assert answer.intent.name == "maths.convert"
    assert "8.0" in " ".join(answer.pieces)


def test_hardly_any_talk_is_taken_for_a_command(assembly: Assembly) -> None:
    texts = [line for line in TALK.read_text(encoding="utf-8").splitlines() if line.strip()]
    # orders that the dialogue takes apart, or refuses ("don't …"), before a head is asked
    texts = [text for text in texts if "set a timer for" not in text]
    taken = [text for text in texts if assembly.understander.understand(text) is not None]
    assert len(taken) <= 0.02 * len(texts), taken


def test_a_home_that_is_not_there_is_not_guessed(assembly: Assembly) -> None:
    assert assembly.understander.understand("get rid of the light in the bathroom") is None


def test_the_head_is_small(assembly: Assembly) -> None:
    assert SHIPPED.stat().st_size <= 8 << 20
