"""Talk by the language model; the only file that knows the engine."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.config import DialogueConfig, KvConfig, LlmConfig
from assistant.dialogue.doubt import NOT_SURE, Surety, asks_fact
from assistant.dialogue.history import Exchange, History, fitting
from assistant.dialogue.prompts import EXAMPLES, as_written, system_text
from assistant.dialogue.speakable import repeats, speakable
from assistant.errors import LlmError, ModelError, PackageError
from assistant.intent.heads.reader import Reader
from assistant.intent.heads.states import TokenStates
from assistant.models import path_of

if TYPE_CHECKING:
    from kvquant import Engine, Sampling, Session
    from kvquant.kv_size import KvSize

log = logging.getLogger(__name__)

_POLL_S = 0.05
"""How soon a cancelled reply ends, even when the model is stuck."""

_LET_GO_S = 5.0
"""A cancelled run ends after the token or the piece of the prompt that it is at."""

_COMPUTED_ANEW = 64
"""So many tokens of a prompt are rather computed again than cut out of a quantized cache."""

_ROLE_STOPS = ("\nUser:", "\nuser:", "\nuser\n", "\nHuman:", "\nAssistant:", "\nassistant\n")
"""Where a small model goes on with the other side of the conversation, spelled out."""


class LanguageModel:
    """One loaded model with one conversation in its KV cache. One reply at a time."""

    def __init__(
        self, llm: LlmConfig, dialogue: DialogueConfig, *, models_dir: Path | None = None
    ) -> None:
        self._llm = llm
        self._dialogue = dialogue
        self._models_dir = models_dir
        self._engine: Engine | None = None
        self._session: Session | None = None
        self._beginning: tuple[list[int], bytes] | None = None
        self._worker: _Worker | None = None
        self._reads: Reader | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Loads the model and computes the part of the prompt that never changes.

        Raises ModelError (absent, damaged, of an unknown kind), PackageError (the engine that
        the configuration names is not built), LlmError.
        """
        with self._lock:
            if self._engine is None:
                start = time.monotonic()
                self._engine = self._load_engine()
                self._session = self._engine.session()
                self._warm_up(self._engine, self._session)
                info = self._engine.info
                log.info(
                    "language model %s by the %s engine (%s) in %.1f s, its KV cache is %s",
                    info.name, info.backend, info.isa, time.monotonic() - start,
                    self._llm.kv.mode,
                )  # fmt: skip

    def reply(
        self,
        user_text: str,
        facts: Sequence[str] = (),
        history: History | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[str]:
        """The answer, sentence by sentence while it is generated.

        facts: sentences about the present, for the system message.
        history: the conversation so far; as much of it as fits is used, nothing is added.
        cancel: ends the answer at once, silently.

        Of the answer to a question of fact only what the model is sure of is told. Where the
        answer has reached its greatest length, it ends with its last whole sentence; it has at
        most ``dialogue.max_sentences``.

        Raises ModelError, PackageError when the model must still be loaded; LlmError when
        the text is too long, when no word comes within ``dialogue.timeout_s``, or when the
        model fails. After that the next reply works again as soon as the model does.
        """
        self.load()
        assert self._engine is not None
        cancel = cancel or threading.Event()
        exchanges = history.exchanges() if history is not None else ()
        # What was said before may hold the answer ("what is my name"); that is not doubted.
        if self._dialogue.double_check and not exchanges and asks_fact(user_text):
            yield from self._surely(self._engine, user_text, facts, cancel)
            return
        sentences = self._attempt(self._engine, user_text, facts, exchanges, cancel)
        first = next(sentences, None)
        if first is not None and repeats(first, exchanges):
            # A small model sticks to what it once said. Alone, the question gets its answer.
            sentences.close()
            sentences = self._attempt(self._engine, user_text, facts, (), cancel)
            first = next(sentences, None)
        if first is not None:
            yield first
            yield from sentences

    def _surely(
        self, engine: Engine, question: str, facts: Sequence[str], cancel: threading.Event
    ) -> Iterator[str]:
        """The sentences of the answer before the first one that it is not sure of."""
        surety = Surety(question)
        sentences = self._attempt(engine, question, facts, EXAMPLES, cancel, surety)
        told = False
        for sentence in sentences:
            if not surety.holds(sentence):
                break
            told = True
            yield sentence
        sentences.close()
        if not told and not cancel.is_set():
            yield NOT_SURE

    @property
    def fingerprint(self) -> int:
        """Of the weights. Raises as ``load`` does."""
        return self._reader().fingerprint

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        """Hidden states, as ``assistant.intent.heads.states.TextStates`` says.

        The conversation is not touched. Raises as ``load`` does, and LlmError.
        """
        return self._reader().states(text, layers, twice, prefix)

    def _reader(self) -> Reader:
        self.load()
        with self._lock:
            if self._engine is None:
                raise LlmError("llm.closed", "The language model was closed.")
            if self._reads is None:
                self._reads = Reader(self._engine, self._dialogue.system_prompt)
            return self._reads

    def close(self) -> None:
        """Frees the model and ends a reply that is still running. May be called twice."""
        with self._lock:
            worker, engine = self._worker, self._engine
            self._worker = self._engine = self._session = self._beginning = None
            self._reads = None
            if worker is not None:
                worker.cancel.set()
                worker.join(_LET_GO_S)
                if worker.is_alive():
                    # Its memory goes when it lets go; taken away now, it would crash.
                    log.warning("the language model is stuck and is left behind")
                    return
            if engine is not None:
                engine.close()

    def _load_engine(self) -> Engine:
        from kvquant import Engine
        from kvquant.errors import (
            BackendMissingError,
            ControllerFileError,
            KvquantError,
            ModelFileError,
        )

        path = path_of(self._llm.model, self._models_dir)
        try:
            return Engine.load(
                path,
                backend=self._llm.backend,
                n_ctx=self._llm.context,
                threads=self._llm.threads,
                **_kv_settings(self._llm.kv),
            )
        except (ModelFileError, ControllerFileError) as e:
            raise ModelError(f"llm.{e.code}", e.message, e.hint) from e
        except BackendMissingError as e:
            raise PackageError(f"llm.{e.code}", e.message, e.hint) from e
        except KvquantError as e:
            raise LlmError(f"llm.{e.code}", e.message, e.hint) from e

    def _warm_up(self, engine: Engine, session: Session) -> None:
        """The system message up to where the facts begin."""
        whole = engine.chat.message("system", self._dialogue.system_prompt)
        tokens = whole[: engine.n_ctx]
        session.prefill(tokens)
        if self._llm.kv.mode != "fp16" and engine.info.backend == "native":
            self._beginning = (tokens, session.snapshot())

    def _rewind(self, session: Session, prompt: list[int]) -> None:
        """Goes back to the system message where the prompt shares little more with the session.

        A quantized cache that is cut back has lost the 16 bits of its newest tokens; the copy of
        the beginning has them, so that an answer does not depend on what was asked before.
        """
        if self._beginning is None:
            return
        tokens, saved = self._beginning
        held = session.tokens
        pairs = zip(held, prompt, strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        if len(tokens) <= shared < min(len(held), len(tokens) + _COMPUTED_ANEW):
            session.restore(saved)

    def _attempt(
        self,
        engine: Engine,
        user_text: str,
        facts: Sequence[str],
        exchanges: Sequence[Exchange],
        cancel: threading.Event,
        surety: Surety | None = None,
    ) -> Generator[str]:
        """One run of the model over the conversation and the text."""
        assert self._session is not None
        self._wait_for_the_last(cancel)
        if cancel.is_set():
            return
        prompt = self._prompt(engine, user_text, facts, exchanges)
        self._rewind(self._session, prompt)
        worker = _Worker(self._session, prompt, self._dialogue, engine, surety)
        self._worker = worker
        try:
            pieces = self._read(worker, cancel)
            yield from speakable(pieces, worker, self._dialogue.max_sentences)
        finally:
            worker.cancel.set()

    def _wait_for_the_last(self, cancel: threading.Event) -> None:
        """Waits until the reply before has let go of the session."""
        if self._worker is None:
            return
        self._worker.cancel.set()
        end = time.monotonic() + _LET_GO_S
        while self._worker.is_alive() and not cancel.is_set():
            if time.monotonic() > end:
                raise LlmError("llm.busy", "The language model is still busy.")
            self._worker.join(_POLL_S)
        if not self._worker.is_alive():
            self._worker = None

    def _prompt(
        self,
        engine: Engine,
        user_text: str,
        facts: Sequence[str],
        exchanges: Sequence[Exchange],
    ) -> list[int]:
        user_text = as_written(user_text)
        system = ("system", system_text(self._dialogue.system_prompt, facts))
        room = engine.n_ctx - self._dialogue.max_tokens
        room -= len(engine.chat_prompt([system, ("user", user_text)]))
        if room < 0:
            raise LlmError("llm.too_long", "That is too long for me.")

        def size(exchange: Exchange) -> int:
            return len(engine.chat.message("user", exchange.user)) + len(
                engine.chat.message("assistant", exchange.assistant)
            )

        messages = [system]
        for exchange in fitting(exchanges, room, size):
            messages += [
                ("user", as_written(exchange.user)),
                ("assistant", exchange.assistant),
            ]
        return engine.chat_prompt([*messages, ("user", user_text)])

    def _read(self, worker: _Worker, cancel: threading.Event) -> Iterator[str]:
        """The worker's pieces; watches the time between them and the caller's wish to stop."""
        worker.start()
        while True:
            end = time.monotonic() + self._dialogue.timeout_s
            piece: str | Exception | None = None
            while True:
                if cancel.is_set():
                    return
                try:
                    piece = worker.pieces.get(timeout=_POLL_S)
                    break
                except queue.Empty:
                    if time.monotonic() > end:
                        raise LlmError(
                            "llm.timeout", "The language model did not answer in time."
                        ) from None
            if piece is None:
                return
            if isinstance(piece, Exception):
                raise _as_llm_error(piece) from piece
            yield piece


class _Worker(threading.Thread):
    """Generates one reply into a queue, so that a stuck model cannot hold its reader.

    pieces: text, then None at the end or the exception that ended it.
    cut: True when the reply has reached its greatest length; valid after None.
    """

    def __init__(
        self,
        session: Session,
        prompt: list[int],
        cfg: DialogueConfig,
        engine: Engine,
        surety: Surety | None,
    ) -> None:
        """surety: notes how sure the model is of each token; it then says what is likeliest."""
        # A daemon: a stuck model must not keep the program from ending.
        super().__init__(name="llm", daemon=True)
        self.pieces: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self.cancel = threading.Event()
        self.cut = False
        self._session = session
        self._prompt = prompt
        self._cfg = cfg
        self._engine = engine
        self._surety = surety

    def run(self) -> None:
        surety = self._surety
        try:
            for token in self._session.generate(
                self._prompt,
                max_new_tokens=self._cfg.max_tokens,
                sampling=_sampling(self._cfg) if surety is None else None,
                stop_texts=_ROLE_STOPS,
                cancel=self.cancel,
                # without a mask the logits of all tokens are there to be looked at
                allowed=self._engine.text_mask() if surety is None else None,
            ):
                if surety is not None:
                    surety.add(token.text, _log_probability(self._session, token.id))
                self.pieces.put(token.text)
            self.cut = self._session.finish in ("length", "context")
        except Exception as e:  # handed to the reader, which raises it
            self.pieces.put(e)
        else:
            self.pieces.put(None)


def cache_size(llm: LlmConfig, models_dir: Path | None = None) -> KvSize:
    """What the configured KV cache takes when the context is full.

    Raises ModelError (no model, or a controller that cannot be used), LlmError.
    """
    from kvquant.errors import ControllerFileError, KvquantError, ModelFileError
    from kvquant.kv_size import expected

    path = path_of(llm.model, models_dir)
    try:
        return expected(path, llm.context, **_kv_settings(llm.kv))
    except (ModelFileError, ControllerFileError) as e:
        raise ModelError(f"llm.{e.code}", e.message, e.hint) from e
    except KvquantError as e:
        raise LlmError(f"llm.{e.code}", e.message, e.hint) from e


def _kv_settings(kv: KvConfig) -> dict[str, Any]:
    """Keywords of the engine; a kind gets only the settings that it has."""
    if kv.mode == "fp16":
        return {"kv": kv.mode}
    settings: dict[str, Any] = {
        "kv": kv.mode, "window": kv.window, "sinks": kv.sinks, "key_layout": kv.key_layout
    }  # fmt: skip
    if kv.mode == "adaptive":
        settings |= {"budget_bits": kv.budget_bits, "controller": kv.controller}
    return settings


def _log_probability(session: Session, token: int) -> float:
    """Of the token that was just chosen."""
    import numpy as np

    logits = session.logits()
    return float(logits[token] - np.logaddexp.reduce(logits, dtype=np.float64))


def _sampling(cfg: DialogueConfig) -> Sampling:
    from kvquant import Sampling

    return Sampling(
        temperature=cfg.temperature,
        top_k=cfg.top_k,
        top_p=cfg.top_p,
        repetition_penalty=cfg.repetition_penalty,
        seed=cfg.seed,
    )


def _as_llm_error(error: Exception) -> LlmError:
    from kvquant import KvquantError

    if isinstance(error, KvquantError):
        return LlmError(f"llm.{error.code}", error.message, error.hint)
    log.error("the language model failed", exc_info=error)
    return LlmError("llm.failed", "The language model failed.")
