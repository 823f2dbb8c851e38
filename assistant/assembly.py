"""Builds the parts that the configuration names and puts them together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from assistant import asr, home, intent, tts, vad, wake
from assistant.audio.base import AudioSink, AudioSource
from assistant.config import Config
from assistant.dialogue.history import History
from assistant.dialogue.llm import LanguageModel
from assistant.dialogue.manager import Manager
from assistant.dialogue.use_log import UseLog
from assistant.errors import LlmError, MissingError
from assistant.events import EventBus, Trouble
from assistant.expected import Expected
from assistant.home.base import Snapshot
from assistant.intent.base import Understander
from assistant.intent.chain import Chain
from assistant.intent.grammar import Grammar
from assistant.intent.heads.heads import SHIPPED, Heads
from assistant.intent.heads.remembered import Remembered
from assistant.intent.home_grammar import HomeGrammar
from assistant.intent.own.finish import Finish
from assistant.intent.taught.addon import LAYERS
from assistant.intent.taught.taught import Taught
from assistant.listening import Heard, Listener
from assistant.pipeline import Pipeline
from assistant.ringing import Ringer
from assistant.skills.media.players import MEDIA_INTENTS
from assistant.skills.registry import Registry
from assistant.speaking import Speaker, built_in
from assistant.state import FILE_NAME, Clock, State, default_dir
from assistant.tts.base import Speech, Voice

log = logging.getLogger(__name__)

TAUGHT_FILE = "taught.head"
"""In the folder of the state: what ``assistant teach`` has learnt."""

HOME_S = 5.0
"""Longest wait for the devices of the home; what comes later is known from then on."""


class Assembly:
    """The parts of one assistant; made once, used by one pipeline at a time.

    troubles: what does not work while the rest does; for the caller to show.
    """

    def __init__(self, cfg: Config, *, clock: Clock | None = None, lasting: bool = False) -> None:
        """Opens the state and the skills; models are loaded when they are first needed.

        lasting: it is the service, which says in the home that it is there.

        Raises StateError (no folder at all, or a file of a newer version), IntentError.
        """
        self.cfg = cfg
        self.bus = EventBus()
        self.clock = clock or Clock.system()
        self.state = State.kept(default_dir(cfg.service) / FILE_NAME, self.clock)
        self.home = home.create(cfg.home)
        if self.home is not None:
            if lasting:
                self.home.announce()
            self.home.start()
        self.registry = Registry.load(cfg, self.state, self.home)
        self.llm = self._language_model()
        self._states = Remembered(self.llm, LAYERS) if self.llm is not None else None
        self.heads = self._heads()
        self.understander = Chain(self._understanders())
        self.manager = Manager(
            state=self.state,
            registry=self.registry,
            understander=self.understander,
            llm=self.llm,
            history=History(cfg.dialogue),
            now=self.clock.now,
            emit=self.bus.emit,
            use_log=self._use_log(),
        )
        self.troubles = [
            Trouble(code=self.state.warning_code, message=warning)
            for warning in self.state.warnings
        ]
        self.troubles += self.registry.troubles
        self._closed = False
        self._voice: Voice | None = None
        self._listener: Listener | None = None
        self.expected = Expected(
            [link.spoken for link in self.understander.links if isinstance(link, Grammar)],
            self.home.snapshot if self.home is not None else None,
            [word.replace("_", " ") for word in cfg.wake.words if word.replace("_", "").isalpha()],
        )

    def _use_log(self) -> UseLog | None:
        path = self.cfg.privacy.keep_log
        return UseLog(Path(path).expanduser(), self.bus.emit) if path else None

    def _understanders(self) -> list[Understander]:
        """From the surest to the one that is left to guess."""
        grammar = intent.create(self.cfg.understand, self.registry.sentence_dirs, self.clock.now)
        links: list[Understander] = [grammar]
        if self.home is not None:
            links.append(HomeGrammar(self.home.snapshot, self.clock.now))
        elif self.cfg.skills.media.mpd.host:
            # "pause" and "next song" stand in the same sentences as what is said to a home.
            links.append(HomeGrammar(Snapshot))
        taught = default_dir(self.cfg.service) / TAUGHT_FILE
        if taught.is_file():
            links.append(Taught(taught, self._states))
        if self.heads is not None:
            links.append(self.heads)
        return links

    def _heads(self) -> Heads | None:
        given = self.cfg.understand.head
        path = Path(given).expanduser() if given else SHIPPED
        if self._states is None or given == "off" or not (given or path.exists()):
            return None
        finish = Finish(
            self.home.snapshot if self.home is not None else None,
            MEDIA_INTENTS if self.cfg.skills.media.mpd.host else (),
        )
        return Heads(path, self._states, min_score=self.cfg.understand.min_score, finish=finish)

    def _language_model(self) -> LanguageModel | None:
        if not self.cfg.llm.enabled:
            return None
        return LanguageModel(self.cfg.llm, self.cfg.dialogue, models_dir=self.models_dir)

    @property
    def models_dir(self) -> Path | None:
        given = self.cfg.service.models_dir
        return Path(given).expanduser() if given else None

    def load(self, *, sound: bool = True, talk: bool = True) -> None:
        """Loads the models side by side. Raises the first ModelError or PackageError.

        Without its language model the assistant still does what it is told; why it does
        not talk is added to ``troubles``.
        """
        jobs: list[Callable[[], object]] = [self.understander.load, self._load_home]
        if sound:
            jobs += [self.voice, self.listener]
        if talk:
            jobs.append(self._load_talk)
        with ThreadPoolExecutor(len(jobs)) as pool:
            futures: list[Future[object]] = [pool.submit(job) for job in jobs]
        for future in futures:
            future.result()
        if sound:
            self.listener().prepare()

    def _load_home(self) -> None:
        """Waits for the names of the devices; without them the rest works."""
        if self.home is None:
            return
        self.home.settle(HOME_S)
        trouble = self.home.trouble()
        if trouble:
            self.troubles.append(Trouble(code="home.away", message=trouble, hint=self.home.hint()))

    def let_go_on(self, stop: threading.Event) -> None:
        """Has whatever waits for the home end as soon as ``stop`` is set."""
        if self.home is not None:
            threading.Thread(target=self._let_go, args=(stop,), name="stop", daemon=True).start()

    def _let_go(self, stop: threading.Event) -> None:
        while not stop.wait(0.5):
            if self._closed:
                return
        if self.home is not None:
            self.home.close()

    def _load_talk(self) -> None:
        if self.llm is None:
            return
        try:
            self.llm.load()
        except (MissingError, LlmError) as error:
            self.manager.talk_error = error
            message = f"It cannot chat, only do commands: {error.message}"
            self.troubles.append(Trouble(code=error.code, message=message, hint=error.hint))
            return
        try:
            if self.heads is not None:
                self.heads.load()
                self.heads.warm_up()
        except (MissingError, LlmError) as error:
            message = f"It understands commands in their usual words only: {error.message}"
            self.troubles.append(Trouble(code=error.code, message=message, hint=error.hint))

    def voice(self) -> Voice:
        """The loaded voice."""
        if self._voice is None:
            voice = tts.create(self.cfg.tts, models_dir=self.models_dir)
            voice.load()
            self._voice = voice
        return self._voice

    def listener(self) -> Listener:
        """The loaded ear: voice activity and speech recognition."""
        if self._listener is None:
            detector = vad.create(self.cfg.vad, models_dir=self.models_dir)
            detector.load()
            recognizer = asr.create(self.cfg.asr, models_dir=self.models_dir)
            recognizer.load()
            self._listener = Listener(
                self.cfg,
                vad=detector,
                recognizer=recognizer,
                understand=self.manager.understand,
                emit=self.bus.emit,
                expected=self.expected,
            )
        return self._listener

    def pipeline(
        self,
        source: AudioSource,
        sink: AudioSink,
        *,
        use_wake: bool = True,
        record: Callable[[int, Speech], None] | None = None,
        keep_audio: Callable[[int, Heard], None] | None = None,
    ) -> Pipeline:
        """A pipeline over these parts for one source and one sink."""
        detector = wake.create(self.cfg.wake, models_dir=self.models_dir) if use_wake else None
        if detector is not None:
            detector.load()
        speaker = Speaker(
            self.voice(),
            sink,
            self.bus.emit,
            speed=self.cfg.tts.speed,
            pause_ms=self.cfg.tts.sentence_pause_ms,
            fallback=built_in("error"),
        )
        return Pipeline(
            self.cfg,
            source=source,
            wake=detector,
            listener=self.listener(),
            speaker=speaker,
            manager=self.manager,
            ringer=Ringer(self.cfg.skills.timer, self.registry.scheduler),
            bus=self.bus,
            record=record,
            keep_audio=keep_audio,
        )

    def close(self) -> None:
        """Frees the models and closes the state."""
        self._closed = True
        if self._listener is not None:
            self._listener.close()
        if self._voice is not None:
            self._voice.close()
        if self.llm is not None:
            self.llm.close()
        self.registry.close()
        if self.home is not None:
            self.home.close()
        self.state.close()
