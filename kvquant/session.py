"""A session: one KV cache, the tokens it holds, and generation over it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kvquant.backend import CacheBackend
from kvquant.config import ModelInfo, Sampling, Token
from kvquant.errors import BackendError, ContextError, SettingError
from kvquant.sampler import Sampler
from kvquant.stop_text import StopText
from kvquant.tokenizer import TextStream, Tokenizer

Finish = Literal["stop", "stop_text", "length", "context", "cancelled"]


class Session:
    """Used by one thread at a time. Made by ``Engine.session``.

    finish: why the last generation ended: a stop token ("stop"), a stop text, the number of
        tokens asked for ("length"), a full context, or it was cancelled or given up by its
        reader; None before and while it runs.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        info: ModelInfo,
        cache: CacheBackend,
        *,
        n_ctx: int,
        chunk: int,
        is_open: Callable[[], bool],
    ) -> None:
        self._tokenizer = tokenizer
        self._info = info
        self._cache = cache
        self._chunk = chunk
        self._is_open = is_open
        self._tokens: list[int] = []
        self._logits: NDArray[np.float32] | None = None
        self.n_ctx = n_ctx
        self.finish: Finish | None = None

    @property
    def tokens(self) -> list[int]:
        """What the cache holds; a copy."""
        return list(self._tokens)

    @property
    def kv_bytes(self) -> int:
        """Bytes that these tokens take in the cache."""
        return self._cache.kv_bytes

    @property
    def kv_bytes_fp16(self) -> int:
        """Bytes that they would take in 16 bits."""
        i = self._info
        return len(self._tokens) * 2 * i.n_layer * i.n_kv_head * i.head_dim * 2

    def prefill(self, tokens: Sequence[int], cancel: threading.Event | None = None) -> int:
        """Makes the cache hold exactly these tokens.

        The part that it already holds from the start on is kept, the rest computed in chunks.
        Between chunks ``cancel`` is looked at; when it is set, the cache holds a shorter part.

        Returns how many tokens were computed. Raises ContextError when there are none or too
        many, SettingError when one is not a token of the model, BackendError.
        """
        ids = self._checked(tokens)
        common = self._common(ids)
        if common == len(ids) == len(self._tokens) and self._logits is not None:
            return 0
        # The logits after the last token are wanted, so that token at least is computed.
        start = min(common, len(ids) - 1)
        computed = 0
        for at in range(start, len(ids), self._chunk):
            if cancel is not None and cancel.is_set():
                self.truncate(at)
                break
            piece = ids[at : at + self._chunk]
            self._forward(piece, at, last=at + len(piece) == len(ids))
            computed += len(piece)
        return computed

    def logits(self) -> NDArray[np.float32]:
        """Logits after the last token, (n_vocab,). Raises ContextError in an empty session."""
        if not self._tokens:
            raise ContextError("context.empty", "There is no token to go on from.")
        if self._logits is None:
            self._forward(self._tokens[-1:], len(self._tokens) - 1, last=True)
        assert self._logits is not None
        return self._logits.copy()

    def truncate(self, n: int) -> None:
        """Keeps the first n tokens; all of them when there are fewer."""
        self._check_open()
        if n < 0:
            raise SettingError("context.range", f"A session cannot keep {n} tokens.")
        if n < len(self._tokens):
            del self._tokens[n:]
            self._logits = None
            self._cache.truncate(n)

    def generate(
        self,
        prompt_tokens: Sequence[int],
        *,
        max_new_tokens: int,
        sampling: Sampling | None = None,
        stop_tokens: Sequence[int] | None = None,
        stop_texts: Sequence[str] = (),
        cancel: threading.Event | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Iterator[Token]:
        """Continues the prompt, token by token; ``finish`` says in the end why it ended.

        max_new_tokens: at most so many; it also ends when the context is full.
        sampling: greedy by default. The repetition penalty looks at new tokens, not at the
            prompt, which holds facts to repeat and the marker that ends a turn.
        stop_tokens: end the text and are not yielded; by default those that end a turn or a
            text. When text was held back as the possible beginning of a stop text, the stop
            token is yielded with it.
        stop_texts: end the text; neither they nor what follows is in the tokens' text.
        cancel: looked at before every token and between chunks of the prompt.
        allowed: (n_vocab,), False forbids a token.

        Characters come out whole; one that is unfinished at the end does not come out. Arguments
        are checked at once, the prompt is computed when the first token is asked for.

        Raises ContextError for an empty prompt or one that is longer than the context,
        SettingError for wrong arguments, BackendError.
        """
        ids = self._checked(prompt_tokens)
        if not isinstance(max_new_tokens, int) or max_new_tokens < 0:
            raise SettingError(
                "generate.length", f"max_new_tokens must be from 0, not {max_new_tokens!r}."
            )
        sampler = Sampler(sampling or Sampling(), allowed)
        stops = frozenset(self._info.stop_ids if stop_tokens is None else stop_tokens)
        return self._generate(
            ids,
            max_new_tokens,
            sampler,
            stops,
            StopText(stop_texts),
            cancel or threading.Event(),
        )

    def _generate(
        self,
        prompt: list[int],
        max_new_tokens: int,
        sampler: Sampler,
        stop_tokens: frozenset[int],
        stop_text: StopText,
        cancel: threading.Event,
    ) -> Iterator[Token]:
        self.finish = None
        ended: Finish = "cancelled"
        stream = TextStream(self._tokenizer)
        new: list[int] = []
        try:
            self.prefill(prompt, cancel)
            if max_new_tokens == 0:
                ended = "length"
                return
            for i in range(max_new_tokens):
                if cancel.is_set():
                    return
                if i > 0:
                    self._forward(new[-1:], len(self._tokens), last=True)
                token = sampler.pick(self.logits(), new)
                if token in stop_tokens:
                    ended = "stop"
                    if rest := stop_text.rest():
                        yield Token(token, rest)
                    return
                new.append(token)
                text = stop_text.push(stream.push(token))
                if stop_text.found:
                    ended = "stop_text"
                elif i + 1 == max_new_tokens:
                    ended = "length"
                elif len(self._tokens) == self.n_ctx:
                    ended = "context"
                else:
                    yield Token(token, text)
                    continue
                yield Token(token, text + stop_text.rest())
                return
        finally:
            self.finish = ended

    def _forward(self, ids: list[int], n_past: int, *, last: bool) -> None:
        """last: the logits after these tokens are wanted."""
        self._check_open()
        # Forgotten first: an interrupt in mid-computation must not leave wrong tokens behind.
        del self._tokens[n_past:]
        self._logits = None
        try:
            logits = self._cache.forward(np.array(ids, np.int32), n_past, int(last))
        except RuntimeError as e:
            raise BackendError("backend.failed", f"The model failed: {e}.") from e
        self._tokens += ids
        self._logits = logits[0] if last else None

    def _checked(self, tokens: Sequence[int]) -> list[int]:
        self._check_open()
        if len(tokens) == 0:
            raise ContextError("context.empty", "The prompt is empty.", "Give at least one token.")
        if len(tokens) > self.n_ctx:
            raise ContextError(
                "context.full",
                f"The prompt has {len(tokens)} tokens, the context holds {self.n_ctx}.",
                "Shorten the prompt or load the model with a larger context.",
            )
        ids = np.asarray(tokens)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise SettingError("token.range", "A prompt is a sequence of whole numbers.")
        if ids.min() < 0 or ids.max() >= self._info.n_vocab:
            raise SettingError(
                "token.range", f"Tokens of this model are 0 … {self._info.n_vocab - 1}."
            )
        return [int(i) for i in ids]

    def _common(self, ids: list[int]) -> int:
        """Tokens that the cache holds already, from the start on."""
        for i, (new, old) in enumerate(zip(ids, self._tokens, strict=False)):
            if new != old:
                return i
        return min(len(ids), len(self._tokens))

    def _check_open(self) -> None:
        if not self._is_open():
            raise BackendError("engine.closed", "The engine was closed.")
