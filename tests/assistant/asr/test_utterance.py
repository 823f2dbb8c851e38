from __future__ import annotations

import numpy as np
import pytest

from assistant.asr.base import Hypothesis
from assistant.asr.utterance import WholeUtteranceRecognizer, is_silent
from assistant.audio.base import Pcm
from assistant.errors import AsrError
from tests.assistant import clips


class Counting(WholeUtteranceRecognizer):
    """Writes down how much sound it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def load(self) -> None:
        pass

    def _decode(self, samples: Pcm, vocabulary: tuple[str, ...]) -> Hypothesis:
        self.calls += 1
        return Hypothesis(f"{len(samples)} {' '.join(vocabulary)}".strip())


LOUD = clips.noise(0.5, 1000)


def test_finish_after_peek_does_not_decode_again() -> None:
    recognizer = Counting()
    recognizer.start()
    recognizer.feed(LOUD)
    first = recognizer.peek()
    recognizer.feed(LOUD[:0])
    assert recognizer.finish() == first
    assert recognizer.calls == 1


def test_sound_after_a_peek_is_decoded_with_what_came_before() -> None:
    recognizer = Counting()
    recognizer.start(["tea"])
    recognizer.feed(LOUD)
    assert recognizer.peek().text == "8000 tea"
    recognizer.feed(LOUD)
    assert recognizer.finish().text == "16000 tea"
    assert recognizer.calls == 2


def test_the_caller_may_use_its_buffer_again() -> None:
    recognizer = Counting()
    recognizer.start()
    buffer = LOUD.copy()
    recognizer.feed(buffer)
    buffer[:] = 0
    assert recognizer.finish().text == "8000"


def test_more_than_ten_minutes_are_refused() -> None:
    recognizer = Counting()
    recognizer.start()
    minute = np.tile(LOUD, 120)
    for _ in range(10):
        recognizer.feed(minute)
    with pytest.raises(AsrError, match="longer than"):
        recognizer.feed(minute)


def test_the_utterance_is_over_even_when_decoding_fails() -> None:
    class Failing(Counting):
        def _decode(self, samples: Pcm, vocabulary: tuple[str, ...]) -> Hypothesis:
            raise AsrError("asr.failed", "It failed.")

    recognizer = Failing()
    recognizer.start()
    recognizer.feed(LOUD)
    with pytest.raises(AsrError, match="It failed"):
        recognizer.finish()
    with pytest.raises(AsrError, match="No utterance"):
        recognizer.peek()


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (clips.silence(2), True),
        (np.full(16_000, -9000, dtype=np.int16), True),
        (clips.noise(1, 3), True),
        (LOUD[:1000], True),
        (LOUD[:0], True),
        (LOUD, False),
        (clips.noise(1, 40), False),
    ],
)
def test_silence(samples: Pcm, expected: bool) -> None:
    assert is_silent(samples) is expected
