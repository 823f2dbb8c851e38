"""The engine: a model file with its tokenizer and its weights, and sessions over it.

The arithmetic is a backend's business: ``kvquant.backend`` says what it must provide.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kvquant.backend import BackendName, ModelBackend, find_native, load_backend
from kvquant.batch import generate_together
from kvquant.chat import ChatFormat, Message
from kvquant.config import ModelInfo, Sampling, Token
from kvquant.errors import BackendError, ModelFileError, SettingError
from kvquant.generation import Request
from kvquant.hyperparams import Hyperparams
from kvquant.kv_settings import KV_KINDS, KvSettings, settings_of
from kvquant.session import Session
from kvquant.steps import ArraySteps, Steps
from kvquant.token_text import AnyTokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvquant.gguf import ModelFile
    from kvquant.steps import Mask

__all__ = ["KV_KINDS", "Engine"]

_MAX_THREADS = 256
_END_OF_TEXT = "<|endoftext|>"
_END_OF_TURN = "<|im_end|>"


class Shape(Protocol):
    """The part of ``Hyperparams`` that callers are told of."""

    @property
    def n_layer(self) -> int: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def n_head(self) -> int: ...
    @property
    def n_kv_head(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def n_ff(self) -> int: ...
    @property
    def n_vocab(self) -> int: ...
    @property
    def n_ctx_train(self) -> int: ...


class Engine:
    """One loaded model. Several may live at once; each holds its own weights."""

    def __init__(self, file: ModelFile, backend: ModelBackend, name: str, n_ctx: int) -> None:
        """backend: loaded from the same file; name: "native" or "reference".

        Raises ModelFileError, SettingError.
        """
        from kvquant.tokenizer import Tokenizer

        params = Hyperparams.from_file(file)
        _check_context(params.n_ctx_train, n_ctx)
        tokenizer = Tokenizer.from_metadata(file.metadata)
        info = _info(file.metadata, file.path, params, tokenizer, backend=name, isa=backend.isa)
        self._set(backend, tokenizer, info, file.metadata, n_ctx)

    def _set(
        self,
        backend: ModelBackend,
        tokenizer: AnyTokenizer,
        info: ModelInfo,
        metadata: Mapping[str, Any],
        n_ctx: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.chat = ChatFormat(tokenizer, metadata)
        self.n_ctx = n_ctx
        self.info = info
        self._backend: ModelBackend | None = backend
        self._slides = False

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        backend: BackendName = "auto",
        n_ctx: int = 2048,
        threads: int = 2,
        kv: str = "fp16",
        controller: str | os.PathLike[str] | None = None,
        budget_bits: float = 3.5,
        window: int | None = None,
        sinks: int | None = None,
        policy: str = "adaptive",
        features: str = "table",
        key_layout: str = "rotated",
        slide: bool = False,
    ) -> Engine:
        """Loads a GGUF file of the llama architecture.

        backend: "auto" takes the native engine where it is built, else the numpy reference.
        n_ctx: tokens that a session can hold, at most what the model was trained for.
        threads: for the arithmetic, at least 1.
        kv: how the KV cache stores its numbers; one of KV_KINDS.
        controller: file that the adaptive cache chooses with, and that the static kinds take
            their channel means from; None takes the shipped one.
        budget_bits: bits per number that the adaptive cache may take on average, all included,
            when the context (or 2,048 tokens of it) is full.
        window, sinks: newest and first tokens that stay in 16 bits; None takes what the
            controller was made for (32 and 4).
        policy: how the adaptive cache chooses, one of its file's.
        features: "table" knows tokens by a file of averages, "exact" measures the entropy of
            every prediction, which is slow for prompts.
        key_layout: of a quantized cache: "rotated" stores keys after their rotation by position
            (RoPE), which is fast; "pre_rope" before it: attention turns each key whenever it
            reads it, and keys move to other positions unchanged.
        slide: a full context drops its oldest tokens (not the sinks) instead of ending the text;
            for quantized caches of the native engine.

        Raises ModelFileError (no such file, or it cannot be used), ControllerFileError (likewise,
        or made for another model), SettingError, BackendMissingError (native was asked for and is
        not built), BackendError.
        """
        if backend not in ("auto", "native", "reference"):
            raise SettingError(
                "backend.unknown", f"{backend!r} is none of auto, native, reference."
            )
        settings = settings_of(
            kv,
            controller=controller,
            budget_bits=budget_bits,
            window=window,
            sinks=sinks,
            policy=policy,
            features=features,
            key_layout=key_layout,
        )
        if not isinstance(threads, int) or not 1 <= threads <= _MAX_THREADS:
            raise SettingError(
                "threads.range", f"threads must be from 1 to {_MAX_THREADS}, not {threads!r}."
            )
        native = find_native(backend) is not None
        if slide and not (native and settings.quantized):
            raise SettingError(
                "context.slide", "Only quantized KV caches of the native engine can slide."
            )
        if native:
            engine = cls._load_native(Path(path), n_ctx, threads, settings)
            engine._slides = bool(slide)
            return engine

        from kvquant.gguf import ModelFile

        file = ModelFile.open(path)
        _check_context(Hyperparams.from_file(file).n_ctx_train, n_ctx)
        name, loaded = load_backend(
            "reference",
            os.fspath(path),
            threads=threads,
            kv=kv,
            n_ctx=n_ctx,
            controller=controller,
            budget_bits=budget_bits,
            window=window,
            sinks=sinks,
            policy=policy,
            features=features,
            key_layout=key_layout,
        )
        return cls(file, loaded, name, n_ctx)

    @classmethod
    def _load_native(cls, path: Path, n_ctx: int, threads: int, settings: KvSettings) -> Engine:
        """Without numpy and without Python's GGUF reader: both would take longer than the rest."""
        from kvquant.native_model import NativeModel

        model = NativeModel.open(path)
        _check_context(model.shape.n_ctx_train, n_ctx)
        tokenizer, backend = model.load(threads, settings, n_ctx)
        info = _info(
            model.metadata,
            path,
            model.shape,
            tokenizer,
            backend="native",
            isa=backend.isa,
            fingerprint=model.fingerprint,
        )
        engine = cls.__new__(cls)
        engine._set(backend, tokenizer, info, model.metadata, n_ctx)
        return engine

    def chat_prompt(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of a conversation in the model's chat format, ready for the answer.

        messages: (role, text) with role system, user or assistant. Texts are plain text
            whatever they contain.
        """
        return self.chat.prompt(messages)

    def text_mask(self) -> NDArray[np.bool_]:
        """(n_vocab,): True for tokens that are text or end one, False for other control tokens."""
        import numpy as np

        mask = np.ones(self.info.n_vocab, np.bool_)
        mask[list(self.tokenizer.control_ids)] = False
        mask[list(self.info.stop_ids)] = True
        return mask

    def session(self) -> Session:
        """A new session with its own, empty KV cache. Raises BackendError when closed."""
        if self._backend is None:
            raise BackendError("engine.closed", "The engine was closed.")
        return Session(
            self.tokenizer,
            self.info,
            self._steps(self._backend),
            n_ctx=self.n_ctx,
            chunk=self._backend.prefill_chunk,
            is_open=lambda: self._backend is not None,
            slides=self._slides,
        )

    def hidden_states(
        self, tokens: Sequence[int], layers: Sequence[int], *, stop_after: int | None = None
    ) -> NDArray[np.float32]:
        """The residual stream of a text after some layers; sessions are not touched.

        layers: numbers of layers that were passed, 0 (the embeddings) … n_layer.
        stop_after: so many layers are computed, at least the last one of ``layers``; by default
            just that many.

        Returns (len(layers), len(tokens), n_embd). Raises ContextError for too many tokens,
        SettingError, BackendError when the backend cannot (the reference).
        """
        import numpy as np

        if self.info.backend != "native":
            raise BackendError("hidden.backend", "Only the native engine gives hidden states.")
        ids = self.session().checked(tokens)
        last = stop_after if stop_after is not None else max(layers, default=0)
        numbers = (*layers, last)
        if not layers or not all(0 <= i <= self.info.n_layer for i in numbers):
            raise SettingError(
                "hidden.layers", f"The layers of this model are 0 … {self.info.n_layer}."
            )
        if last < max(layers):
            raise SettingError("hidden.layers", "A layer after the last one was asked for.")
        native: Any = self._backend
        # Of halves, which need no later layers; and its own, so that nothing else is disturbed.
        cache = native.cache(len(ids), kv="fp16")
        states: NDArray[np.float32] = cache.states(
            np.array(ids, np.int32), 0, list(layers), stop_after=max(1, last)
        )
        return states

    def _steps(self, backend: ModelBackend) -> Steps:
        cache = backend.cache(self.n_ctx)
        if self.info.backend != "native":
            return ArraySteps(cache)

        from kvquant.native_steps import NativeSteps

        native: Any = cache
        return NativeSteps(native, self.info.n_vocab)

    def generate_batch(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_new_tokens: int,
        sampling: Sampling | None = None,
        stop_tokens: Sequence[int] | None = None,
        stop_texts: Sequence[str] = (),
        cancel: threading.Event | None = None,
        allowed: Mask | None = None,
        sessions: Sequence[Session] | None = None,
    ) -> Iterator[tuple[int, Token]]:
        """Continues several prompts at once; up to eight share one pass over the weights.

        Yields (number of the prompt, token) as they come. The arguments mean what they mean in
        ``Session.generate``; each text gets the same tokens as alone, and with a seed each draws
        from its own sequence of it.

        sessions: one for each prompt, all different, to use and keep their caches; new ones by
            default. Each says in ``finish`` why its text ended.

        Raises as ``Session.generate`` does, before anything is computed.
        """
        used = [self.session() for _ in prompts] if sessions is None else list(sessions)
        if len(used) != len(prompts) or len(set(map(id, used))) != len(used):
            raise SettingError("batch.sessions", "Each prompt needs a session of its own.")
        if any(s.info is not self.info for s in used):
            raise SettingError("batch.sessions", "The sessions belong to another engine.")
        ids = [s.checked(prompt) for s, prompt in zip(used, prompts, strict=True)]
        stops = frozenset(self.info.stop_ids if stop_tokens is None else stop_tokens)
        request = Request(max_new_tokens, sampling or Sampling(), stops, stop_texts, allowed)
        texts = [s.start(request) for s in used]
        return generate_together(used, ids, texts, cancel)

    def close(self) -> None:
        """Frees the weights; sessions can no longer be used. May be called twice."""
        if self._backend is not None:
            backend, self._backend = self._backend, None
            backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_context(n_ctx_train: int, n_ctx: int) -> None:
    if not isinstance(n_ctx, int) or not 1 <= n_ctx <= n_ctx_train:
        raise SettingError(
            "context.range",
            f"The context must be from 1 to {n_ctx_train} tokens for this model, not {n_ctx!r}.",
        )


def _info(
    metadata: Mapping[str, Any],
    path: Path,
    params: Shape,
    tokenizer: AnyTokenizer,
    *,
    backend: str,
    isa: str,
    fingerprint: int = 0,
) -> ModelInfo:
    eos = _token_id(metadata, "eos", params.n_vocab)
    eot = _token_id(metadata, "eot", params.n_vocab)
    if eot is None:
        eot = tokenizer.special_id(_END_OF_TURN)
    stops = (eos, eot, tokenizer.special_id(_END_OF_TEXT))
    name = metadata.get("general.name")
    return ModelInfo(
        name=name if isinstance(name, str) and name else path.stem,
        n_layer=params.n_layer,
        n_embd=params.n_embd,
        n_head=params.n_head,
        n_kv_head=params.n_kv_head,
        head_dim=params.head_dim,
        n_ff=params.n_ff,
        n_vocab=params.n_vocab,
        n_ctx_train=params.n_ctx_train,
        bos_id=_token_id(metadata, "bos", params.n_vocab),
        eos_id=eos,
        eot_id=eot,
        stop_ids=tuple(dict.fromkeys(i for i in stops if i is not None)),
        backend=backend,
        isa=isa,
        fingerprint=fingerprint,
    )


def _token_id(metadata: Mapping[str, Any], name: str, n_vocab: int) -> int | None:
    value = metadata.get(f"tokenizer.ggml.{name}_token_id")
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < n_vocab:
        raise ModelFileError(
            "model.tokenizer", f"The model file's {name} token is {value!r:.40}, not a token."
        )
    return value
