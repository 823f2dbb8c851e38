"""Stop texts are found however the text is cut into pieces, and nothing else is lost."""

from __future__ import annotations

import random

from kvquant.stop_text import StopText


def test_every_way_of_cutting() -> None:
    text, stops = "one two\nUsage: three\nUser: four", ("\nUser:", "zzz")
    for cut in range(len(text)):
        stop = StopText(stops)
        out = "".join(stop.push(piece) for piece in (text[:cut], text[cut:]) if not stop.found)
        assert out == "one two\nUsage: three"
        assert stop.found
    stop = StopText(stops)
    pieces = []
    for char in text:
        pieces.append(stop.push(char))
        if stop.found:
            break
    assert "".join(pieces) == "one two\nUsage: three"


def test_text_is_held_back_only_while_it_may_stop() -> None:
    stop = StopText(["END"])
    assert [stop.push(p) for p in ("a", "E", "N", "x", "EN")] == ["a", "", "", "ENx", ""]
    assert stop.rest() == "EN"
    assert stop.rest() == ""
    assert not stop.found


def test_the_first_of_several_wins() -> None:
    stop = StopText(["yy", "y", "x!"])
    assert stop.push("ab x!y") == "ab "


def test_without_stops_everything_passes() -> None:
    stop = StopText(["", ""])
    assert stop.push("anything") == "anything"
    assert not stop.found


def test_random_texts_against_a_plain_search() -> None:
    rng = random.Random(2)
    for _ in range(500):
        text = "".join(rng.choice("ab") for _ in range(rng.randrange(30)))
        marks = ["".join(rng.choice("ab") for _ in range(rng.randrange(1, 5))) for _ in range(2)]
        stop, out, at = StopText(marks), "", 0
        while at < len(text) and not stop.found:
            n = rng.randrange(1, 4)
            out, at = out + stop.push(text[at : at + n]), at + n
        out += stop.rest()
        # The earliest complete one; with pieces, a longer one may begin before it.
        ends = [text.find(m) for m in marks if m in text]
        assert stop.found == bool(ends)
        assert text.startswith(out)
        if not ends:
            assert out == text
        else:
            assert not any(m in out for m in marks)
