"""The working folder of a training run: what was measured and learned so far.

run.json says of which model and windows; every other file is a table of tensors.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kvquant.errors import SettingError
from kvquant.training.calibrate import Means, Sample
from kvquant.training.forward import Span
from kvquant.training.network import ARTICLE, Examples, Network
from kvquant.training.table import TokenTable
from kvquant.training.tables import Tables, examples, make_tables

NETWORKS = {"mlp": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12), "article": ARTICLE}
"""Name and features of each network; a position would lead astray beyond the trained length."""

MEAN_WINDOWS = 6
"""The channel means of so many windows are as good as those of all."""


@dataclass(frozen=True, slots=True)
class Settings:
    """windows: of each data set; length: tokens of one; quality, classes: weights in the loss."""

    windows: int = 6
    length: int = 2048
    window: int = 32
    sinks: int = 4
    widths: tuple[int, ...] = (2, 3, 4, 8)
    epochs: int = 4
    seed: int = 0
    quality: float = 1.0
    classes: float = 0.1

    @property
    def span(self) -> Span:
        return Span(self.window, self.sinks)


@dataclass(frozen=True, slots=True)
class Trained:
    """All that the files hold. windows: names of those that were measured."""

    fingerprint: int
    settings: Settings
    means: Means
    tables: Tables
    words: TokenTable
    examples: Examples
    networks: dict[str, Network]
    windows: list[str]


class Run:
    """about: what run.json says."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self._folder = folder
        self._about = about

    @classmethod
    def claim(cls, folder: Path, about: dict[str, Any]) -> Run:
        """A new run, or the same one again. Raises SettingError when the folder has another."""
        path = folder / "run.json"
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write(path, json.dumps(about).encode())
        elif cls.open(folder)._about != about:
            raise SettingError(
                "train.work",
                f"{folder} holds a training run of other windows or of another model.",
                "Name another folder with --work, or remove that one.",
            )
        return cls(folder, about)

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Raises SettingError when there is no run in the folder."""
        try:
            about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise SettingError(
                "train.absent",
                f"There is no training run in {folder}.",
                "Run python -m kvquant train first, with the same --work.",
            ) from e
        return cls(folder, about)

    def has(self, name: str) -> bool:
        return self._path(name).exists()

    def load(self, name: str) -> dict[str, Any]:
        """Raises SettingError when that step is not done yet."""
        if not self.has(name):
            raise SettingError(
                "train.unfinished",
                f"The training run in {self._folder} is not finished: it lacks {name}.",
                "Run python -m kvquant train again with the same --work; it goes on there.",
            )
        found: dict[str, Any] = torch.load(self._path(name), weights_only=True)
        return found

    def save(self, name: str, value: Means | Sample | TokenTable | Mapping[str, Any]) -> None:
        """In one piece or not at all. Raises SettingError where it cannot be written."""
        if is_dataclass(value):
            value = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        data = io.BytesIO()
        torch.save(value, data)
        _write(self._path(name), data.getbuffer())

    def means(self) -> Means:
        return Means.over(
            [Means(**self.load(f"means-{w}")) for w in self._about["windows"][:MEAN_WINDOWS]]
        )

    def samples(self) -> list[Sample]:
        return [Sample(**self.load(f"costs-{w}")) for w in self._about["windows"]]

    def trained(self, settings: Settings | None = None) -> Trained:
        """Everything measured, with networks as far as they have learned.

        settings: those of new networks; None takes finished ones with theirs, and raises
        SettingError when they are not there.
        """
        states = {} if settings else {name: self.load(name) for name in NETWORKS}
        if settings is None:
            settings = Settings(**states["mlp"]["settings"])
        samples = self.samples()
        found = self.load("words")
        words = TokenTable(**{k: v.numpy() if torch.is_tensor(v) else v for k, v in found.items()})
        tables = make_tables(samples, words, settings.span)
        n_layer, n_head = tables.static.shape[:2]
        networks = {}
        for name, columns in NETWORKS.items():
            torch.manual_seed(settings.seed)
            network = Network(n_layer, n_head, columns, embed=name == "mlp")
            if states:
                network.load_state_dict(states[name]["network"])
            networks[name] = network
        return Trained(
            fingerprint=self._about["fingerprint"],
            settings=settings,
            means=self.means(),
            tables=tables,
            words=words,
            examples=examples(samples, tables, words, settings.span),
            networks=networks,
            windows=self._about["windows"],
        )

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.pt"


def _write(path: Path, data: bytes | memoryview) -> None:
    # By this module, not by torch, whose error on a full disk does not tell of it.
    part = path.with_suffix(".part")
    try:
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as e:
        raise SettingError(
            "train.disk", f"{path} cannot be written: {e.strerror or e}."
        ) from e  # fmt: skip


def _plain(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
