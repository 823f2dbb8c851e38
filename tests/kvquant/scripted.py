"""An engine that says what the test wants, for what a random model cannot be made to say."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kvquant import Engine
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

END_OF_TURN = 2


class Script:
    """A model backend. prompts: the tokens of every forward call, in order.

    gate: called before every token; it may wait or raise.
    peak: logit of the token that comes, where all others have 0.
    """

    isa, prefill_chunk = "script", 16

    def __init__(self, n_vocab: int) -> None:
        self.n_vocab = n_vocab
        self.prompts: list[list[int]] = []
        self.gate: Callable[[], None] = lambda: None
        self.peak = 99.0
        self.closed = False
        self._queue: deque[int] = deque()

    def say(self, *answers: Sequence[int]) -> None:
        """The next answers; each ends its turn. What was left of earlier ones is dropped."""
        self._queue = deque(token for ids in answers for token in (*ids, END_OF_TURN))

    def next(self) -> int:
        self.gate()
        return self._queue.popleft() if self._queue else END_OF_TURN

    def cache(self, n_ctx: int) -> ScriptedCache:
        return ScriptedCache(self)

    def close(self) -> None:
        self.closed = True


class ScriptedCache:
    kv_bytes = 0

    def __init__(self, script: Script) -> None:
        self._script = script
        self.length = 0

    def forward(self, tokens: np.ndarray, n_past: int, rows: int) -> np.ndarray:
        self._script.prompts.append([int(t) for t in tokens])
        self.length = n_past + len(tokens)
        logits = np.zeros((rows, self._script.n_vocab), np.float32)
        if rows:
            logits[:, self._script.next()] = self._script.peak
        return logits

    def truncate(self, n: int) -> None:
        self.length = n


def scripted_engine(path: Path, n_ctx: int = 512) -> tuple[Engine, Script]:
    """The tokenizer of a model file over a script."""
    file = ModelFile.open(path)
    script = Script(Hyperparams.from_file(file).n_vocab)
    return Engine(file, script, "script", n_ctx), script
