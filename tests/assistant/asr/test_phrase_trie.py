from __future__ import annotations

import numpy as np
import pytest

from assistant.asr.moonshine_tokens import END, Tokens
from assistant.asr.phrase_trie import LIFT, MOST_PHRASES, PhraseTrie

PIECES = ("\u2581", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.")
TOKENS = Tokens([b"<unk>", b"<s>", b"</s>", *[b""] * 256, *(p.encode() for p in PIECES)])
"""One token a letter, so that what is lifted can be counted."""


def lifts(trie: PhraseTrie, text: str, *, end: bool = True) -> list[float]:
    """What each token of the text, and the end, adds."""
    state, added = 0, []
    for token in (*TOKENS.spell(text), *([END] if end else ())):
        state, lift = trie.step(state, token)
        added.append(lift)
    return added


def test_each_further_token_is_lifted_more() -> None:
    added = lifts(PhraseTrie(["dog"], TOKENS), " dog", end=False)
    assert added[0] == LIFT
    assert added == sorted(added)
    assert added[-1] > LIFT


@pytest.mark.parametrize("text", [" a dog", " a dog, you", " dog dog", " Dog"])
def test_a_whole_phrase_keeps_what_it_was_lifted(text: str) -> None:
    one = sum(lifts(PhraseTrie(["dog"], TOKENS), " dog"))
    assert sum(lifts(PhraseTrie(["dog"], TOKENS), text)) == pytest.approx(
        one * text.lower().count("dog")
    )


@pytest.mark.parametrize("text", [" do", " dot", " d og", " dogs", " doggerel", " the cat"])
def test_an_unfinished_phrase_gives_all_back(text: str) -> None:
    assert sum(lifts(PhraseTrie(["dog"], TOKENS), text)) == pytest.approx(0.0)


def test_a_shorter_phrase_stays_when_the_longer_one_breaks_off() -> None:
    trie = PhraseTrie(["hot dog", "hot dog stand"], TOKENS)
    short = sum(lifts(trie, " hot dog"))
    assert sum(lifts(trie, " hot dog sta")) == pytest.approx(short)
    assert sum(lifts(trie, " hot dog stand")) > short


def test_the_end_of_one_beginning_may_begin_another() -> None:
    trie = PhraseTrie(["big red bus", "red car"], TOKENS)
    alone = sum(lifts(trie, " red car"))
    assert sum(lifts(trie, " big red car")) == pytest.approx(alone)


def test_choices_hold_the_best_tokens_and_those_of_phrases() -> None:
    trie = PhraseTrie(["dog"], TOKENS)
    logprobs = np.full(len(TOKENS), -9.0, np.float32)
    best = TOKENS.spell("xyz")
    logprobs[list(best)] = -1.0
    space, letter = TOKENS.spell(" d")
    state, _ = trie.step(0, space)
    tokens = {choice.token: choice for choice in trie.choices(state, logprobs, 2)}
    assert set(best) < set(tokens)
    assert tokens[letter].lift > 0
    assert tokens[letter].logprob == -9.0
    assert all(tokens[token].lift == -LIFT for token in best)


def test_whole_sentences_are_not_lifted() -> None:
    trie = PhraseTrie(["what is on my list", "my list", ""], TOKENS)
    assert sum(lifts(trie, " what is on")) == 0.0
    assert sum(lifts(trie, " what is on my list")) == sum(lifts(trie, " my list")) > 0


def test_hundreds_of_phrases_are_taken_and_no_more() -> None:
    trie = PhraseTrie((f"word {i:04d}".replace("0", "o") for i in range(5000)), TOKENS)
    assert 0 < len(trie._nodes) < 40 * MOST_PHRASES
    assert sum(lifts(PhraseTrie([], TOKENS), " dog")) == 0.0
