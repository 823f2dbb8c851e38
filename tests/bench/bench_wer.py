"""Words, word errors and the rows of recordings, for the scripts of this folder.

The word error rate itself is measured by ``assistant bench wer``.
"""

from __future__ import annotations

import json
from pathlib import Path

from assistant.bench.word_errors import word_errors as errors
from assistant.bench.word_errors import words

__all__ = ["errors", "rows", "words"]


def rows(folder: Path) -> list[dict[str, object]]:
    """Of the manifest in the folder."""
    lines = (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]
