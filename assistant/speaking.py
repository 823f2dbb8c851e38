"""From pieces of text to sound: sentence by sentence, while the next is being written."""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

from assistant.audio.base import AudioSink
from assistant.audio.chime import RATE, Sound, chime
from assistant.errors import AssistantError, TtsError
from assistant.events import Event, Reply, SpeakingEnded, SpeakingStarted, Trouble
from assistant.tts.base import Speech, Voice
from assistant.tts.pauses import pause_after, silence
from assistant.tts.text import Chunk, SpokenStream, spoken_chunks

log = logging.getLogger(__name__)

WRITE_SECONDS = 0.1
"""Sound goes to the sink in pieces of this length, so that an interruption is prompt."""

RECENT_CHUNKS = 3
"""Pieces of the answer that may still be on their way to the speaker, the last one included."""


@dataclass(frozen=True, slots=True)
class Said:
    """text: what was said, as text; interrupted: it was cut short, or the speaker was lost."""

    text: str
    interrupted: bool


def built_in(sound: Sound) -> Speech:
    """One of the built-in sounds."""
    return Speech(chime(sound), RATE)


class Speaker:
    """Speaks one answer at a time through one voice and one sink."""

    def __init__(
        self,
        voice: Voice,
        sink: AudioSink,
        emit: Callable[[Event], None],
        *,
        speed: float = 1.0,
        pause_ms: int = 250,
        fallback: Speech | None = None,
    ) -> None:
        """fallback: the sound that stands in for a sentence that could not be spoken."""
        self.voice = voice
        self.sink = sink
        self.emit = emit
        self.speed = speed
        self.pause_ms = pause_ms
        self.fallback = fallback
        self.alive: Callable[[], None] = lambda: None
        """Called for every piece of sound that went out: who speaks is not stuck."""
        self._recent: deque[str] = deque(maxlen=RECENT_CHUNKS)
        self._prepared: tuple[str, float, Future[list[Speech]]] | None = None
        self._lock = threading.Lock()
        self._speaking: threading.Event | None = None
        """The ``cancel`` of what sounds now; None when whoever cut it has seen to the sink."""

    @property
    def saying(self) -> str:
        """What is being said around now (or was last), as text; "" before the first word."""
        return " ".join(self._recent)

    def say(
        self,
        pieces: Iterable[str],
        *,
        cancel: threading.Event,
        turn: int = 0,
        record: Callable[[Speech], None] | None = None,
    ) -> Said:
        """Speaks until the pieces end or ``cancel`` is set; returns when the last
        sample has left the speaker.

        An error raised by ``pieces`` is raised here, after what came before it was spoken.
        ``record`` receives every piece of sound as well.
        """
        self._recent.clear()
        self._begin(cancel)
        spoken: list[str] = []
        failure: AssistantError | None = None
        chunks = _Chunks(pieces, cancel)
        pause: Speech | None = None
        started = False

        def write(speech: Speech) -> None:
            nonlocal started
            on_start = None if started else lambda t: self.emit(SpeakingStarted(turn=turn, t=t))
            started = True
            if record is not None:
                record(speech)
            self._write(speech, cancel, on_start)

        try:
            for chunk in chunks:
                spoken.append(chunk.text)
                self._recent.append(chunk.text)
                self.emit(Reply(turn=turn, text=chunk.text))
                for speech in self._synthesize(chunk, turn):
                    if pause is not None:
                        write(pause)
                        pause = None
                    write(speech)
                    if cancel.is_set():
                        break
                    pause = silence(
                        pause_after(chunk.spoken, chunk.ends, self.pause_ms), speech.rate
                    )
                if cancel.is_set():
                    break
        except AssistantError as error:
            failure = error
        finally:
            interrupted = self._finish(cancel)
        if started:
            self.emit(SpeakingEnded(turn=turn, interrupted=interrupted))
        if failure is not None:
            raise failure
        return Said(text=" ".join(spoken), interrupted=interrupted)

    def prepare(self, text: str, speed: float) -> None:
        """Has the voice ready for an answer that may begin with this sentence; nothing sounds."""
        chunk = next(iter(spoken_chunks(text)), None)
        if chunk is None:
            return
        sound: Future[list[Speech]] = Future()
        self._prepared = (chunk.spoken, speed, sound)
        try:
            sound.set_result(list(self.voice.synthesize(chunk.spoken, speed=speed)))
        except Exception as error:
            sound.set_exception(error)

    def play(self, speech: Speech) -> None:
        """Queues a sound such as a chime and returns at once."""
        self.sink.write(speech.samples, speech.rate)

    def play_through(self, speech: Speech, cancel: threading.Event) -> None:
        """Plays a sound; returns at its end or when ``cancel`` is set."""
        self._begin(cancel)
        try:
            self._write(speech, cancel)
        finally:
            self._finish(cancel)

    def interrupt(self, cancel: threading.Event) -> None:
        """Sets ``cancel`` and silences the speaker; nothing of the old is written after that.

        So what the caller plays next is neither mixed with the old nor cut by its end.
        """
        cancel.set()
        self.sink.flush()  # lets go of a write that waits for room
        with self._lock:
            self.sink.flush()
            self._speaking = None

    def _begin(self, cancel: threading.Event) -> None:
        with self._lock:
            if not cancel.is_set():
                self._speaking = cancel

    def _write(
        self,
        speech: Speech,
        cancel: threading.Event,
        on_start: Callable[[float], None] | None = None,
    ) -> None:
        step = max(1, int(speech.rate * WRITE_SECONDS))
        for begin in range(0, len(speech.samples), step):
            with self._lock:
                if cancel.is_set():
                    return
                self.sink.write(speech.samples[begin : begin + step], speech.rate, on_start)
            on_start = None
            self.alive()

    def _finish(self, cancel: threading.Event) -> bool:
        heard = not cancel.is_set() and self.sink.drain(cancel=cancel) and not cancel.is_set()
        with self._lock:
            if cancel.is_set() and self._speaking is cancel:
                self.sink.flush()
            self._speaking = None
        return not heard

    def _synthesize(self, chunk: Chunk, turn: int) -> Iterator[Speech]:
        prepared, self._prepared = self._prepared, None
        try:
            if prepared is not None and prepared[:2] == (chunk.spoken, self.speed):
                yield from prepared[2].result()
            else:
                yield from self.voice.synthesize(chunk.spoken, speed=self.speed)
        except Exception as error:
            if not isinstance(error, TtsError):
                log.exception("the voice failed")
                error = TtsError("tts.failed", "The voice failed.")
            log.warning("the voice failed: %s", error)
            self.emit(Trouble(turn=turn, code=error.code, message=error.message, hint=error.hint))
            if self.fallback is not None:
                yield self.fallback


class _Chunks:
    """Runs the text side in a thread of its own, so that it is ahead of the voice."""

    def __init__(self, pieces: Iterable[str], cancel: threading.Event) -> None:
        self._queue: queue.Queue[Chunk | BaseException | None] = queue.Queue()
        self._cancel = cancel
        self._thread = threading.Thread(
            target=self._produce, args=(iter(pieces),), name="text", daemon=True
        )
        self._thread.start()

    def _produce(self, pieces: Iterator[str]) -> None:
        stream = SpokenStream()
        end: BaseException | None = None
        try:
            for piece in pieces:
                if self._cancel.is_set():
                    break
                for chunk in stream.feed(piece):
                    self._queue.put(chunk)
        except BaseException as error:
            end = error
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        if not self._cancel.is_set():
            for chunk in stream.finish():
                self._queue.put(chunk)
        self._queue.put(end)

    def __iter__(self) -> Iterator[Chunk]:
        while not self._cancel.is_set():
            try:
                item = self._queue.get(timeout=0.05)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
