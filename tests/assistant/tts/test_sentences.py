from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.tts.sentences import FIRST_LIMIT, LAST_LIMIT, Sentence, SentenceSplitter
from tests.assistant.tts.pieces import texts


def split(*pieces: str) -> list[Sentence]:
    splitter = SentenceSplitter()
    out = [s for piece in pieces for s in splitter.feed(piece)]
    return out + splitter.finish()


# "|" marks where the text is cut.
CASES = [
    "The kettle is on.| Do you want tea?| Great!",
    "Dr. Brown is in.| Mr. Hill and Mrs. Stone are not.",
    "Prof. Green met Gen. Grant.| They talked.",
    "Wake me at 9 a.m. tomorrow.| Thanks.",
    "The shop opens at 9 a.m. Monday.| It shuts at 5 p.m. Friday.",
    "I get up at 6 a.m.| It is early.",
    "It closes at 7pm. on Sundays.| Go early.",
    "Fruit, e.g. apples, is good.| Nuts, i.e. seeds, too.",
    "Bring cups, plates, etc. for all.| Bring forks, etc.| They need them.",
    "J. R. R. Tolkien wrote it.| C. S. Lewis read it.",
    "George R. R. Martin is slow.",
    "She lives in the U.S. now.| The U.S. Army does not.",
    "He moved to the U.K.| He likes it.",
    "Pi is 3.14159 or so.| Really.",
    "It costs $3.50.| That is cheap.",
    "Version 1.2.3 is out.| Get it from example.com today.",
    "No.| I mean it.",
    "No. 5 is alive.| See p. 12 and Fig. 3.",
    "It is on Jan. 5 at noon.| It was cold in Jan.| Then came spring.",
    "Cats vs. dogs is a long fight.",
    "It takes approx. ten minutes.",
    "Well… maybe.| Hmm...| Yes.",
    "Wait... what?",
    "What?!| Really??| Yes!",
    '"Stop!" he said.| "Now."| Then he left.',
    'He said "Sit. Stay. Good dog." and smiled.| I laughed.',
    "She said “Go. Run.” and left.| He ran.",
    "(This is p. 3. It is short.)| Then more.",
    "Martin Luther King Jr. spoke.| I saw Sammy Davis Jr.| He sang.",
    "Apple Inc. grew.| I work at Foo Ltd.| They pay.",
    "I live on Main St. near the park.| Go down Main St.| Then turn.",
    "St. Louis is far.| Mt. Everest is high.",
    "Bake 5 min. more.| Wait 5 min.| Then eat.",
    "It is 6 ft. tall.| It weighs 3 lb.| That is light.",
    "It is 5.| Then it is 6.",
    "1. Wash it.| 2. Peel it.",
    "Take vitamin C.| It helps.",
    "A Ph.D. student came.| She has a Ph.D.| She is smart.",
    "In 44 B.C. Rome burned?| No.",
    "¿Qué tal?| Bien.",
    "日本語です。|はい！|そうです。",
    "Yahoo! is old.".replace("! is", "!| is"),
    "One sentence without an end",
    "Sure, I can do that.",
    "Mix flour, eggs and milk.",
    "The timer for the pasta, which you set an hour ago, has ended.".replace("pasta,", "pasta,|"),
    "On May 5, 2024 we will all meet in the old park by the lake.",
    "I think so – but only if the weather stays nice until the evening.".replace("–", "–|"),
    "Nothing here! ",
]


@pytest.mark.parametrize("marked", CASES)
def test_table(marked: str) -> None:
    expected = [part.strip() for part in marked.split("|")]
    assert [s.text for s in split(marked.replace("|", ""))] == expected


@pytest.mark.parametrize("marked", CASES)
def test_cut_anywhere(marked: str) -> None:
    text = marked.replace("|", "")
    whole = split(text)
    assert split(*text) == whole
    for i in range(len(text)):
        assert split(text[:i], text[i:]) == whole


@settings(deadline=None, max_examples=200)
@given(texts, st.integers(0, 80))
def test_any_text(text: str, cut: int) -> None:
    whole = split(text)
    assert split(*text) == split(text[:cut], text[cut:]) == whole
    assert "".join("".join(s.text.split()) for s in whole) == "".join(text.split())
    assert all(s.text and s.text == s.text.strip() for s in whole)


def test_a_sentence_comes_with_the_space_after_it() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed("The kettle is on.") == []
    assert splitter.feed(" ") == [Sentence("The kettle is on.")]


def test_the_first_clause_of_a_long_sentence_comes_early() -> None:
    splitter = SentenceSplitter()
    text = "If you like it hot, then add a lot more chili to it. If you do not, then leave it out."
    early = splitter.feed(text[: text.index("chili") + 6])
    assert early == [Sentence("If you like it hot,", ends=False)]
    rest = splitter.feed(text[text.index("chili") + 6 :]) + splitter.finish()
    # Only the first sentence is divided: the next ones are made while it is heard.
    assert [s.ends for s in rest] == [True, True]


@pytest.mark.parametrize(
    "text", ["word " * 400, "some words, and " * 125, "x" * 2000, "日" * 2000, "3 km " * 400]
)
def test_length_is_bounded(text: str) -> None:
    chunks = [s.text for s in split(text)]
    assert len(chunks[0]) <= FIRST_LIMIT
    assert max(map(len, chunks)) <= LAST_LIMIT
    assert "".join("".join(chunks).split()) == "".join(text.split())


def test_a_forced_cut_is_made_after_a_clause() -> None:
    text = "we walked along the river for a while until it got dark, then we " + "went on and " * 9
    first = split(text)[0]
    assert first.text.endswith(("dark,", "on"))
    assert not first.ends


def test_a_forced_cut_leaves_numbers_with_their_units() -> None:
    text = "it goes " + " ".join(f"{n} km up" for n in range(10, 90))
    for chunk in split(text):
        assert not chunk.text[-1].isdigit()
        assert not chunk.text.startswith("km")


def test_long_quotations_are_cut_all_the_same() -> None:
    text = '"' + "This is a sentence of a long story. " * 20 + '"'
    assert max(len(s.text) for s in split(text)) <= LAST_LIMIT
    assert len(split(text)) >= 5


def test_a_splitter_is_ready_again() -> None:
    splitter = SentenceSplitter()
    assert splitter.feed('He said "no. (x') == []
    assert splitter.finish() == [Sentence('He said "no. (x')]
    assert splitter.feed("One. Two. ") == [Sentence("One."), Sentence("Two.")]
    assert splitter.finish() == []
