"""The public texts: what is read, how they are parted, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kvquant import texts
from kvquant.errors import DataFileError

WIKI = "".join(f" = Page {i} = \n \n Word {i} , and <unk> 3 @.@ 5 km . \n" for i in range(200))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_the_parts_make_the_whole_and_never_meet(tmp_path: Path) -> None:
    write(tmp_path / "wikitext2/valid.txt.gz", WIKI)
    train, held_out = (texts.wikitext(tmp_path, p) for p in ("train", "held_out"))
    assert train + held_out == WIKI
    assert train.endswith("\n")
    assert 0.35 < len(held_out) / len(WIKI) < 0.45


def test_dialogues_are_parted_by_their_names_whatever_their_order(tmp_path: Path) -> None:
    rows = [
        {"id": f"d{i}", "turns": [{"who": "USER", "text": f"hello {i}"},
                                  {"who": "SYSTEM", "text": "hi"}]}
        for i in range(300)
    ]  # fmt: skip
    write(tmp_path / "sgd-dialogues/sgd_dev.jsonl.gz", lines(rows))
    write(tmp_path / "turned/sgd_dev.jsonl.gz", lines(rows[::-1]))
    train, held_out = (texts.dialogues(tmp_path, p) for p in ("train", "held_out"))
    assert len(train) + len(held_out) == 300
    assert not set(train) & set(held_out)
    assert held_out[0][1] == ("assistant", "hi")
    assert set(texts.dialogues(tmp_path / "turned", "held_out")) == set(held_out)


def test_the_data_set_itself_is_taken_as_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "gutenberg/ainsworth-x.txt.gz", "One.\n\nTwo.\n\nThree.\n")
    assert texts.novel(tmp_path, "train") == texts.novel(tmp_path / "gutenberg", "train")
    assert texts.has(tmp_path, "gutenberg")
    assert texts.has(tmp_path / "gutenberg", "gutenberg")
    assert not texts.has(tmp_path, "hellaswag")


def test_plain_undoes_the_marks_of_the_tokenised_text() -> None:
    marked = (
        ' = = A title = = \n It was ( 3 @.@ 5 km ) , he said : " yes " ; Tom \'s well @-@ kept .'
    )
    assert texts.plain(marked) == 'A title\nIt was (3.5 km), he said: "yes"; Tom\'s well-kept.'


def question(**changes: Any) -> dict[str, Any]:
    row = {"id": 1, "source": "wikihow", "ctx": "He", "endings": ["runs.", "eats."], "label": 1}
    return row | changes


def test_questions(tmp_path: Path) -> None:
    write(tmp_path / "hellaswag_val.jsonl.gz", lines([question()]) + "\n")
    (item,) = texts.hellaswag(tmp_path)
    assert item.endings[item.label] == "eats."


@pytest.mark.parametrize(
    "content",
    [
        "[1]\n",
        "{\n",
        lines([question(label=2)]),
        lines([question(label="x")]),
        lines([question(endings=["one"])]),
        lines([question(ctx=7)]),
        lines([{"id": 1}]),
        "",
    ],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, content: str) -> None:
    write(tmp_path / "hellaswag_val.jsonl.gz", content)
    with pytest.raises(DataFileError, match="hellaswag_val"):
        texts.hellaswag(tmp_path)


@pytest.mark.parametrize("raw", [b"plain text", gzip.compress(b"x" * 5000)[:-20],
                                 gzip.compress(b"\xff\xfe\xff")])  # fmt: skip
def test_what_is_no_compressed_text_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "valid.txt.gz").write_bytes(raw)
    with pytest.raises(DataFileError, match="valid"):
        texts.wikitext(tmp_path, "train")


def test_an_absent_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="sgd-dialogues") as caught:
        texts.dialogues(tmp_path, "train")
    assert caught.value.exit_code == 3
