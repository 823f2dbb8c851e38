"""A data folder of small texts in which every line says where it stands."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

LINES = 400


def write_texts(folder: Path) -> Path:
    """An encyclopedia, a novel and dialogues; line 17 of the novel holds the word ``novel17x``."""
    for name, file in (("wikitext2", "valid.txt.gz"), ("gutenberg", "ainsworth-tale.txt.gz")):
        word = "wiki" if name == "wikitext2" else "novel"
        lines = [f"the {word}{i}x hello to all the {i % 7} the end .\n" for i in range(LINES)]
        _write(folder / name / file, "".join(lines))
    dialogues = []
    for i in range(60):
        turns = [
            {"who": "USER", "text": f"hello chat{i}x the light"},
            {"who": "SYSTEM", "text": f"the light is on hello {i}"},
        ]
        dialogues.append(json.dumps({"id": f"d{i}", "turns": turns}))
    _write(folder / "sgd-dialogues" / "sgd_dev.jsonl.gz", "\n".join(dialogues))
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)
