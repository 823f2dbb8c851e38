"""Stand-ins for devices and models, for tests of what lies between them."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assistant.asr.base import Hypothesis, Recognizer
from assistant.audio.base import FRAME_SAMPLES, AudioSink, AudioSource, Frame, Pcm
from assistant.errors import DeviceError
from assistant.events import Event
from assistant.tts.base import Speech, Voice
from assistant.vad.base import Vad
from assistant.wake.base import Wake, WakeDetector
from tests.patience import PATIENCE_S

LOUD = 3000
WAKE_MARK = 12345


class PushSource(AudioSource):
    """A microphone that hears what the test says, when the test says it."""

    def __init__(self, *, paced: bool = True, broken: bool = False) -> None:
        self.paced = paced
        self.broken = broken
        self._frames: queue.Queue[Pcm | None] = queue.Queue()
        self._position = 0
        self._t = 0.0

    def start(self) -> None:
        if self.broken:
            raise DeviceError("audio.no_device", "There is no microphone.", "Plug one in.")

    def read(self, timeout: float = 0.5) -> Frame | None:
        try:
            samples = self._frames.get(timeout=min(timeout, 0.05))
        except queue.Empty:
            return None
        if samples is None:
            raise EOFError
        # Sound that is pushed all at once is still sound of its length.
        self._t = max(self._t + FRAME_SAMPLES / 16_000, time.monotonic())
        frame = Frame(samples, self._position, self._t)
        self._position += FRAME_SAMPLES
        return frame

    def stop(self) -> None:
        pass

    @property
    def empty(self) -> bool:
        """All that was pushed has been read."""
        return self._frames.empty()

    def say(self, seconds: float) -> None:
        self._push(seconds, LOUD)

    def quiet(self, seconds: float) -> None:
        self._push(seconds, 0)

    def wake(self) -> None:
        self._frames.put(np.full(FRAME_SAMPLES, WAKE_MARK, np.int16))

    def end(self) -> None:
        self._frames.put(None)

    def _push(self, seconds: float, level: int) -> None:
        for _ in range(round(seconds * 100)):
            self._frames.put(np.where(np.arange(FRAME_SAMPLES) % 2, level, -level).astype(np.int16))


class HoldingSink(AudioSink):
    """A speaker that plays until the test lets it end; ``instant`` ends at once."""

    def __init__(self, *, instant: bool = True, broken: bool = False) -> None:
        self.written: list[Pcm] = []
        self.flushes = 0
        self.broken = broken
        self._instant = instant
        self._queued = threading.Event()

    def start(self) -> None:
        if self.broken:
            raise DeviceError("audio.no_speaker", "There is no speaker.")

    def write(
        self, samples: Pcm, rate: int, on_start: Callable[[float], None] | None = None
    ) -> None:
        if on_start is not None:
            on_start(time.monotonic())
        self.written.append(samples)
        if not self._instant:
            self._queued.set()

    def drain(self, timeout: float | None = None, cancel: threading.Event | None = None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while self.playing:
            if cancel is not None and cancel.wait(0.005):
                return False
            if end is not None and time.monotonic() > end:
                return False
        return True

    def flush(self) -> None:
        self.flushes += 1
        self._queued.clear()

    def finish_playing(self) -> None:
        """Ends what plays, and from now on everything at once."""
        self._instant = True
        self._queued.clear()

    @property
    def playing(self) -> bool:
        return self._queued.is_set()

    def stop(self) -> None:
        self._queued.clear()


class MarkWake(WakeDetector):
    """Fires on the frame that PushSource.wake makes."""

    def load(self) -> None:
        pass

    def process(self, samples: Pcm) -> Wake | None:
        return Wake("hey_jarvis", 0.99) if samples[0] == WAKE_MARK else None

    def reset(self) -> None:
        pass


class LevelVad(Vad):
    """Speech is what is loud."""

    def load(self) -> None:
        pass

    def process(self, samples: Pcm) -> float:
        return 0.95 if np.abs(samples).mean() > 100 and samples[0] != WAKE_MARK else 0.01

    def reset(self) -> None:
        pass


Script = str | Exception | Callable[[float], str]


class ScriptedRecognizer(Recognizer):
    """Hears one scripted text per utterance.

    An exception in the script is raised; a function gets the seconds heard so far.
    """

    def __init__(self, texts: Sequence[Script] = ()) -> None:
        self.texts = list(texts)
        self.fed = 0
        self._current: Script = ""

    def load(self) -> None:
        pass

    def start(self, vocabulary: Sequence[str] = ()) -> None:
        self.fed = 0
        self._current = self.texts.pop(0) if self.texts else ""

    def feed(self, samples: Pcm) -> None:
        self.fed += len(samples)

    def peek(self) -> Hypothesis:
        if isinstance(self._current, Exception):
            raise self._current
        if callable(self._current):
            return Hypothesis(self._current(self.fed / 16_000), 0.9)
        return Hypothesis(self._current, 0.9)

    def finish(self) -> Hypothesis:
        return self.peek()

    def cancel(self) -> None:
        pass


class BeepVoice(Voice):
    """10 ms of sound per character."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.said: list[str] = []

    def load(self) -> None:
        pass

    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        self.said.append(text)
        if self.error is not None:
            raise self.error
        yield Speech(np.full(len(text) * 160, 1000, np.int16), 16_000)


class EventLog:
    """Keeps every event and waits for the one a test needs."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._new = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._new:
            self.events.append(event)
            self._new.notify_all()

    def of(self, kind: type[Event]) -> list[Event]:
        return [e for e in self.events if isinstance(e, kind)]

    def wait(
        self, kind: type[Event], count: int = 1, timeout: float = PATIENCE_S, **fields: object
    ) -> Event:
        """The count-th event of this kind with these field values."""

        def found() -> list[Event]:
            return [e for e in self.of(kind) if all(getattr(e, k) == v for k, v in fields.items())]

        with self._new:
            ok = self._new.wait_for(lambda: len(found()) >= count, timeout)
        assert ok, f"no {kind.__name__} {fields} among {[e.kind for e in self.events]}"
        return found()[count - 1]
