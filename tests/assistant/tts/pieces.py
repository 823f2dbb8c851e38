"""Pieces of text that are awkward to clean, cut and say, for tests with random text."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = (
    "$5 00 25 ° C km /h 12: 01 am pm Dr. e.g. * ** *** _ __ ` ``` # ## [ ] ](http://x.y/z) ! | "
    "- 1. 2) . ? … ... \" ' “ ” ( ) <b> </b> <a <think> </think> <|im_end|> &amp; Smith the 5 – — "
    "/ & @ % ½ x ² I II VIII World War May 1990 s it St. U.S. No. Jr. a.m. Then , : ; ~ ~~ + = > < "
    "^ v A M 日本 。 ！ 😀 👍🏽 é ß \\ \\* \\frac{1}{2} { } www.a.org https://a.org/b. python"
).split(" ")

_piece = st.sampled_from([*_PIECES, "\n", "\n\n", "\n- ", "\n# ", "\n```\n", "\n> ", "\t", "\x00"])

texts = st.one_of(
    st.text(max_size=60),
    st.lists(_piece, max_size=16).map("".join),
    st.lists(_piece, max_size=16).map(" ".join),
)
