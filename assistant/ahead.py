"""Thinks while it is not sure yet that the user has finished.

The silence that ends a turn is longer than it takes to understand what was said and to begin an
answer to talk. So that is done in the silence. Nothing is done, said or noted because of it: when
the user goes on it is dropped, and when the turn ends with the same words it is there.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from assistant.dialogue.foreseen import Foreseen
from assistant.dialogue.manager import Manager
from assistant.speaking import Speaker

log = logging.getLogger(__name__)


class Revocable(threading.Event):
    """Is set as well when another event is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()


class _Thought:
    """text: what it is about.

    decided: it is known whether there is something to foresee; free: the language model has
    begun the answer, or is not at work on it.
    """

    def __init__(self, text: str, cancel: threading.Event) -> None:
        self.text = text
        self.dropped = Revocable(cancel)
        self.decided = threading.Event()
        self.free = threading.Event()
        self.foreseen: Foreseen | None = None


class Ahead:
    """One thought at a time, in a thread of its own."""

    def __init__(self, manager: Manager, speaker: Speaker) -> None:
        self._manager = manager
        self._speaker = speaker
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ahead")
        self._lock = threading.Lock()
        self._thought: _Thought | None = None

    def begin(self, text: str, cancel: threading.Event) -> None:
        """The turn may end with this text; returns at once.

        cancel: nobody wants an answer any more.
        """
        self.drop()
        thought = _Thought(text, cancel)
        with self._lock:
            self._thought = thought
        self._pool.submit(self._think, thought)

    def drop(self) -> None:
        """The turn goes on, or is no more."""
        with self._lock:
            thought, self._thought = self._thought, None
        if thought is not None:
            self._end(thought)

    def settle(self, text: str) -> None:
        """The turn has ended with this text: what is not about it is gone when this returns."""
        with self._lock:
            thought, self._thought = self._thought, None
        if thought is None:
            return
        if thought.text == text:
            thought.decided.wait()
        else:
            self._end(thought)
            thought.free.wait()

    def close(self) -> None:
        self.drop()
        self._pool.shutdown(wait=False)

    def _end(self, thought: _Thought) -> None:
        thought.dropped.set()
        self._pool.submit(self._forget, thought)

    def _forget(self, thought: _Thought) -> None:
        if thought.foreseen is not None:
            self._manager.forget(thought.foreseen)
            thought.foreseen.close()

    def _think(self, thought: _Thought) -> None:
        try:
            if not thought.dropped.is_set():
                thought.foreseen = self._manager.foresee(thought.text, thought.dropped)
            thought.decided.set()
            first = thought.foreseen.begin() if thought.foreseen is not None else ""
            thought.free.set()
            if first and not thought.dropped.is_set():
                self._speaker.prepare(first, self._manager.speed())
        except Exception as error:
            # The turn itself meets the same and tells it.
            log.debug("thinking ahead failed: %s", type(error).__name__)
        finally:
            thought.decided.set()
            thought.free.set()
