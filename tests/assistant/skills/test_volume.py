"""One clear scale, kept over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.config import Config
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("volume"))


@pytest.mark.parametrize(
    ("said", "level", "remark"),
    [
        ("minus 7", 0, "0 to 100"),
        ("-7", 0, "0 to 100"),
        ("0", 0, ""),
        ("zero", 0, ""),
        ("6", 6, ""),
        ("10", 10, ""),
        ("eleven", 11, ""),
        ("55 %", 55, ""),
        ("100", 100, ""),
        ("130", 100, "0 to 100"),
        ("max", 100, ""),
        ("half", 50, ""),
        ("33.4 percent", 33, ""),
    ],
)
def test_levels(talk: Talk, said: str, level: int, remark: str) -> None:
    talk.say("set the volume to 42")
    outcome = talk.say(f"set the volume to {said}")
    assert outcome.action == {"skill": "volume", "do": "set", "level": level, "muted": False}
    assert str(level) in outcome.reply
    assert remark in outcome.reply
    assert talk.registry.volume() == (level, False)


def test_steps_stay_on_the_scale(talk: Talk) -> None:
    talk.say("set the volume to 85")
    assert talk.reply("louder") == "Volume 95."
    assert talk.reply("louder") == "Volume 100, that's the maximum."
    assert talk.reply("turn it down by 30 percent") == "Volume 70."
    talk.say("volume 5")
    assert talk.reply("quieter") == "Volume 0, that's the minimum."
    assert talk.registry.volume() == (0, False)


def test_mute_keeps_the_level(talk: Talk) -> None:
    talk.say("volume 35")
    talk.say("mute")
    assert talk.registry.volume() == (35, True)
    assert talk.reply("what's the volume") == "The volume is 35. The sound is off."
    assert talk.reply("unmute") == "Volume 35."
    assert talk.registry.volume() == (35, False)
    talk.say("mute")
    talk.say("volume up")
    assert talk.registry.volume() == (45, False), "asking for sound ends the mute"


def test_question_changes_nothing(talk: Talk) -> None:
    talk.say("volume 35")
    outcome = talk.say("how loud are you")
    assert (outcome.reply, outcome.action) == ("The volume is 35.", None)


def test_restored_after_ten_restarts(talk: Talk) -> None:
    talk.say("volume 35")
    for _ in range(10):
        talk.restart()
        assert talk.registry.volume() == (35, False)
    talk.say("mute")
    talk.restart()
    assert talk.registry.volume() == (35, True)


@pytest.mark.parametrize("kept", ["loud", None, True, -1, 101, 55.5, {"level": 3}])
def test_unusable_value_gives_the_default(tmp_path: Path, kept: object) -> None:
    cfg = Config.model_validate({"audio": {"default_volume": 22}})
    state = State(tmp_path / "state.db")
    state.update({"volume": kept, "muted": "perhaps"})
    assert Registry.load(cfg, state).volume() == (22, False)


def test_damaged_file_gives_the_default_and_a_warning(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.say("volume 90")
    talk.state.close()
    for side in tmp_path.glob("state.db*"):
        side.write_bytes(b"\x00garbage" * 2000)
    talk.restart()
    assert talk.registry.volume() == (Config().audio.default_volume, False)
    assert len(talk.state.warnings) == 1


def test_speech_gets_slower_and_faster_within_limits(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Config.model_validate({"tts": {"speed": 1.2}}))
    assert talk.registry.speed() == 1.2
    assert talk.reply("speak slower") == "OK, I speak slower now."
    slower = talk.registry.speed()
    assert 0.5 < slower < 1.2
    talk.restart()
    assert talk.registry.speed() == slower
    assert talk.reply("faster") == "OK, back to my normal speed."
    while talk.say("talk faster").ok:
        assert talk.registry.speed() < 2.0
    assert talk.reply("talk faster") == "I can't speak any faster."
    talk.say("normal speed")
    assert talk.registry.speed() == 1.2
    assert talk.reply("undo that") == "OK, I speak as before."
    assert talk.registry.speed() > 1.2
    talk.state.set("speech_speed", "quick")
    assert talk.registry.speed() == 1.2


@pytest.mark.parametrize(
    ("last", "text", "name", "slots"),
    [
        ("volume 40", "make it fifty", "volume.set", {"level": 50}),
        ("louder", "no, 30 percent", "volume.set", {"level": 30}),
        ("volume 40", "make it 120", "volume.set", {"level": 100, "said": 120}),
        ("louder", "a bit more", "volume.up", {}),
        ("louder", "again", "volume.up", {}),
        ("turn it up", "too much", "volume.down", {}),
        ("speak slower", "even more", "volume.slower", {}),
    ],
)
def test_what_is_said_next(
    talk: Talk, last: str, text: str, name: str, slots: dict[str, object]
) -> None:
    before = talk.grammar.understand(last)
    assert before is not None
    intent = talk.registry.revise(before, text, talk.turn(text))
    assert intent is not None
    assert (intent.name, intent.slots) == (name, slots)


@pytest.mark.parametrize("text", ["and then she left", "no", "fifty", "what a day"])
def test_talk_after_the_volume_is_talk(talk: Talk, text: str) -> None:
    before = talk.grammar.understand("volume 40")
    assert before is not None
    assert talk.registry.revise(before, text, talk.turn(text)) is None
