"""One utterance on its way through the recogniser, which works in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import TypeVar

from assistant.asr.base import Hypothesis, Recognizer
from assistant.asr.sentences import Sentences
from assistant.audio.base import Pcm

T = TypeVar("T")


class Recognition:
    """Queues the steps of one utterance and returns at once.

    What failed first is what the result tells. Once the utterance is dropped, steps that
    still wait cost nothing, so a recogniser that lags behind catches up.
    """

    def __init__(
        self,
        pool: Executor,
        recognizer: Recognizer,
        vocabulary: Sequence[str],
        cancel: threading.Event,
        expected: Callable[[], Sentences] | None = None,
    ) -> None:
        """pool: one thread; cancel: drops the utterance as well when it is set.

        expected: the sentences that are likely; asked in that thread.
        """
        self._pool = pool
        self._recognizer = recognizer
        self._cancel = cancel
        self._dropped = threading.Event()
        self._failure: Exception | None = None
        if expected is not None:
            self._pool.submit(self._quietly, lambda: self._recognizer.expect(expected()))
        self._pool.submit(self._quietly, lambda: self._recognizer.start(vocabulary))

    def feed(self, samples: Pcm) -> None:
        self._pool.submit(self._quietly, lambda: self._recognizer.feed(samples))

    def peek(self, judge: Callable[[Hypothesis], T]) -> Future[T]:
        """The words so far, judged in the recogniser's thread."""
        return self._pool.submit(lambda: judge(self._result(self._recognizer.peek)))

    def finish(self) -> Future[Hypothesis]:
        return self._pool.submit(self._result, self._recognizer.finish)

    def drop(self) -> None:
        """Nobody wants the words any more."""
        self._dropped.set()
        self._pool.submit(self._recognizer.cancel)

    @property
    def _unwanted(self) -> bool:
        return self._dropped.is_set() or self._cancel.is_set()

    def _quietly(self, step: Callable[[], None]) -> None:
        """Notes an error for ``_result``: nobody waits for this step."""
        if self._failure is not None or self._unwanted:
            return
        try:
            step()
        except Exception as error:
            self._failure = error

    def _result(self, step: Callable[[], Hypothesis]) -> Hypothesis:
        if self._unwanted:
            return Hypothesis("")
        if self._failure is not None:
            raise self._failure
        return step()
