from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.tts.clean import CODE_NOTE, MAX_TAG, MAX_WORD, Cleaner
from assistant.tts.markup import FORBIDDEN
from tests.assistant.tts.pieces import texts


def clean(*pieces: str) -> str:
    cleaner = Cleaner()
    return ("".join(map(cleaner.feed, pieces)) + cleaner.finish()).strip()


CASES = {
    # emphasis
    "**Bold** and *soft*, __both__ ~~gone~~": "Bold and soft, both gone",
    "***Really*** **two words**": "Really two words",
    "That is un*believ*able": "That is unbelievable",
    "\\*stars\\* stay out": "stars stay out",
    # signs that mean something
    "2 * 3 is 6, 4*5 is 20, 2**3 is 8": "2 × 3 is 6, 4×5 is 20, 2^3 is 8",
    "We are #1 in C# and #music": "We are number 1 in C sharp and music",
    "use my_long_name and __init__": "use my long name and init",
    "~5 and 5 < 6": "~5 and 5 < 6",
    # blocks
    "# Soup\nCook it.": "Soup. Cook it.",
    "## What now? ##\nEat.": "What now? Eat.",
    "You need:\n- salt\n- **red** pepper\n* oil.\n\nDone": (
        "You need: salt. red pepper. oil. Done"
    ),
    "1. Wash\n2) Peel\n\nThen eat.": "1: Wash. 2: Peel. Then eat.",
    "- [ ] sweep\n- [x] dust": "sweep. dust",
    "> Be kind.\n> Always.": "Be kind. Always.",
    "Title\n=====\ntext\n\n---\n\nmore": "Title. text. more",
    "| Day | High |\n|-----|:----:|\n| Mon | 12 |\n| --- | --- |\nDone": "Day, High. Mon, 12. Done",
    "Tulips bloom\nRoses wait": "Tulips bloom, Roses wait",
    "a line that was\nwrapped": "a line that was wrapped",
    "one\n\ntwo": "one. two",
    "It is 4.\n5.": "It is 4. 5.",
    "5.": "5.",
    "No space.Here it is!Yes": "No space. Here it is! Yes",
    "8) Oil": "8: Oil",
    "XO and =3 stay :P": "XO and =3 stay",
    "-5 outside": "-5 outside",
    # code
    "Run `ls -l` now": "Run ls -l now",
    "```python\nprint('*')\n```\nThere.": f"{CODE_NOTE} There.",
    "``` python\nprint('*')\n```\nThere.": f"{CODE_NOTE} There.",
    "```\na short poem\n```\nThere.": "a short poem. There.",
    "use ```this``` here": "use this here",
    # links
    "See [the page](https://a.org/x_(y)) now": "See the page now",
    'See [the long page](https://a.org "A title here"), ok?': "See the long page, ok?",
    "![A cat on a mat](cat.png) is here": "A cat on a mat is here",
    "[text][ref] and more.[1] End[^2].": "text and more. End.",
    "Go to https://www.example.org/a_b?c=1#d.": "Go to example.org.",
    "(http://example.org) or www.example.net/x!": "(example.org) or example.net!",
    "<https://example.org> and <me@example.org>": "example.org and me@example.org",
    # HTML
    "<b>bold</b> and <em class='x y'>soft</em><br/>next": "bold and soft, next",
    "<ul><li>milk</li><li>eggs</li></ul>": "milk, eggs",
    "<!-- a note --> text <!-- b": "text",
    "Salt &amp; pepper&nbsp;too &#42;": "Salt & pepper too",
    "if a <b and more": "if a <b and more",
    "<think>secret *plan*</think>Hello": "Hello",
    "<style>p {x}</style> Hello": "Hello",
    # chat markers
    "<|im_start|>assistant\nHello<|im_end|>": "Hello",
    "</s>[INST] Hi [/INST] there <|endoftext|>": "Hi there",
    "Assistant: Hello": "Hello",
    # emoji, control and odd characters
    "Great 🎉👍🏽 job 👩‍👩‍👧 now ☀️": "Great job now",
    "Nice :smile: at 12:30:15 :-)": "Nice at 12:30:15",
    "1️⃣ one": "1 one",
    "25 °C stays": "25 °C stays",
    "a\u200bb\u00adc\x07 d\x00e": "abc d e",
    "𝗕𝗼𝗹𝗱 ｆｕｌｌ ﬁt": "Bold full fit",
    "Grüße, 日本。": "Grüße, 日本。",
    "cafe\u0301": "café",
    # formulas
    "\\frac{1}{2} \\times 3 \\approx \\(x\\)": "1/2 × 3 ≈ (x)",
    "": "",
    "** __ ``` # [ ]": "",
}


@pytest.mark.parametrize(("text", "plain"), CASES.items())
def test_table(text: str, plain: str) -> None:
    assert clean(text) == plain


@pytest.mark.parametrize("text", CASES)
def test_cut_anywhere(text: str) -> None:
    whole = clean(text)
    assert clean(*text) == whole
    for i in range(len(text)):
        assert clean(text[:i], text[i:]) == whole


@settings(deadline=None, max_examples=200)
@given(texts, st.integers(0, 80))
@example("<a\n](x", 2)
def test_any_text(text: str, cut: int) -> None:
    whole = clean(text)
    assert clean(*text) == clean(text[:cut], text[cut:]) == whole
    assert not set(FORBIDDEN) & set(whole)
    assert clean("ordinary words") == "ordinary words"


@settings(deadline=None, max_examples=100)
@given(st.lists(st.from_regex(r"[A-Za-zäöü']{1,9}[.,!?]?", fullmatch=True), min_size=1))
def test_ordinary_words_stay(words: list[str]) -> None:
    text = "So " + " ".join(words)
    assert clean(text).split() == text.split()


def test_a_cleaner_is_ready_again() -> None:
    cleaner = Cleaner()
    for broken in ("```python\nx", "<think>x", "[a](b", "<a ", "1.", "- ", "**x"):
        cleaner.feed(broken)
        cleaner.finish()
        assert cleaner.feed("- New text.\n") + cleaner.finish() == "New text. "


def test_words_come_out_at_once() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("The **timer** is") == "The timer"
    assert cleaner.feed(" set.") == " is"
    # The space after a sentence is there without waiting for the next word.
    assert cleaner.feed("\n") == " set. "


def test_look_ahead_is_bounded() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("x" * (MAX_WORD + 1)) == "x" * MAX_WORD
    cleaner.finish()
    assert "and so on" in cleaner.feed("a <b " + "and so on " * (MAX_TAG // 5))


def test_a_very_long_text() -> None:
    text = "**word** `code` [link](http://a.b) <i>x</i> 🎉 " * 2000
    assert clean(text).split() == ["word", "code", "link", "x"] * 2000
