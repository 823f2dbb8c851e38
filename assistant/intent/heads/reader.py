"""Reads texts with the language model for their hidden states; nothing is generated."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assistant.errors import LlmError, ModelError, PackageError
from assistant.intent.heads.states import TokenStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvquant import Engine, Session

MAX_TOKENS = 128
"""More of a text is not read; nobody says that much in one breath."""

_CONTEXT = 512
_KEPT_PREFIXES = 4


class Reader:
    """A ``TextStates`` over an engine. Texts are read as a user's message after a system one."""

    def __init__(self, engine: Engine, prefix: str) -> None:
        """prefix: the system message where none is named."""
        self._engine = engine
        self._prefix = prefix
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path, prefix: str, *, threads: int = 2, **kv: Any) -> Reader:
        """With an engine of its own, for training and measuring.

        kv: settings of the KV cache, as ``kvquant.Engine.load`` takes them.

        Raises ModelError (absent, damaged, of an unknown kind), PackageError (the compiled engine
        is not built), LlmError.
        """
        from kvquant import Engine
        from kvquant.errors import (
            BackendMissingError,
            ControllerFileError,
            KvquantError,
            ModelFileError,
        )

        try:
            engine = Engine.load(path, backend="native", n_ctx=_CONTEXT, threads=threads, **kv)
        except (ModelFileError, ControllerFileError) as e:
            raise ModelError(f"llm.{e.code}", e.message, e.hint) from e
        except BackendMissingError as e:
            raise PackageError(f"llm.{e.code}", e.message, e.hint) from e
        except KvquantError as e:
            raise LlmError(f"llm.{e.code}", e.message, e.hint) from e
        return cls(engine, prefix)

    @property
    def fingerprint(self) -> int:
        return self._engine.info.fingerprint

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        """As ``TextStates`` says. Raises LlmError."""
        from kvquant.errors import KvquantError

        begin = len(text) - len(text.lstrip())
        body = text.strip()
        try:
            with self._lock:
                return self._read(body, begin, layers, twice, prefix)
        except KvquantError as e:
            raise LlmError(f"llm.{e.code}", e.message, e.hint) from e

    def close(self) -> None:
        """Frees the engine."""
        self._engine.close()

    def _read(
        self, body: str, begin: int, layers: Sequence[int], twice: bool, prefix: str | None
    ) -> TokenStates:
        encode = self._engine.tokenizer.encode
        session = self._session(self._prefix if prefix is None else prefix)
        gap = encode("\n") if twice else []
        room = (session.n_ctx - session.held - len(gap)) // (1 + twice)
        ids = encode(body)[: min(MAX_TOKENS, room)] if body else []
        if not ids:
            width = self._engine.info.n_embd
            return TokenStates(
                np.zeros((len(layers), 0, width), np.float32), np.zeros((0, 2), np.int64)
            )
        spans = self._spans(body, ids) + begin
        if not twice:
            return TokenStates(session.states(ids, layers, keep=False), spans)
        values = session.states([*ids, *gap, *ids], layers, keep=False)
        return TokenStates(values[:, -len(ids) :], spans)

    def _session(self, prefix: str) -> Session:
        """A session that holds everything before the text; the text is never left in it."""
        held = self._sessions.get(prefix)
        if held is None:
            chat = self._engine.chat
            session = self._engine.session()
            session.prefill([*chat.message("system", prefix), *chat.opening("user")])
            if len(self._sessions) >= _KEPT_PREFIXES:
                self._sessions.clear()
            held = self._sessions[prefix] = session
        return held

    def _spans(self, text: str, ids: Sequence[int]) -> NDArray[np.int64]:
        """(tokens, 2): a token that ends within a character reaches to its end."""
        sizes = [len(self._engine.tokenizer.token_bytes(i)) for i in ids]
        ends = np.cumsum(sizes)
        starts = ends - sizes
        # Where each character begins in UTF-8, as the tokenizer writes it.
        at = np.cumsum([0, *(len(c.encode("utf-8", "replace")) for c in text)])
        first = np.searchsorted(at, starts, side="right") - 1
        return np.stack([first, np.searchsorted(at, ends, side="left")], axis=1)
