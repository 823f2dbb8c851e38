"""Players behind a real connection, and a real Music Player Daemon where there is one."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import threading
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.config import Config, MpdConfig
from assistant.errors import SkillError
from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.intent.home_grammar import HomeGrammar
from assistant.skills.base import TurnContext
from assistant.skills.media.mpd import Mpd
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.skills.clocks import FakeClock
from tests.assistant.skills.house import furnish, living_in
from tests.home_server import HomeServer
from tests.patience import until

MPD = shutil.which("mpd", path="/usr/bin:/usr/local/bin")


@pytest.mark.parametrize(
    ("text", "service", "entity", "reply"),
    [
        ("pause", "media_pause", "media_player.tv", "Paused the TV."),
        ("next song", "media_next_track", "media_player.tv", "Next one on the TV."),
        ("resume the music in the bedroom", "media_play", "media_player.radio",
         "Playing on the Bedroom radio again."),
        ("mute the tv", "volume_mute", "media_player.tv", "Muted the TV."),
        ("stop the music", "media_pause", "media_player.tv", "Paused the TV."),
    ],
)  # fmt: skip
def test_players(tmp_path: Path, text: str, service: str, entity: str, reply: str) -> None:
    with living_in(tmp_path) as house:
        assert house.reply(text) == reply
        ((name, entities, _),) = house.calls
        assert (name, entities) == (f"media_player.{service}", (entity,))


def test_volume_of_a_player(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        assert house.reply("set the tv volume to 30 percent") == "Volume of the TV: 30 percent."
        for slots, level in (
            ({"name": "TV", "volume_level": 120}, 1.0),
            ({"name": "TV", "volume_level": 0}, 0.0),
        ):
            house.handle(Intent("home.HassSetVolume", slots))
            assert house.calls[-1][2] == {"volume_level": level}
        up = house.handle(
            Intent("home.HassSetVolumeRelative", {"name": "Bedroom radio", "volume_step": "up"})
        )
        assert up.reply == "Volume of the Bedroom radio: 30 percent."
        assert up.undo is not None
        up.undo()
        assert house.server.attributes("media_player.radio")["volume_level"] == 0.2


def test_search_and_play(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        found = [
            {"title": "Folder", "can_play": False, "media_content_id": "x"},
            {"title": "Kind of Blue", "can_play": True, "media_content_id": "album:7",
             "media_content_type": "album"},
        ]  # fmt: skip
        house.server.answers["media_player.search_media"] = {
            "media_player.tv": {"version": 1, "result": found}
        }
        assert house.reply("play jazz") == "Playing Kind of Blue on the TV."
        assert house.calls[-1][2] == {
            "media_content_id": "album:7",
            "media_content_type": "album",
        }
        house.server.answers["media_player.search_media"] = {"media_player.tv": {"result": []}}
        nothing = house.say("play polka")
        assert (nothing.ok, nothing.reply) == (False, "I found nothing called polka on the TV.")


def test_nothing_plays(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.server.set_state("media_player.tv", "idle")
        house.settle("media_player.tv", "idle")
        assert house.reply("what is playing") == "Nothing is playing."
        paused = house.handle(Intent("home.HassMediaPause", {"here": True}))
        assert (paused.ok, paused.reply) == (False, "Nothing is playing.")
        assert house.calls == []


def test_without_any_player(tmp_path: Path) -> None:
    def bare(server: HomeServer) -> None:
        server.entity("light.one", "One")

    with living_in(tmp_path, "", bare) as house:
        assert house.reply("pause") == "I don't know of any player."


class Jukebox:
    """An assistant with a music player and no home."""

    def __init__(self, folder: Path, mpd: dict[str, object]) -> None:
        cfg = Config.model_validate({"skills": {"media": {"mpd": mpd}}})
        clock = FakeClock()
        self.state = State(folder / "state.db", clock.clock)
        self.registry = Registry.load(cfg, self.state)
        self.grammar = HomeGrammar(Snapshot)
        self.grammar.load()
        self.now = clock.wall

    def say(self, text: str) -> str:
        intent = self.grammar.understand(text)
        if text == "what is playing":
            intent = Intent("media.playing")
        assert intent is not None, text
        turn = TurnContext(now=lambda: self.now, state=self.state, utterance=text)
        return self.registry.handle(intent, turn).reply


def answers(client: Mpd) -> bool:
    with contextlib.suppress(SkillError):
        return bool(client.status())
    return False


@pytest.fixture
def mpd(tmp_path: Path) -> Iterator[dict[str, object]]:
    """Settings of a daemon of this test's own, with two songs."""
    if MPD is None:
        pytest.skip("mpd is not installed (apt install mpd)")
    music = tmp_path / "music"
    for artist, title in (("Ella", "Summertime"), ("Miles", "So What")):
        path = music / artist / f"{title}.wav"
        path.parent.mkdir(parents=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(bytes(16_000 * 60))
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "Morning.m3u").write_text("Ella/Summertime.wav\n", encoding="utf-8")
    address = tmp_path / "mpd.socket"
    config = tmp_path / "mpd.conf"
    config.write_text(
        f'''
        music_directory "{music}"
        playlist_directory "{lists}"
        db_file "{tmp_path / "db"}"
        bind_to_address "{address}"
        auto_update "no"
        zeroconf_enabled "no"
        audio_output {{
            type "null"
            name "silence"
            mixer_type "software"
        }}
        ''',
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [MPD, "--no-daemon", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    client = Mpd(MpdConfig(host=str(address)))
    try:
        until(lambda: answers(client))
        client.ask("update")
        until(lambda: "updating_db" not in client.status())
        yield {"host": str(address)}
    finally:
        process.kill()
        process.wait()


def test_a_real_daemon(tmp_path: Path, mpd: dict[str, object]) -> None:
    box = Jukebox(tmp_path, mpd)
    client = Mpd(MpdConfig.model_validate(mpd))
    assert box.say("pause") == "Nothing is playing."
    assert box.say("resume") == "There is nothing in the queue to play."
    assert box.say("play morning") == "Playing Morning."
    until(lambda: client.status()["state"] == "play")
    assert client.song()["file"] == "Ella/Summertime.wav"
    assert "is playing." in box.say("what is playing")
    assert box.say("pause") == "Paused."
    assert client.status()["state"] == "pause"
    assert box.say("resume") == "Playing."
    intent = Intent("home.HassSetVolume", {"volume_level": 40})
    turn = TurnContext(now=lambda: box.now, state=box.state)
    done = box.registry.handle(intent, turn)
    assert done.reply == "Music at 40 percent."
    assert client.status()["volume"] == "40"
    assert box.say("play polka") == "I found nothing called polka."
    assert "play music" in box.registry.abilities
    with pytest.raises(SkillError, match="could not do that"):
        client.ask("nonsense")
    # what is said cannot become a command of its own
    with pytest.raises(SkillError, match="found nothing"):
        client.play_found('x" \nclear\n"')
    assert client.status()["playlistlength"] == "1"


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n", b"OK MPD 0.23\nbroken"])
def test_something_else_than_a_player(greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            connection.sendall(greeting)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        with pytest.raises(SkillError, match="player"):
            Mpd(MpdConfig(host="127.0.0.1", port=port)).status()
        thread.join()


def test_a_player_that_is_not_there(tmp_path: Path) -> None:
    box = Jukebox(tmp_path, {"host": str(tmp_path / "none")})
    assert box.say("next song") == "I can't reach the music player."


def test_what_plays_in_this_room_comes_before_the_daemon(tmp_path: Path) -> None:
    with living_in(tmp_path, skills={"media": {"mpd": {"host": str(tmp_path / "none")}}}) as house:
        assert house.reply("pause") == "Paused the TV."


def test_players_of_the_home_are_told_first_in_this_room(tmp_path: Path) -> None:
    def loud(server: HomeServer) -> None:
        furnish(server)
        server.set_state("media_player.radio", "playing", media_title="Blue", media_artist="Joni")

    with living_in(tmp_path, "Bedroom", loud) as house:
        assert house.reply("what song is this") == "Blue by Joni is playing on the Bedroom radio."
