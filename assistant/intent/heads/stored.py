"""Keeps what the language model made of each text in a folder, so that it is read only once."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.errors import InputFileError
from assistant.intent.heads.states import TextStates, TokenStates


class Stored(TextStates):
    """A ``TextStates`` over another one; the values it gives are halves (float16)."""

    def __init__(self, states: TextStates, folder: Path, layers: Sequence[int] = ()) -> None:
        """folder: is made where it is not there. layers: are kept with those that are asked for.

        Raises InputFileError when the folder cannot be made.
        """
        self._states = states
        self._folder = folder
        self._layers = sorted(set(layers))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise InputFileError(
                "train.cache", f"{folder} is no folder: {e.strerror}.", "Name another with --cache."
            ) from e

    @property
    def fingerprint(self) -> int:
        return self._states.fingerprint

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        """As ``TextStates`` says; a file that is damaged or lacks a layer is made again."""
        path = self._folder / f"{self._key(text, twice, prefix)}.npz"
        held, known = self._load(path)
        if known is None or not set(layers) <= set(held):
            held = sorted({*layers, *self._layers})
            got = self._states.states(text, held, twice=twice, prefix=prefix)
            known = TokenStates(np.clip(got.values, -6e4, 6e4).astype(np.float16), got.spans)
            part = path.with_suffix(f".{os.getpid()}.part")
            with part.open("wb") as file:
                np.savez(file, values=known.values, spans=known.spans, layers=np.array(held))
            part.replace(path)
        return known.of(held, layers)

    def _key(self, text: str, twice: bool, prefix: str | None) -> str:
        whole = repr((self.fingerprint, text, twice, prefix))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _load(self, path: Path) -> tuple[list[int], TokenStates | None]:
        try:
            with np.load(path) as file:
                return list(map(int, file["layers"])), TokenStates(file["values"], file["spans"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return [], None
