"""The list of models in manifest.yaml."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from assistant.errors import ModelError

MANIFEST = Path(__file__).with_name("manifest.yaml")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """name: path inside the model's folder, with /; size: bytes; sha256: lower-case hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """kind: "package", "wheel" or "url"; where: distribution, NAME==VERSION or address.

    path: folder of the files inside the package or wheel.
    """

    kind: str
    where: str
    path: str = ""

    def __str__(self) -> str:
        return self.where if self.kind == "url" else f"{self.kind} {self.where}"


@dataclass(frozen=True, slots=True)
class Model:
    """entry: the file that a backend opens; "" when it opens the folder."""

    name: str
    kind: str
    backend: str
    licence: str
    default: bool
    entry: str
    files: tuple[ModelFile, ...]
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(f.size for f in self.files)


Manifest = dict[str, Model]


@functools.cache
def load(path: Path = MANIFEST) -> Manifest:
    """The models by name. Raises ModelError when the manifest itself is damaged."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {name: _model(name, entry) for name, entry in raw["models"].items()}
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ModelError(
            "models.manifest",
            f"The list of models {path} cannot be read: {exc}.",
            "Install the assistant again.",
        ) from exc


def find(name: str, manifest: Manifest | None = None) -> Model:
    """The model called ``name``. Raises ModelError with the nearest names."""
    models = load() if manifest is None else manifest
    if name in models:
        return models[name]
    close = difflib.get_close_matches(name, models, n=2, cutoff=0.5)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(models)}."
    raise ModelError("models.unknown", f'There is no model called "{name}".', hint)


def _model(name: str, raw: dict[str, Any]) -> Model:
    files = tuple(ModelFile(f["name"], int(f["size"]), str(f["sha256"])) for f in raw["files"])
    for f in files:
        parts = PurePosixPath(f.name).parts
        if not parts or ".." in parts or f.name.startswith("/") or "\\" in f.name:
            raise ValueError(f"file name {f.name!r} leaves the model's folder")
    return Model(
        name=name,
        kind=raw["kind"],
        backend=raw["backend"],
        licence=raw["licence"],
        default=bool(raw["default"]),
        entry=raw["entry"],
        files=files,
        sources=tuple(_source(s) for s in raw["sources"]),
    )


def _source(raw: dict[str, str]) -> Source:
    for kind in ("package", "wheel", "url"):
        if kind in raw:
            return Source(kind, raw[kind].rstrip("/"), raw.get("path", "").strip("/"))
    raise ValueError(f"source {raw!r} has no kind")
