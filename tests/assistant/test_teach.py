"""``assistant teach``: from the file to the answer, with the real language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant import teach
from assistant.config import Config
from assistant.errors import IntentError, ModelError
from assistant.models import path_of

pytest.importorskip("kvquant._native", reason="the native engine is not built")

LESSONS = """
intents:
  bin_day:
    reply: The bins go out on Tuesday.
    examples:
      - which day are the bins collected
      - when do I have to put the bins out
      - is it bin day tomorrow
      - when does the rubbish get picked up
      - what day is garbage day
  kettle:
    reply: Tea is on its way.
    examples:
      - set a timer for ten minutes
      - I could murder a cup of tea
      - let us have tea now
      - tea for everybody please
      - the usual brew please
"""


@pytest.fixture(scope="module")
def cfg(tmp_path_factory: pytest.TempPathFactory) -> Config:
    folder = tmp_path_factory.mktemp("teach")
    lessons = folder / "taught.yaml"
    lessons.write_text(LESSONS, encoding="utf-8")
    return Config.model_validate(
        {
            "service": {"state_dir": str(folder / "state")},
            "understand": {"taught": str(lessons)},
            "llm": {"threads": 1},
        }
    )


@pytest.fixture(scope="module")
def row(cfg: Config) -> dict[str, Any]:
    try:
        path_of(cfg.llm.model)
    except ModelError:
        pytest.skip("the language model is not fetched: assistant models fetch")
    return teach.teach(cfg, teach.file_of(cfg))


def test_a_command_is_not_stolen(row: dict[str, Any], cfg: Config) -> None:
    assert any("is a command already (timer.set)" in str(w) for w in row["warnings"])
    assert teach.check(cfg, "set a timer for ten minutes")["intent"] == "timer.set"


def test_what_was_taught_is_understood(row: dict[str, Any], cfg: Config) -> None:
    known = teach.check(cfg, "Is it bin day tomorrow?")
    assert (known["source"], known["score"]) == ("taught", 1.0)
    new = teach.check(cfg, "could you tell me which day the bins get collected")
    assert new["source"] == "taught"
    assert new["slots"] == {"reply": "The bins go out on Tuesday."}


def test_talk_stays_talk(row: dict[str, Any], cfg: Config) -> None:
    assert teach.check(cfg, "I had a lovely day at the beach")["intent"] is None


def test_a_mistake_leaves_what_was_learnt(row: dict[str, Any], cfg: Config, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("intents:\n  bins:\n    reply: x\n    examples: [one]\n", encoding="utf-8")
    with pytest.raises(IntentError, match="line 4"):
        teach.teach(cfg, broken)
    assert teach.check(cfg, "is it bin day tomorrow")["source"] == "taught"
