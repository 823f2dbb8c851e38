"""One assistant with devices and models that do what the test says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fakes import (
    BeepVoice,
    EventLog,
    HoldingSink,
    LevelVad,
    MarkWake,
    PushSource,
    Script,
    ScriptedRecognizer,
)

from assistant.asr.base import Recognizer
from assistant.config import Config
from assistant.dialogue.history import History
from assistant.dialogue.manager import Manager
from assistant.events import EventBus
from assistant.listening import Listener
from assistant.pipeline import Pipeline
from assistant.ringing import Ringer
from assistant.skills.registry import Registry
from assistant.speaking import Speaker
from assistant.state import Clock, State
from tests.assistant.grammars import loaded
from tests.patience import PATIENCE_S

Piece = str | Exception | Callable[[], str]


class Talker:
    """A language model that says what the test says; a function is called for its words."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces
        self.asked: list[str] = []

    def reply(
        self, user_text: str, *, facts: object, history: object, cancel: threading.Event
    ) -> Iterator[str]:
        self.asked.append(user_text)
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece if isinstance(piece, str) else piece()


class Room:
    """One assistant and everything around it, running in a thread."""

    def __init__(
        self,
        tmp_path: Path,
        texts: list[Script],
        *,
        cfg: Config | None = None,
        source: PushSource | None = None,
        sink: HoldingSink | None = None,
        voice: BeepVoice | None = None,
        talk: list[Piece] | None = None,
        wake: bool = True,
        recognizer: Recognizer | None = None,
    ) -> None:
        cfg = cfg or Config()
        self.log = EventLog()
        self.bus = EventBus()
        self.bus.subscribe(self.log)
        self.sink = sink or HoldingSink()
        # A reader that sets the pace waits for each answer, so only a test that speaks
        # into an answer needs one that does not.
        self.source = source or PushSource(paced=sink is not None)
        self.voice = voice or BeepVoice()
        self.recognizer = recognizer or ScriptedRecognizer(texts)
        self.state = State(tmp_path / "state.db", Clock.system())
        self.registry = Registry.load(cfg, self.state)
        understander = loaded(self.registry.sentence_dirs, cfg.understand)
        self.talker = Talker(talk or ["Cats purr.", " They like it."])
        self.manager = Manager(
            state=self.state,
            registry=self.registry,
            understander=understander,
            llm=self.talker,  # type: ignore[arg-type]
            history=History(cfg.dialogue),
            now=self.state.clock.now,
            emit=self.bus.emit,
        )
        self.listener = Listener(
            cfg,
            vad=LevelVad(),
            recognizer=self.recognizer,
            understand=self.manager.understand,
            emit=self.bus.emit,
        )
        speaker = Speaker(self.voice, self.sink, self.bus.emit)
        self.ringer = Ringer(cfg.skills.timer, self.registry.scheduler)
        self.pipeline = Pipeline(
            cfg,
            source=self.source,
            wake=MarkWake() if wake else None,
            listener=self.listener,
            speaker=speaker,
            manager=self.manager,
            ringer=self.ringer,
            bus=self.bus,
        )
        self.stop = threading.Event()
        self.error: Exception | None = None
        self.beats = 0
        self.last_beat = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.pipeline.run(self.stop, self._beat)
        except Exception as error:
            self.error = error

    def _beat(self) -> None:
        self.beats += 1
        self.last_beat = time.monotonic()

    def end(self) -> None:
        self.stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self.listener.close()
        self.ringer.close()
        self.state.close()

    def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE_S) -> bool:
        """Waits until something that no event tells is so."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def beats_stop(self, timeout: float = PATIENCE_S) -> bool:
        """Waits for a second without a heartbeat."""
        return self.wait_for(lambda: time.monotonic() - self.last_beat > 1.0, timeout)

    def hear_all(self) -> None:
        """Waits until what was pushed has been heard, and what follows from it done."""
        assert self.wait_for(lambda: self.source.empty)
        before = self.beats
        assert self.wait_for(lambda: self.beats > before + 5)

    def command(self, *, wake: bool = True) -> None:
        """Wake word, a pause, a second of speech, silence."""
        if wake:
            self.source.wake()
        self.source.quiet(0.3)
        self.source.say(1.0)
        self.source.quiet(2.0)
