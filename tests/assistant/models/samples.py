"""Models and wheels that the tests make themselves."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Sequence

from assistant.models.manifest import Model, ModelFile, Source

WEIGHTS = bytes(range(256)) * 1200
NOTES = b'{"rate": 16000}'


def model_of(name: str, sources: Sequence[Source], **files: bytes) -> Model:
    """A model whose files have these contents; ``weights`` becomes ``weights.bin``."""
    listed = tuple(
        ModelFile(f"{key}.bin", len(data), hashlib.sha256(data).hexdigest())
        for key, data in files.items()
    )
    return Model(name, "llm", "kvquant", "MIT", True, listed[0].name, listed, tuple(sources))


def wheel_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return buffer.getvalue()


def pip_that_finds(url: str, sha256: str = "") -> Callable[[Sequence[str], float], str]:
    """Stands in for pip's report; the rest of the path is real."""
    info = {"url": url, "archive_info": {"hashes": {"sha256": sha256} if sha256 else {}}}

    def run(arguments: Sequence[str], timeout_s: float) -> str:
        return json.dumps({"install": [{"download_info": info}]})

    return run
