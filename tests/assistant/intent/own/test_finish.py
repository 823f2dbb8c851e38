"""What becomes of a head's judgement."""

from __future__ import annotations

from assistant.home.base import Area, Entity, Snapshot
from assistant.intent.heads.example import Mark
from assistant.intent.heads.head import Meaning
from assistant.intent.own.finish import Finish

KITCHEN = Snapshot(
    floors=(),
    areas=(Area("kitchen", "Kitchen"),),
    entities=(Entity("light.desk", "Desk lamp", area="kitchen"),),
)
TEXT = "let the desk lamp shine"
SHINE = Meaning("home.HassTurnOn", 0.8, (Mark(8, 17, "name"),))


def test_words_of_skills_stay_as_they_were_said() -> None:
    meaning = Meaning("timer.set", 0.7, (Mark(8, 19, "duration"),))
    intent = Finish(None)(meaning, "ring in ten minutes")
    assert intent is not None
    assert (intent.name, intent.slots) == ("timer.set", {"duration": "ten minutes"})
    assert (intent.source, intent.score) == ("heads", 0.7)


def test_without_a_home_nothing_is_said_to_it() -> None:
    assert Finish(None)(SHINE, TEXT) is None


def test_a_home_gets_the_words() -> None:
    intent = Finish(lambda: KITCHEN)(SHINE, TEXT)
    assert intent is not None
    assert intent.slots == {"name": "desk lamp"}


def test_a_value_that_is_needed() -> None:
    meaning = Meaning("home.HassSetPosition", 0.9, (Mark(8, 17, "name"),))
    assert Finish(lambda: KITCHEN)(meaning, TEXT) is None


def test_music_without_a_home() -> None:
    meaning = Meaning("home.HassMediaPause", 0.9)
    assert Finish(None, ("HassMediaPause",))(meaning, "hold the music") is not None
    assert Finish(None, ())(meaning, "hold the music") is None


def test_a_number_is_never_cut_in_two() -> None:
    for text, marked, whole in (
        ("a timer going eight and a half minutes", "half minutes", "eight and a half minutes"),
        ("ring in two hours and ten minutes", "ten minutes", "two hours and ten minutes"),
        ("volume to forty five please", "five", "forty five"),
        ("ring in ten minutes for tea", "ten minutes", "ten minutes"),
        ("remind me of tea in ten minutes", "tea", "tea"),
    ):
        at = text.index(marked)
        meaning = Meaning("timer.set", 0.9, (Mark(at, at + len(marked), "value"),))
        intent = Finish(None)(meaning, text)
        assert intent is not None
        assert intent.slots == {"value": whole}
