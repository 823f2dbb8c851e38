"""Where the models lie on this machine, and whether they are whole."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from assistant.errors import ModelError
from assistant.models import manifest as mf
from assistant.models.manifest import Model, ModelFile

FETCH_HINT = "Run `assistant models fetch`."
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one file; reason: missing, truncated, too_long, checksum, unreadable."""

    file: Path
    reason: str
    detail: str


def models_dir(cfg_dir: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """Folder of the fetched models: the setting, else $ASSISTANT_MODELS, else the user's data.

    Raises ModelError when nothing is set and the user has no home.
    """
    env = os.environ if environ is None else environ
    chosen = str(cfg_dir or "") or env.get("ASSISTANT_MODELS", "")
    try:
        if chosen:
            return Path(chosen).expanduser()
        data = Path(platformdirs.user_data_dir("assistant", appauthor=False))
        return data.expanduser() / "models"
    except RuntimeError as exc:
        raise ModelError(
            "models.no_home",
            "There is no home folder to look for models in.",
            "Set service.models_dir or $ASSISTANT_MODELS to a folder.",
        ) from exc


def folder_of(model: Model, root: Path) -> Path | None:
    """The folder in which all files lie with the right size; None when there is none.

    A fetched copy comes before the one inside an installed package.
    """
    for folder in candidates(model, root):
        if not size_problems(model, folder):
            return folder
    return None


def candidates(model: Model, root: Path) -> list[Path]:
    """Folders that may hold the model, best first."""
    found = [root / model.name]
    for source in model.sources:
        if source.kind == "package":
            folder = _package_folder(source.where, source.path)
            if folder is not None:
                found.append(folder)
    return found


def size_problems(model: Model, folder: Path) -> list[Problem]:
    """What is missing or has a wrong length; reads no contents."""
    return [p for f in model.files if (p := _size_problem(f, folder / f.name)) is not None]


def problems(model: Model, folder: Path) -> list[Problem]:
    """As ``size_problems``, and the checksum of every file."""
    found = []
    for f in model.files:
        path = folder / f.name
        problem = _size_problem(f, path)
        if problem is None:
            try:
                if sha256_of(path) != f.sha256:
                    problem = Problem(path, "checksum", "has a wrong checksum")
            except OSError as exc:
                problem = Problem(path, "unreadable", f"cannot be read: {exc.strerror}")
        if problem is not None:
            found.append(problem)
    return found


def path_of(name: str, cfg_dir: str | Path | None = None) -> Path:
    """Path of a model: the file its backend opens, or the folder when it opens a folder.

    ``name`` is a name of the manifest, or the path of a file or folder of the user's own
    (it has a ``/`` or ends in .gguf, .onnx, .json or .tflite). ``cfg_dir`` is
    ``service.models_dir``. Lengths are compared, checksums are not. Raises ModelError.
    """
    if "/" in name or name.endswith((".gguf", ".onnx", ".json", ".tflite")):
        own = Path(os.path.expanduser(name))  # noqa: PTH111 (leaves ~ when there is no home)
        if own.exists():
            return own
        raise ModelError("models.no_file", f"The model {own} does not exist.", "Check the path.")
    model = mf.find(name)
    root = models_dir(cfg_dir)
    folder = folder_of(model, root)
    if folder is None:
        raise _absent(model, root)
    return folder / model.entry if model.entry else folder


def sha256_of(path: Path) -> str:
    """SHA-256 of a file as lower-case hex."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _absent(model: Model, root: Path) -> ModelError:
    fetch = f"Run `assistant models fetch{'' if model.default else ' ' + model.name}`."
    for folder in candidates(model, root):
        damaged = [p for p in size_problems(model, folder) if p.reason != "missing"]
        if damaged:
            return ModelError(
                "models.damaged",
                f"The model {model.name} is damaged: {damaged[0].file} {damaged[0].detail}.",
                fetch,
            )
    return ModelError("models.absent", f"The model {model.name} is not there.", fetch)


def _package_folder(distribution: str, path: str) -> Path | None:
    """Folder inside an installed distribution, found without importing it."""
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    folder = Path(str(found.locate_file(path)))
    return folder if folder.is_dir() else None


def _size_problem(file: ModelFile, path: Path) -> Problem | None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return Problem(path, "missing", "is missing")
    except OSError as exc:
        return Problem(path, "unreadable", f"cannot be read: {exc.strerror}")
    if size < file.size:
        return Problem(path, "truncated", f"is cut off ({size:,} of {file.size:,} bytes)")
    if size > file.size:
        return Problem(path, "too_long", f"is too long ({size:,} instead of {file.size:,} bytes)")
    return None
