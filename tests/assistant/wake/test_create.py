from __future__ import annotations

from pathlib import Path

import pytest

from assistant import wake
from assistant.config import WakeConfig
from assistant.errors import ConfigError, ModelError


def test_backend_none_has_no_detector() -> None:
    assert wake.create(WakeConfig(backend="none")) is None


@pytest.mark.parametrize(
    ("word", "guess"), [("hey_jarvi", "hey_jarvis"), ("Alexia", "alexa"), ("ok nabu", "okay_nabu")]
)
def test_a_misspelt_word_gets_a_suggestion_and_the_list(word: str, guess: str) -> None:
    with pytest.raises(ConfigError) as caught:
        wake.create(WakeConfig(words=(word,)))
    assert word in caught.value.message
    assert f'Did you mean "{guess}"?' in caught.value.hint
    for known in wake.known_words():
        assert known in caught.value.hint


def test_a_word_like_no_other_gets_the_list_only() -> None:
    with pytest.raises(ConfigError) as caught:
        wake.create(WakeConfig(words=("zzzz",)))
    assert "Did you mean" not in caught.value.hint
    assert "hey_jarvis" in caught.value.hint


def test_a_misspelt_threshold_is_no_silent_nothing() -> None:
    with pytest.raises(ConfigError, match="hey_jarvs"):
        wake.create(WakeConfig(thresholds={"hey_jarvs": 0.8}))


def test_a_threshold_of_a_word_that_is_not_in_use_is_fine() -> None:
    assert wake.create(WakeConfig(words=("alexa",), thresholds={"hey_jarvis": 0.8})) is not None


def test_no_word_at_all() -> None:
    with pytest.raises(ConfigError, match="empty"):
        wake.create(WakeConfig(words=()))


def test_own_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"mine\.tflite"):
        wake.create(WakeConfig(words=(str(tmp_path / "mine.tflite"),)))
