"""``assistant run``: one instance, signals, readiness, reload and a clean end."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import signal
import threading
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Protocol

from assistant import config, console
from assistant.config import Config
from assistant.errors import AssistantError, InputFileError, StateError
from assistant.event_log import EventLog, StatusLine
from assistant.events import Event
from assistant.notify import Notifier, Watchdog
from assistant.state import default_dir

if TYPE_CHECKING:
    from assistant.listening import Heard

log = logging.getLogger(__name__)

LOCK_NAME = "service.lock"


class Runnable(Protocol):
    """What the service runs: the pipeline."""

    def run(self, stop: threading.Event, heartbeat: Callable[[], None]) -> None:
        """Works until ``stop`` is set; calls ``heartbeat`` often while all is well."""


class Service:
    """Runs one thing as a service.

    Readiness is reported at its first heartbeat, the watchdog is fed by its heartbeats, SIGTERM
    and SIGINT stop it (a second one ends the process at once), SIGHUP calls ``reload`` between
    two heartbeats.

    Args:
        state_dir: folder that two services must not share; made when it is missing.
        reload: takes over changed settings and returns a line about it.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        reload: Callable[[], str] | None = None,
        notifier: Notifier | None = None,
        watchdog: Watchdog | None = None,
    ) -> None:
        self.stop = threading.Event()
        self.notifier = notifier or Notifier.from_environ()
        self.status = StatusLine(self.notifier.status)
        self._watchdog = watchdog or Watchdog.from_environ(self.notifier)
        self._state_dir = state_dir
        self._reload = reload
        self._reload_wanted = False
        self._is_ready = False

    def run(self, make: Callable[[], Runnable]) -> None:
        """Makes the thing (models are loaded here) and runs it until its end or a signal.

        Raises AssistantError when another service uses the folder, StateError when the folder
        cannot be used, and what ``make`` and the thing raise.
        """
        with instance_lock(self._state_dir), self._signals():
            self.notifier.status("loading models")
            try:
                thing = make()
                if not self.stop.is_set():
                    thing.run(self.stop, self._heartbeat)
            finally:
                self.notifier.stopping()

    def _heartbeat(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self.notifier.ready(self.status.text)
            log.info("ready")
        self._watchdog.beat()
        if self._reload_wanted:
            self._reload_wanted = False
            self._do_reload()

    def _do_reload(self) -> None:
        self.notifier.reloading()
        if self._reload is not None:
            try:
                log.info("%s", self._reload())
            except AssistantError as exc:
                log.error("the settings stay as they were: %s", exc)
        self.notifier.ready(self.status.text)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def end(number: int, frame: FrameType | None) -> None:
            if self.stop.is_set():
                raise KeyboardInterrupt
            self.stop.set()

        def want_reload(number: int, frame: FrameType | None) -> None:
            self._reload_wanted = True

        handlers = {signal.SIGTERM: end, signal.SIGINT: end, signal.SIGHUP: want_reload}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def instance_lock(state_dir: Path) -> Iterator[None]:
    """Held while a service runs; it vanishes with the process, however that ends.

    Raises AssistantError when another process holds it, StateError when the folder cannot be used.
    """
    with _open_lock(state_dir) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            holder = file.read().strip()
            raise AssistantError(
                "service.running",
                f"The assistant is running already{f' (process {holder})' if holder else ''}.",
                f"Stop it first, or set another service.state_dir than {state_dir}.",
            ) from exc
        _write_holder(file, state_dir)
        yield


def _write_holder(file: IO[str], state_dir: Path) -> None:
    try:
        os.ftruncate(file.fileno(), 0)
        os.pwrite(file.fileno(), f"{os.getpid()}\n".encode(), 0)
    except OSError as exc:
        raise StateError(
            "state.folder",
            f"The folder {state_dir} cannot be written: {exc.strerror}.",
            "Make room on the disk, or set service.state_dir to another folder.",
        ) from exc


def running_process(state_dir: Path) -> int | None:
    """Process number of the service on this folder; None when none runs. Raises OSError."""
    try:
        file = (state_dir / LOCK_NAME).open(encoding="ascii")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = file.read().strip()
            return int(text) if text.isdecimal() else 0
    return None


def command(cfg: Config, args: argparse.Namespace) -> int:
    """``assistant run``; the arguments used are audio, config, overrides and json."""
    # Imported here: a wrong command line or a second instance needs no models' machinery.
    from assistant.assembly import Assembly
    from assistant.audio import create_sink, create_source

    events = EventLog(log_speech=cfg.privacy.log_speech, log_every=cfg.metrics.log_every)
    running = cfg
    pipeline = None

    def reload() -> str:
        nonlocal running
        wanted = config.load(args.config, tuple(args.overrides))
        keys = config.changes(running, wanted)
        running = config.take_over(running, wanted)
        events.log_speech = running.privacy.log_speech
        events.log_every = running.metrics.log_every
        logging.getLogger().setLevel(running.service.log_level.upper())
        if pipeline is not None:
            pipeline.cfg = running
        return _about(keys)

    source_cfg = cfg.audio.input
    if args.audio is not None:
        if not args.audio.is_file():
            raise InputFileError("audio.bad_file", f"There is no file {args.audio}.")
        source_cfg = source_cfg.model_copy(update={"backend": "wav", "file": str(args.audio)})
    service = Service(default_dir(cfg.service), reload=reload)
    # A sound card may come later than the boot. Started by hand, one sentence helps more.
    patient = service.notifier.connected
    source = create_source(source_cfg, wait=patient)
    sink = create_sink(cfg.audio.output, wait=patient)
    show = console.Printer(service.stop)

    def print_event(event: Event) -> None:
        show(json.dumps(event.to_dict(), ensure_ascii=False))

    assembly: Assembly | None = None

    def make() -> Runnable:
        nonlocal assembly, pipeline
        assembly = Assembly(cfg, lasting=True)
        assembly.let_go_on(service.stop)
        assembly.bus.subscribe(events)
        assembly.bus.subscribe(service.status)
        if args.json:
            assembly.bus.subscribe(print_event)
        assembly.load()
        for trouble in assembly.troubles:
            assembly.bus.emit(trouble)
        keep = cfg.privacy.keep_audio
        pipeline = assembly.pipeline(
            source, sink, keep_audio=_Keeper(Path(keep).expanduser()) if keep else None
        )
        return pipeline

    try:
        service.run(make)
    finally:
        if assembly is not None:
            assembly.close()
    show.check()
    return 0


def _about(keys: list[str]) -> str:
    live = [key for key in keys if config.is_live(key)]
    later = [key for key in keys if not config.is_live(key)]
    parts = []
    if live:
        parts.append(f"taken over: {', '.join(live)}")
    if later:
        parts.append(f"needs a restart: {', '.join(later)}")
    return "settings read again; " + ("; ".join(parts) or "nothing has changed")


class _Keeper:
    """Writes each utterance into a folder that only its owner can look into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, turn: int, heard: Heard) -> None:
        name = f"{datetime.now():%Y%m%d-%H%M%S}-{turn}.wav"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file, wave.open(file, "wb") as wav:
                wav.setparams((1, 2, 16_000, 0, "NONE", ""))
                wav.writeframes(heard.audio.tobytes())
        except OSError as exc:
            log.warning("the utterance could not be kept in %s: %s", self._folder, exc.strerror)


def _open_lock(state_dir: Path) -> IO[str]:
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(state_dir / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as exc:
        raise StateError(
            "state.folder",
            f"The folder {state_dir} cannot be used: {exc.strerror}.",
            "Set service.state_dir to a folder that this user may write.",
        ) from exc
    return os.fdopen(descriptor, "r+", encoding="ascii")
