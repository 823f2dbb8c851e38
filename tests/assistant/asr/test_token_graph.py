from __future__ import annotations

import numpy as np

from assistant.asr.moonshine_search import search
from assistant.asr.moonshine_tokens import END, FIRST_MERGED, Tokens
from assistant.asr.sentences import Sentences, WordNetwork
from assistant.asr.token_graph import TokenGraph

PIECES = (
    *("\u2581", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,.?!-"),
    *("\u2581b", "\u2581bi", "\u2581bit", "te", "\u2581bite", "\u2581o", "ne", "\u2581one"),
)
TOKENS = Tokens([b"<unk>", b"<s>", b"</s>", *[b""] * 256, *(p.encode() for p in PIECES)])


def graph(*templates: str, **lists: tuple[str, ...]) -> TokenGraph:
    return TokenGraph(WordNetwork(Sentences(templates, lists)), TOKENS.spell)


def takes(of: TokenGraph, text: str) -> bool:
    return of.takes(TOKENS.spell(text))


def test_a_text_is_spelled_by_joining_what_has_the_lowest_number() -> None:
    assert TOKENS.spell(" bite") == (FIRST_MERGED + PIECES.index("\u2581bite"),)
    assert TOKENS.text(TOKENS.spell(" a bite, one")) == "a bite, one"


def test_what_has_no_token_is_spelled_by_its_bytes() -> None:
    assert TOKENS.spell("é") == tuple(3 + byte for byte in "é".encode())


def test_ways_in_which_a_sentence_may_be_written() -> None:
    of = graph("one bit [of it]")
    for text in (
        " one bit",
        " One bit.",
        " One Bit of it!",
        " 1 bit",
        " one-bit",
        " one, bit of it?",
    ):
        assert takes(of, text), text
    for text in (" one", " one bit of", ", one bit", " one bite", " onebit", "one bit", ""):
        assert not takes(of, text), text


def test_a_word_that_begins_another_word_leads_to_both() -> None:
    of = graph("bit e", "bite")
    assert takes(of, " bit e")
    assert takes(of, " bite")
    assert not takes(of, " bit")


def test_any_words_may_stand_for_a_star() -> None:
    of = graph("tell * now")
    assert takes(of, " tell the others, all of them, now")
    assert not takes(of, " tell now")
    assert not takes(of, " tell the others")


def test_states_are_made_when_they_are_reached_and_kept() -> None:
    of = graph("one {thing}", thing=tuple(f"bit {c}" for c in "abcdefgh"))
    assert takes(of, " one bit c")
    made = len(of._states)
    assert takes(of, " one bit c")
    assert len(of._states) == made


def heard(text: str, strength: float = 6.0) -> Heard:
    return Heard([*TOKENS.spell(text), END], strength)


class Heard:
    """A network that writes one text, and gives every other token the same, less."""

    def __init__(self, tokens: list[int], strength: float) -> None:
        self.tokens = tokens
        self.strength = strength
        self.step = 0

    def advance(self, newest: object, rows: object) -> np.ndarray:
        logits = np.zeros((len(list(newest)), len(TOKENS)), np.float32)  # type: ignore[call-overload]
        logits[:, self.tokens[min(self.step, len(self.tokens) - 1)]] = self.strength
        self.step += 1
        return logits


def found(of: TokenGraph, heard: Heard) -> str | None:
    beam = search(heard.advance, of, beams=3, limit=40)
    return TOKENS.text([t for t in beam.tokens if t != END]) if beam else None


def test_the_search_finds_the_sentence_that_is_nearest() -> None:
    of = graph("one bit", "a big dog")
    assert found(of, heard(" a big dot")) in ("a big dog", "A big dog")
    assert found(of, heard(" One bit.")) == "One bit."


def test_the_search_gives_up_what_is_none_of_the_sentences() -> None:
    of = graph("a b c d e f g h i j k l m n o p")
    assert found(of, heard(" the quick brown fox jumps over", strength=12.0)) is None
