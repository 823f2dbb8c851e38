"""The engine: a model file with its tokenizer and its weights, and sessions over it.

The arithmetic is a backend's business: ``kvquant.backend`` says what it must provide.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.backend import BackendName, ModelBackend, load_backend
from kvquant.chat import ChatFormat, Message
from kvquant.config import ModelInfo
from kvquant.errors import BackendError, ModelFileError, SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from kvquant.session import Session
from kvquant.tokenizer import Tokenizer

KV_KINDS = ("fp16",)
"""KV caches that exist so far."""

_MAX_THREADS = 256
_END_OF_TEXT = "<|endoftext|>"
_END_OF_TURN = "<|im_end|>"


class Engine:
    """One loaded model. Several may live at once; each holds its own weights."""

    def __init__(
        self,
        file: ModelFile,
        backend: ModelBackend,
        name: str,
        n_ctx: int,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """backend: loaded from the same file; name: "native" or "reference"; tokenizer: built
        from its metadata, if it is built already.

        Raises ModelFileError, SettingError.
        """
        params = Hyperparams.from_file(file)
        _check_context(params, n_ctx)
        self.tokenizer = tokenizer or Tokenizer.from_metadata(file.metadata)
        self.chat = ChatFormat(self.tokenizer, file.metadata)
        self.n_ctx = n_ctx
        self.info = _info(file, params, self.tokenizer, backend=name, isa=backend.isa)
        self._backend: ModelBackend | None = backend

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        backend: BackendName = "auto",
        n_ctx: int = 2048,
        threads: int = 2,
        kv: str = "fp16",
    ) -> Engine:
        """Loads a GGUF file of the llama architecture.

        backend: "auto" takes the native engine where it is built, else the numpy reference.
        n_ctx: tokens that a session can hold, at most what the model was trained for.
        threads: for the arithmetic, at least 1.
        kv: how the KV cache stores its numbers; one of KV_KINDS.

        Raises ModelFileError (no such file, or it cannot be used), SettingError,
        BackendMissingError (native was asked for and is not built), BackendError.
        """
        if backend not in ("auto", "native", "reference"):
            raise SettingError(
                "backend.unknown", f"{backend!r} is none of auto, native, reference."
            )
        if kv not in KV_KINDS:
            raise SettingError(
                "kv.unavailable",
                f"The KV cache {kv!r} is not available yet; there is {', '.join(KV_KINDS)}.",
            )
        if not isinstance(threads, int) or not 1 <= threads <= _MAX_THREADS:
            raise SettingError(
                "threads.range", f"threads must be from 1 to {_MAX_THREADS}, not {threads!r}."
            )
        file = ModelFile.open(path)
        _check_context(Hyperparams.from_file(file), n_ctx)
        # The native engine reads weights while this thread builds the tokenizer.
        with ThreadPoolExecutor(max_workers=1) as pool:
            loading = pool.submit(load_backend, backend, os.fspath(path), threads=threads, kv=kv)
            tokenizer = Tokenizer.from_metadata(file.metadata)
            name, loaded = loading.result()
        return cls(file, loaded, name, n_ctx, tokenizer)

    def chat_prompt(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of a conversation in the model's chat format, ready for the answer.

        messages: (role, text) with role system, user or assistant. Texts are plain text
            whatever they contain.
        """
        return self.chat.prompt(messages)

    def text_mask(self) -> NDArray[np.bool_]:
        """(n_vocab,): True for tokens that are text or end one, False for other control tokens."""
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
            self._backend.cache(self.n_ctx),
            n_ctx=self.n_ctx,
            chunk=self._backend.prefill_chunk,
            is_open=lambda: self._backend is not None,
        )

    def close(self) -> None:
        """Frees the weights; sessions can no longer be used. May be called twice."""
        if self._backend is not None:
            backend, self._backend = self._backend, None
            backend.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_context(params: Hyperparams, n_ctx: int) -> None:
    if not isinstance(n_ctx, int) or not 1 <= n_ctx <= params.n_ctx_train:
        raise SettingError(
            "context.range",
            f"The context must be from 1 to {params.n_ctx_train} tokens for this model, "
            f"not {n_ctx!r}.",
        )


def _info(
    file: ModelFile, params: Hyperparams, tokenizer: Tokenizer, *, backend: str, isa: str
) -> ModelInfo:
    eos = _token_id(file.metadata, "eos", params.n_vocab)
    eot = _token_id(file.metadata, "eot", params.n_vocab)
    if eot is None:
        eot = tokenizer.special_id(_END_OF_TURN)
    stops = (eos, eot, tokenizer.special_id(_END_OF_TEXT))
    name = file.metadata.get("general.name")
    return ModelInfo(
        name=name if isinstance(name, str) and name else file.path.stem,
        n_layer=params.n_layer,
        n_embd=params.n_embd,
        n_head=params.n_head,
        n_kv_head=params.n_kv_head,
        head_dim=params.head_dim,
        n_ff=params.n_ff,
        n_vocab=params.n_vocab,
        n_ctx_train=params.n_ctx_train,
        bos_id=_token_id(file.metadata, "bos", params.n_vocab),
        eos_id=eos,
        eot_id=eot,
        stop_ids=tuple(dict.fromkeys(i for i in stops if i is not None)),
        backend=backend,
        isa=isa,
    )


def _token_id(metadata: dict[str, Any], name: str, n_vocab: int) -> int | None:
    value = metadata.get(f"tokenizer.ggml.{name}_token_id")
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < n_vocab:
        raise ModelFileError(
            "model.tokenizer", f"The model file's {name} token is {value!r:.40}, not a token."
        )
    return value
