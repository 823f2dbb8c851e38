"""Yes and no as people say them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assistant.intent.yes_no import leaning, undecided, yes_no

DATA = Path(os.environ.get("ASSISTANT_DATA", Path(__file__).parents[4] / "shared" / "data"))

YES = """yes; Yeah, sure.; yeah go on; sure; I guess so; yes please; yep; um, yes; uh-huh; mm-hmm
go for it; why not; no problem; I don't mind; okay then; by all means; that's right; do it; uh huh
sounds good; please do; hell yes; of course; absolutely; I'd love to; that would be nice; you bet
it's fine; fine by me; I think so; go ahead please; right; exactly; alright; yes I do; I suppose
okay, do it; I'm sure; all of them; all right then""".replace("\n", ";")
NO = """no; Nope.; nah; no thanks; please don't; absolutely not; not really; I don't think so
no way; never mind; of course not; certainly not; I'd rather not; better not; don't do it; not now
cancel; stop; no it isn't; that's wrong; leave it; don't bother; I changed my mind; not today
nuh-uh; under no circumstances; no, thank you; that is not right; I'm good; hell no; that's all
yes, no, I mean no; no, that's enough; no, stop; not sure""".replace("\n", ";")
NEITHER = """maybe; I don't know; ten minutes; the kitchen; what time is it; either; hm; milk
is it ok to eat raw eggs; yes and no; how do I say no politely; it depends; set a timer
can I say no; yes and what time is it""".replace("\n", ";")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *((text.strip(), True) for text in YES.split(";")),
        *((text.strip(), False) for text in NO.split(";")),
        *((text.strip(), None) for text in NEITHER.split(";")),
        ("", None),
    ],
)
def test_an_answer_to_a_question(said: str, meant: bool | None) -> None:
    assert yes_no(said) is meant


@pytest.mark.parametrize(
    ("said", "leans"),
    [
        ("no, ten minutes", False),
        ("no butter", False),
        ("yes, the one in the kitchen", True),
        ("yes, I said no onions", True),
        ("no, I said the fifth of May", False),
        ("no no no I said that you should set a timer", False),
        ("the yes men is a film", True),
    ],
)
def test_an_answer_that_says_more(said: str, leans: bool) -> None:
    assert leaning(said) is leans
    assert yes_no(said) is None


@pytest.mark.parametrize("said", ["I don't know yet", "Um, not sure.", "dunno", "let me think"])
def test_no_answer(said: str) -> None:
    assert undecided(said)
    assert not undecided(f"{said} the red one")


def rows(file: str) -> list[dict[str, Any]]:
    path = DATA / file
    if not path.exists():
        pytest.skip(f"{file} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_public_yes_and_no() -> None:
    specs = [
        row for row in rows("recognizers-text/specs_en.jsonl.gz") if row["model"] == "BooleanModel"
    ]
    right = sum(leaning(row["input"]) is row["results"][0]["Resolution"]["value"] for row in specs)
    assert right >= 0.9 * len(specs)


def test_answers_in_public_dialogues() -> None:
    turns = [
        (turn["text"], {act[0] for frame in turn["frames"] for act in frame["acts"]})
        for row in rows("sgd-dialogues/sgd_dev_assistant.jsonl.gz")
        for turn in row["turns"]
    ]
    agreed = [leaning(text) for text, acts in turns if acts == {"AFFIRM"}]
    declined = [leaning(text) for text, acts in turns if acts == {"NEGATE", "THANK_YOU"}]
    assert agreed.count(True) >= 0.97 * len(agreed)
    assert declined.count(False) >= 0.97 * len(declined)
