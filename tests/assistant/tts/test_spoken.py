from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.tts.spoken import to_spoken
from tests.assistant.tts.pieces import texts

TABLE = Path(__file__).resolve().parents[2] / "data" / "spoken.yaml"
CASES = [
    pytest.param(written, said, id=f"{subject}: {written}")
    for subject, cases in yaml.safe_load(TABLE.read_text(encoding="utf-8")).items()
    for written, said in cases.items()
]


def test_table_is_large() -> None:
    assert len(CASES) >= 150


@pytest.mark.parametrize(("written", "said"), CASES)
def test_table(written: str, said: str) -> None:
    assert to_spoken(written) == said


@pytest.mark.parametrize(("written", "said"), CASES)
def test_spoken_text_stays(written: str, said: str) -> None:
    assert to_spoken(said) == said


@settings(deadline=None, max_examples=150)
@given(texts)
@example("Dr*. Smith 5°")
@example("\ud800 5")
@example("1" * 400)
@example("1/0 and 0/0")
def test_any_text(text: str) -> None:
    said = to_spoken(text)
    assert to_spoken(said) == said
    assert not re.search(r"[0-9*#`_\[\](){}<>|\\/@&%$°^~=+\x00-\x1f]", said)
    assert said == "" or any(c.isalnum() for c in said)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 10**17), st.sampled_from(["{}", "{:,}", "-{}", "${}", "{} km", "{}%", "{}th"])
)
def test_any_number(value: int, form: str) -> None:
    assert re.fullmatch(r"[A-Za-z ,-]+", to_spoken(form.format(value)))


@settings(deadline=None, max_examples=100)
@given(st.dates(date(1000, 1, 1), date(2999, 12, 31)))
def test_any_date(day: date) -> None:
    assert re.fullmatch(r"[A-Z][a-z]+ [a-z-]+, [a-z -]+", to_spoken(str(day)))


def test_same_time_in_every_form() -> None:
    forms = ["12:01 am", "12:01am", "12:01 AM", "12:01 a.m.", "12:01 A.M.", "12:01\u202fam"]
    assert {to_spoken(f) for f in forms} == {"twelve oh one a.m."}


def test_a_page_takes_no_time() -> None:
    # No pattern may backtrack without end.
    for heap in (
        "1" * 2000,
        "1,",
        "1 1/",
        "a.",
        "$",
        "-–",
        "5 x ",
        "(",
        "A.",
        "1-",
        "http://",
        "@",
    ):
        assert isinstance(to_spoken((heap * 2000)[:2000]), str)
