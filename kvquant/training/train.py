"""Calibration and training as steps that can be stopped and taken up again.

Everything is kept in a working folder: means of each window, then one file a window with what
was measured, then the networks epoch by epoch. A step that is there is not done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from kvquant import bundle
from kvquant.chat import ChatFormat
from kvquant.errors import SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from kvquant.texts import Part
from kvquant.tokenizer import Tokenizer
from kvquant.training.calibrate import Means, Sample, channel_means, sample
from kvquant.training.data import Window, tokens_of, windows
from kvquant.training.forward import Model
from kvquant.training.network import Loss, Network, fit
from kvquant.training.run import MEAN_WINDOWS, Run, Settings, Trained
from kvquant.training.table import token_table

Progress = Callable[[int, int, str], None]
"""(done, of how many, what)"""


_Texts = tuple[Path, Part, Tokenizer, ChatFormat]


class Trainer:
    """One run in a working folder. Raises ModelFileError, DataFileError, and SettingError when
    the folder holds a run of another model or other windows, or a window is longer than the
    model's context."""

    def __init__(
        self, model: Path, data: Path, work: Path, settings: Settings, progress: Progress
    ) -> None:
        self._file = ModelFile.open(model)
        self._settings, self._progress = settings, progress
        most = Hyperparams.from_file(self._file).n_ctx_train
        if settings.length > most:
            raise SettingError(
                "train.range", f"--length must be at most {most}, the context of this model."
            )
        tokenizer = Tokenizer.from_metadata(self._file.metadata)
        chat = ChatFormat(tokenizer, self._file.metadata)
        norm = self._file.read("output_norm.weight")
        self._texts: _Texts = (data, "train", tokenizer, chat)
        self._windows = windows(*self._texts, length=settings.length, count=settings.windows)
        self._n_vocab = tokenizer.n_vocab
        self._run = Run.claim(
            work,
            {
                "fingerprint": bundle.fingerprint_of(norm.astype("<f4").tobytes()),
                "windows": [w.name for w in self._windows],
                "length": settings.length, "window": settings.window, "sinks": settings.sinks,
                "seed": settings.seed,
            },
        )  # fmt: skip

    def run(self) -> Trained:
        """Does what is left to do; what comes out is in the working folder too."""
        samples = self._calibrate()
        if not self._run.has("words"):
            seen = [(s.tokens.numpy(), s.entropy.numpy(), s.variance.numpy()) for s in samples]
            text = tokens_of(*self._texts)
            self._run.save("words", token_table(self._n_vocab, text, seen))
        trained = self._run.trained(self._settings)
        for name, network in trained.networks.items():
            self._fit(name, network, trained)
        return trained

    def _calibrate(self) -> list[Sample]:
        model: list[Model] = []

        def loaded() -> Model:
            if not model:
                model.append(Model(self._file))
            return model[0]

        span = self._settings.span

        def mean(i: int, w: Window) -> Means:
            return channel_means(loaded(), torch.tensor(w.tokens), span)

        def measure(i: int, w: Window) -> Sample:
            seed = self._settings.seed * 1000 + i
            return sample(loaded(), torch.tensor(w.tokens), means, span, seed)

        self._each("means", mean, MEAN_WINDOWS)
        means = self._run.means()
        self._each("costs", measure, len(self._windows))
        return self._run.samples()

    def _each(
        self, step: str, compute: Callable[[int, Window], Means | Sample], count: int
    ) -> None:
        chosen = self._windows[:count]
        for i, window in enumerate(chosen):
            name = f"{step}-{window.name}"
            if not self._run.has(name):
                self._run.save(name, compute(i, window))
            self._progress(i + 1, len(chosen), step)

    def _fit(self, name: str, network: Network, trained: Trained) -> None:
        s = self._settings
        state = self._run.load(name) if self._run.has(name) else None
        if state is not None and state["settings"] != asdict(s):
            state = None
        loss = Loss(trained.tables.static, s.widths, quality=s.quality, classes=s.classes)
        for epoch, value, snapshot in fit(
            network, trained.examples, loss, epochs=s.epochs, seed=s.seed, state=state
        ):
            self._run.save(name, snapshot() | {"settings": asdict(s)})
            self._progress(epoch, s.epochs, f"{name}, loss {value:.4f}")
