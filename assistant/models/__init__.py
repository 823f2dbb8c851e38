"""Model files: at run time only a name and its path; nothing is downloaded unasked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistant.models import manifest as _manifest
from assistant.models import store as _store
from assistant.models.manifest import Manifest, Model
from assistant.models.store import models_dir, path_of

__all__ = ["fetch_models", "list_models", "models_dir", "path_of", "verify_models"]

Place = str | Path | None


def list_models(
    cfg_dir: Place = None,
    *,
    names: Sequence[str] | None = None,
    manifest: Manifest | None = None,
) -> list[dict[str, Any]]:
    """The named models (None: every known one), JSON-ready; ``present`` compares lengths only.

    ``cfg_dir`` is ``service.models_dir``. ``sha256`` is that of the largest file; ``files``
    has all of them. Raises ModelError for an unknown name.
    """
    root = models_dir(cfg_dir)
    return [_describe(m, root) for m in _chosen(names, manifest)]


def fetch_models(
    names: Sequence[str] | None = None,
    cfg_dir: Place = None,
    *,
    manifest: Manifest | None = None,
) -> list[dict[str, Any]]:
    """Fetches the named models (None: the default ones); as ``list_models``, and ``fetched_from``.

    Raises ModelError for an unknown name and FetchError.
    """
    # Imported here: the service needs paths only, not the download machinery.
    from assistant.models.fetch import Fetcher

    models = _chosen(names, manifest)
    if names is None:
        models = [m for m in models if m.default]
    root = models_dir(cfg_dir)
    origin = Fetcher(root).fetch(models)
    return [_describe(m, root) | {"fetched_from": origin[m.name]} for m in models]


def verify_models(
    names: Sequence[str] | None = None,
    cfg_dir: Place = None,
    *,
    manifest: Manifest | None = None,
) -> list[dict[str, Any]]:
    """As ``list_models`` with every checksum computed: ``ok`` and ``problems`` (sentences).

    ``ok`` is None for a model that is neither there nor a default one (nor named).
    """
    root = models_dir(cfg_dir)
    report = []
    for model in _chosen(names, manifest):
        places = _store.candidates(model, root)
        used = _store.folder_of(model, root)
        found = [
            p for folder in ([used] if used else places) for p in _store.problems(model, folder)
        ]
        absent = used is None and all(p.reason == "missing" for p in found)
        ok: bool | None = used is not None and not found
        if absent and not model.default and names is None:
            ok = None
        sentences = ["It is not there."] if absent else [f"{p.file} {p.detail}." for p in found]
        report.append(_describe(model, root) | {"ok": ok, "problems": sentences})
    return report


def _chosen(names: Sequence[str] | None, manifest: Manifest | None) -> list[Model]:
    known = _manifest.load() if manifest is None else manifest
    if names is None:
        return list(known.values())
    return [_manifest.find(name, known) for name in names]


def _describe(model: Model, root: Path) -> dict[str, Any]:
    folder = _store.folder_of(model, root)
    largest = max(model.files, key=lambda f: f.size)
    return {
        "name": model.name,
        "kind": model.kind,
        "backend": model.backend,
        "licence": model.licence,
        "default": model.default,
        "size": model.size,
        "sha256": largest.sha256,
        "files": [{"name": f.name, "size": f.size, "sha256": f.sha256} for f in model.files],
        "sources": [str(s) for s in model.sources],
        "present": folder is not None,
        "path": None if folder is None else str(folder / model.entry if model.entry else folder),
    }
