"""A session: one KV cache, the tokens it holds, and generation over it."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvquant.config import ModelInfo, Sampling, Token
from kvquant.errors import BackendError, ContextError, SettingError, SnapshotError
from kvquant.generation import Finish, Generation, Request
from kvquant.session_report import SessionReport
from kvquant.steps import Cancelled, Steps
from kvquant.token_text import AnyTokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvquant.steps import Mask

_MAX_SNAPSHOT = 1 << 34
"""Bytes; more than any context takes."""


class Session(SessionReport):
    """Used by one thread at a time. Made by ``Engine.session``.

    A context that is full is an error for a prompt (ContextError) and ends a generation (finish
    "context"); nothing slides out silently, since the system prompt would be the first to go.
    Only in an engine that was told to slide, a generation goes on over the newer three quarters.

    finish: why the last generation ended: a stop token ("stop"), a stop text, the number of
        tokens asked for ("length"), a full context, or it was cancelled or given up by its
        reader; None before and while it runs.
    """

    def __init__(
        self,
        tokenizer: AnyTokenizer,
        info: ModelInfo,
        steps: Steps,
        *,
        n_ctx: int,
        chunk: int,
        is_open: Callable[[], bool],
        slides: bool = False,
    ) -> None:
        self._tokenizer = tokenizer
        self.info = info
        self._steps = steps
        self._chunk = chunk
        self._is_open = is_open
        self._slides = slides
        self._tokens: list[int] = []
        self.n_ctx = n_ctx
        self.finish: Finish | None = None
        self._texts_begun = 0

    @property
    def tokens(self) -> list[int]:
        """What the cache holds; a copy."""
        return list(self._tokens)

    @property
    def held(self) -> int:
        """How many tokens the cache holds."""
        return len(self._tokens)

    @property
    def chunk(self) -> int:
        """Tokens of a prompt that are computed in one pass."""
        return self._chunk

    def prefill(self, tokens: Sequence[int], cancel: threading.Event | None = None) -> int:
        """Makes the cache hold exactly these tokens.

        The part that it already holds from the start on is kept, the rest computed in chunks.
        When ``cancel`` is set, the cache holds a shorter part; the native engine looks at it every
        20 ms, the reference between chunks.

        Returns how many tokens were computed. Raises ContextError when there are none or too
        many, SettingError when one is not a token of the model, BackendError.
        """
        return self._prefill(self.checked(tokens), cancel, None)

    def _prefill(
        self, ids: list[int], cancel: threading.Event | None, allowed: Sequence[int] | None
    ) -> int:
        common = self._common(ids)
        if common == len(ids) == len(self._tokens) and self._steps.has_logits:
            return 0
        # The logits after the last token are wanted, so that token at least is computed.
        start = min(common, len(ids) - 1)
        computed = 0
        try:
            for at in range(start, len(ids), self._chunk):
                if cancel is not None and cancel.is_set():
                    self.truncate(at)
                    break
                piece = ids[at : at + self._chunk]
                last = at + len(piece) == len(ids)
                self._append(piece, at, last=last, allowed=allowed, cancel=cancel)
                computed += len(piece)
        except Cancelled:
            pass
        return computed

    def logits(self) -> NDArray[np.float32]:
        """Logits after the last token, (n_vocab,). Raises ContextError in an empty session."""
        if not self._tokens:
            raise ContextError("context.empty", "There is no token to go on from.")
        if not self._steps.has_logits:
            self._append(self._tokens[-1:], len(self._tokens) - 1, last=True)
        return self._steps.logits()

    def truncate(self, n: int) -> None:
        """Keeps the first n tokens; all of them when there are fewer."""
        self._check_open()
        if n < 0:
            raise SettingError("context.range", f"A session cannot keep {n} tokens.")
        if n < len(self._tokens):
            del self._tokens[n:]
            self._steps.truncate(n)

    def snapshot(self) -> bytes:
        """The tokens and their cache, for ``restore`` in any session of the same model.

        Raises BackendError when the backend cannot (the reference).
        """
        self._check_open()
        return self._steps.snapshot()

    def restore(self, data: bytes) -> list[int]:
        """Takes the snapshot's place and returns its tokens.

        Raises SnapshotError when it belongs to another model or format, is damaged or holds more
        than this context; the session is then as before. BackendError as for ``snapshot``.
        """
        self._check_open()
        self._tokens = self._steps.restore(data)
        return self.tokens

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a snapshot to a file, whole or not at all. Raises SnapshotError, BackendError."""
        data = self.snapshot()
        part = Path(f"{os.fspath(path)}.{os.getpid()}.part")
        try:
            try:
                with part.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as e:
            raise SnapshotError(
                "snapshot.file", f"The cache cannot be saved in {path}: {e.strerror or e}."
            ) from e

    def load(self, path: str | os.PathLike[str]) -> list[int]:
        """``restore`` from a file of ``save``. Raises SnapshotError, BackendError."""
        try:
            with Path(path).open("rb") as file:
                if os.fstat(file.fileno()).st_size > _MAX_SNAPSHOT:
                    raise SnapshotError("snapshot.refused", f"{path} is no saved cache.")
                data = file.read()
        except OSError as e:
            raise SnapshotError(
                "snapshot.file", f"The saved cache {path} cannot be read: {e.strerror or e}."
            ) from e
        return self.restore(data)

    def generate(
        self,
        prompt_tokens: Sequence[int],
        *,
        max_new_tokens: int,
        sampling: Sampling | None = None,
        stop_tokens: Sequence[int] | None = None,
        stop_texts: Sequence[str] = (),
        cancel: threading.Event | None = None,
        allowed: Mask | None = None,
    ) -> Iterator[Token]:
        """Continues the prompt, token by token; ``finish`` says in the end why it ended.

        max_new_tokens: at most so many; it also ends when the context is full.
        sampling: greedy by default. The repetition penalty looks at new tokens, not at the
            prompt, which holds facts to repeat and the marker that ends a turn.
        stop_tokens: end the text and are not yielded; by default those that end a turn or a
            text. When text was held back as the possible beginning of a stop text, the stop
            token is yielded with it.
        stop_texts: end the text; neither they nor what follows is in the tokens' text.
        cancel: looked at before every token and within the prompt, as in ``prefill``.
        allowed: (n_vocab,), False forbids a token. When it allows few, the native engine computes
            only their logits.

        Characters come out whole; one that is unfinished at the end does not come out. Arguments
        are checked at once, the prompt is computed when the first token is asked for.

        Raises ContextError for an empty prompt or one that is longer than the context,
        SettingError for wrong arguments and when another text was begun meanwhile, BackendError.
        """
        ids = self.checked(prompt_tokens)
        stops = self.info.stop_ids if stop_tokens is None else stop_tokens
        request = Request(
            max_new_tokens, sampling or Sampling(), frozenset(stops), stop_texts, allowed
        )
        return self._generate(ids, self.start(request), cancel)

    def start(self, request: Request) -> Generation:
        """A new text over this session's context. Raises SettingError."""
        choice = self._steps.choice(request.sampling, request.allowed)
        room = None if self._slides else self.n_ctx
        return Generation(request, choice, self._tokenizer, room)

    def _generate(
        self, prompt: list[int], text: Generation, cancel: threading.Event | None
    ) -> Iterator[Token]:
        self.finish = None
        self._texts_begun += 1
        mine = self._texts_begun
        try:
            if not self.begin(prompt, text, cancel):
                return
            while text.finish is None:
                if mine != self._texts_begun:
                    raise SettingError(
                        "session.overtaken",
                        "Another text was begun in this session, so that this one cannot go on.",
                        "Give each text a session of its own, such as a fork().",
                    )
                if cancel is not None and cancel.is_set():
                    return
                if text.new:
                    self.advance(text, cancel)
                token = text.next(self._steps, self.held)
                if token is not None:
                    yield token
        except Cancelled:
            pass
        finally:
            # One that was given up earlier says nothing about the text that took its place.
            if mine == self._texts_begun:
                self.finish = text.finish or "cancelled"

    def begin(self, prompt: list[int], text: Generation, cancel: threading.Event | None) -> bool:
        """Computes the prompt, which was checked; False when that was cancelled."""
        self._prefill(prompt, cancel, text.choice.allowed)
        return len(self._tokens) == len(prompt)

    def advance(self, text: Generation, cancel: threading.Event | None = None) -> None:
        """Computes the text's last token. Raises Cancelled, BackendError."""
        self.make_room()
        self._append(
            text.new[-1:], len(self._tokens), last=True, allowed=text.choice.allowed, cancel=cancel
        )

    def append_rows(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Appends tokens in one pass, at most ``chunk`` of them, as a prompt is computed.

        Returns the logits after each of them, (len(tokens), n_vocab). Raises as ``prefill`` does.
        """
        ids = self.checked(tokens)
        self.checked([*self._tokens, *ids])
        n_past = len(self._tokens)
        rows = self._steps.rows(ids, n_past)
        self._tokens += ids
        return rows

    def states(
        self, tokens: Sequence[int], layers: Sequence[int], *, keep: bool = True
    ) -> NDArray[np.float32]:
        """Appends tokens; returns their residual stream after some layers.

        layers: numbers of layers that were passed, 0 (the embeddings) … n_layer.
        keep: False leaves the session as it was, and a cache of halves computes only as many
            layers as are asked for. A quantized one computes all of them, in a fork.

        Returns (len(layers), len(tokens), n_embd). Raises as ``prefill`` does, and BackendError
        when the backend cannot (the reference).
        """
        ids = self.checked(tokens)
        self.checked([*self._tokens, *ids])
        if not layers or not all(0 <= i <= self.info.n_layer for i in layers):
            raise SettingError(
                "hidden.layers", f"The layers of this model are 0 … {self.info.n_layer}."
            )
        n_past = len(self._tokens)
        if keep:
            kept = self._steps.states(ids, n_past, layers)
            self._tokens += ids
            return kept
        if min(self.ladder) < 16:
            # Cut back, it would have lost the 16 bits of what had left the window meanwhile.
            return self.fork().states(ids, layers)
        states = self._steps.states(ids, n_past, layers, stop_after=max(1, *layers))
        self._steps.truncate(n_past)
        return states

    def make_room(self) -> None:
        """Before a token is appended: a full context lets its oldest quarter go, where it may."""
        if self._slides and self.held == self.n_ctx:
            self.slide(max(1, self.n_ctx // 4))

    def slide(self, n: int) -> None:
        """Drops the n oldest tokens after the sinks; the others move down by n positions.

        Raises SettingError when there are not so many, BackendError when the cache cannot slide.
        """
        self._check_open()
        self._tokens = self._steps.slide(n)

    def requantize(self, shift: int) -> None:
        """Makes a quantized cache smaller: lowers every tag by so many steps, as far as it goes.

        Raises SettingError for a negative shift, BackendError when the cache is not quantized.
        """
        self._check_open()
        if shift < 0:
            raise SettingError("kv.shift", "What was rounded away cannot be brought back.")
        self._steps.requantize(shift)

    def fork(self) -> Session:
        """A second session with the same tokens.

        Quantized caches share what neither of the two changes. Raises BackendError when the
        backend cannot (the reference).
        """
        self._check_open()
        other = Session(
            self._tokenizer,
            self.info,
            self._steps.fork(),
            n_ctx=self.n_ctx,
            chunk=self._chunk,
            is_open=self._is_open,
            slides=self._slides,
        )
        other._tokens = list(self._tokens)
        return other

    def advance_by(self, token: int) -> None:
        """Notes a token that the backend has appended to several caches at once."""
        self._tokens.append(token)

    @property
    def steps(self) -> Steps:
        """For those that step several sessions at once."""
        self._check_open()
        return self._steps

    def _append(
        self,
        ids: list[int],
        n_past: int,
        *,
        last: bool,
        allowed: Sequence[int] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        """last: the logits after these tokens are wanted."""
        self._check_open()
        # Forgotten first: an interrupt in mid-computation must not leave wrong tokens behind.
        del self._tokens[n_past:]
        self._steps.append(ids, n_past, last=last, allowed=allowed, cancel=cancel)
        self._tokens += ids

    def checked(self, tokens: Sequence[int]) -> list[int]:
        """The tokens as a list. Raises ContextError, SettingError, as ``prefill`` does."""
        self._check_open()
        if len(tokens) == 0:
            raise ContextError("context.empty", "The prompt is empty.", "Give at least one token.")
        if len(tokens) > self.n_ctx:
            raise ContextError(
                "context.full",
                f"The prompt has {len(tokens)} tokens, the context holds {self.n_ctx}.",
                "Shorten the prompt or load the model with a larger context.",
            )
        try:
            ids = [operator.index(i) for i in tokens]
        except TypeError as e:
            raise SettingError("token.range", "A prompt is a sequence of whole numbers.") from e
        if min(ids) < 0 or max(ids) >= self.info.n_vocab:
            raise SettingError(
                "token.range", f"Tokens of this model are 0 … {self.info.n_vocab - 1}."
            )
        return ids

    def _common(self, ids: list[int]) -> int:
        """Tokens that the cache holds already, from the start on."""
        for i, (new, old) in enumerate(zip(ids, self._tokens, strict=False)):
            if new != old:
                return i
        return min(len(ids), len(self._tokens))

    def _check_open(self) -> None:
        if not self._is_open():
            raise BackendError("engine.closed", "The engine was closed.")
