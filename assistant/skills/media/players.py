"""Players of Home Assistant and of the Music Player Daemon: which is meant, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistant.config import MediaConfig
from assistant.errors import SkillError
from assistant.home.base import Entity, Home
from assistant.skills.base import Outcome
from assistant.skills.home.act import GONE, Step, run
from assistant.skills.home.resolve import Resolver
from assistant.skills.home.say import why
from assistant.skills.home.words import names, percent, the
from assistant.skills.media.mpd import Mpd

STEP = 10.0
"""Per cent for "louder" and "quieter"."""

_PREFER = {
    "HassMediaPause": ("playing", "buffering"),
    "HassMediaUnpause": ("paused",),
    "HassMediaNext": ("playing", "paused"),
    "HassMediaPrevious": ("playing", "paused"),
    "HassSetVolume": ("playing", "paused", "on", "idle"),
    "HassSetVolumeRelative": ("playing", "paused", "on", "idle"),
    "HassMediaPlayerMute": ("playing", "paused", "on", "idle"),
    "HassMediaPlayerUnmute": ("playing", "paused", "on", "idle"),
    "HassMediaSearchAndPlay": (),
}
"""States of the player that is most likely meant."""
_CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "HassMediaPause": ("media_pause", {}, "Paused {}."),
    "HassMediaUnpause": ("media_play", {}, "Playing on {} again."),
    "HassMediaNext": ("media_next_track", {}, "Next one on {}."),
    "HassMediaPrevious": ("media_previous_track", {}, "Previous one on {}."),
    "HassMediaPlayerMute": ("volume_mute", {"is_volume_muted": True}, "Muted {}."),
    "HassMediaPlayerUnmute": ("volume_mute", {"is_volume_muted": False}, "Unmuted {}."),
}
_BACK = {"HassMediaPause": "media_play", "HassMediaUnpause": "media_pause"}
_MPD = {
    "HassMediaPause": (("pause", "1"), "Paused."),
    "HassMediaUnpause": (("play",), "Playing."),
    "HassMediaNext": (("next",), "Next one."),
    "HassMediaPrevious": (("previous",), "Previous one."),
}
MEDIA_INTENTS = frozenset(_PREFER)


class Players:
    def __init__(self, cfg: MediaConfig) -> None:
        self._mpd = Mpd(cfg.mpd) if cfg.enabled and cfg.mpd.host else None

    @property
    def has_mpd(self) -> bool:
        return self._mpd is not None

    def handle(
        self, name: str, slots: Mapping[str, Any], home: Home | None, resolver: Resolver
    ) -> Outcome:
        """Does an intent of Home Assistant's for players. Raises SkillError, Unclear."""
        if self._mpd is not None and not self._at_home(name, slots, resolver):
            return self._with_mpd(self._mpd, name, slots)
        if home is None:
            raise SkillError("media.none", "I have no player.")
        players = self._meant(name, slots, resolver)
        if name == "HassMediaSearchAndPlay":
            return self._search(home, players[0], slots)
        if name in ("HassSetVolume", "HassSetVolumeRelative"):
            return self._volume(home, players, slots)
        service, data, said = _CALLS[name]
        outcome = _do(home, players, service, data, said.format(names(players)))
        back = _BACK.get(name)
        if back is None:
            return outcome
        return _with_undo(outcome, home, players, back, {})

    def stop(self, home: Home | None, resolver: Resolver) -> Outcome | None:
        """Pauses what plays in this room, else what plays; None when nothing does."""
        playing = any(
            e.domain == "media_player" and e.state == "playing" for e in resolver.snapshot.entities
        )
        if not playing and (self._mpd is None or self._mpd.status().get("state") != "play"):
            return None
        return self.handle("HassMediaPause", {}, home, resolver)

    def playing(self, home: Home | None, resolver: Resolver) -> str:
        """What is playing, in this room first."""
        if self._mpd is not None and self._mpd.status().get("state") == "play":
            song = self._mpd.song()
            title = song.get("Title") or song.get("Name") or "Something without a name"
            return _title(title, song.get("Artist", ""), "")
        players = [e for e in resolver.snapshot.entities if e.domain == "media_player"]
        playing = [entity for entity in players if entity.state == "playing"]
        own = [e for e in playing if resolver.here is not None and e.area == resolver.here.id]
        if home is None and self._mpd is None:
            raise SkillError("media.none", "I have no player.")
        if not playing:
            return "Nothing is playing."
        return " ".join(
            _title(
                str(e.attributes.get("media_title") or e.attributes.get("app_name") or "Something"),
                str(e.attributes.get("media_artist") or ""),
                f" on {the(e.name)}",
            )
            for e in (own or playing)
        )

    def _at_home(self, name: str, slots: Mapping[str, Any], resolver: Resolver) -> bool:
        """True when a player of the home is meant and not the daemon."""
        if any(slots.get(key) for key in ("name", "area", "floor")):
            return True
        here = resolver.here
        return here is not None and any(
            e.domain == "media_player" and e.area == here.id and e.state == "playing"
            for e in resolver.snapshot.entities
        )

    def _meant(self, name: str, slots: Mapping[str, Any], resolver: Resolver) -> Sequence[Entity]:
        if any(slots.get(key) for key in ("name", "area", "floor", "everywhere")):
            return resolver.find(slots, ("media_player",)).entities
        players = [e for e in resolver.snapshot.entities if e.domain == "media_player"]
        if not players:
            raise SkillError("media.none", "I don't know of any player.")
        there = [entity for entity in players if entity.state not in GONE]
        if not there:
            raise SkillError("media.gone", f"I can't reach {names(players)}.")
        here = resolver.here
        own = [entity for entity in there if here is not None and entity.area == here.id]
        wanted = _PREFER[name]
        for group in (own, there):
            active = [entity for entity in group if entity.state in wanted]
            if active:
                return active
        if name == "HassMediaPause":
            raise SkillError("media.idle", "Nothing is playing.")
        if own:
            return own
        return resolver.find({"everywhere": True}, ("media_player",), many=False).entities

    def _volume(self, home: Home, players: Sequence[Entity], slots: Mapping[str, Any]) -> Outcome:
        note, level = "", slots.get("volume_level")
        if level is None:
            step = slots.get("volume_step")
            points = {"up": STEP, "down": -STEP}.get(str(step))
            points = float(step or 0) if points is None else points
            now = players[0].attributes.get("volume_level")
            if not isinstance(now, int | float):
                service = "volume_up" if points > 0 else "volume_down"
                said = "louder" if points > 0 else "quieter"
                return _do(home, players, service, {}, f"{_capital(names(players))}: {said}.")
            level = min(max(round(float(now) * 100) + points, 0.0), 100.0)
        inside = min(max(float(level), 0.0), 100.0)
        if inside != float(level):
            note = "The volume goes from 0 to 100. "
        reply = f"{note}Volume of {names(players)}: {percent(inside)}."
        data = {"volume_level": round(inside / 100, 2)}
        outcome = _do(home, players, "volume_set", data, reply)
        before = players[0].attributes.get("volume_level")
        if not isinstance(before, int | float):
            return outcome
        return _with_undo(outcome, home, players, "volume_set", {"volume_level": before})

    def _search(self, home: Home, player: Entity, slots: Mapping[str, Any]) -> Outcome:
        query = str(slots.get("search_query", ""))
        wanted: dict[str, Any] = {"search_query": query}
        if slots.get("media_class"):
            wanted["media_filter_classes"] = [str(slots["media_class"])]
        answer = home.ask("media_player", "search_media", [player.id], wanted).get(player.id)
        results = answer.get("result") if isinstance(answer, Mapping) else None
        for item in results if isinstance(results, list) else ():
            if isinstance(item, Mapping) and item.get("can_play") and item.get("media_content_id"):
                data = {
                    "media_content_id": item["media_content_id"],
                    "media_content_type": item.get("media_content_type", "music"),
                }
                title = str(item.get("title") or query)
                reply = f"Playing {title} on {the(player.name)}."
                return _do(home, [player], "play_media", data, reply)
        raise SkillError("media.nothing", f"I found nothing called {query} on {the(player.name)}.")

    def _with_mpd(self, mpd: Mpd, name: str, slots: Mapping[str, Any]) -> Outcome:
        if name == "HassMediaSearchAndPlay":
            query = str(slots.get("search_query", ""))
            found = mpd.play_found(query, str(slots.get("media_class") or ""))
            return Outcome(f"Playing {found}.", _action(name, query=found))
        if name in ("HassSetVolume", "HassSetVolumeRelative"):
            return self._mpd_volume(mpd, slots)
        if name not in _MPD:
            raise SkillError("media.unable", "The music player can't do that.")
        status = mpd.status()
        playing = status.get("state") == "play"
        if name != "HassMediaUnpause" and status.get("state") == "stop":
            raise SkillError("media.idle", "Nothing is playing.")
        if name == "HassMediaUnpause" and status.get("playlistlength", "0") == "0":
            raise SkillError("media.empty", "There is nothing in the queue to play.")
        command, said = _MPD[name]
        mpd.ask(*command)

        def undo() -> Outcome:
            mpd.ask("pause", "0" if playing else "1")
            return Outcome("Okay, I took that back.", _action("undo"))

        back = undo if name in _BACK else None
        return Outcome(said, _action(name), undo=back)

    def _mpd_volume(self, mpd: Mpd, slots: Mapping[str, Any]) -> Outcome:
        now = mpd.status().get("volume", "-1")
        if not now.isdecimal():
            raise SkillError("media.unable", "The music player has no volume to set.")
        level = slots.get("volume_level")
        if level is None:
            step = slots.get("volume_step")
            points = {"up": STEP, "down": -STEP}.get(str(step))
            level = int(now) + (float(step or 0) if points is None else points)
        inside = round(min(max(float(level), 0.0), 100.0))
        mpd.ask("setvol", str(inside))

        def undo() -> Outcome:
            mpd.ask("setvol", now)
            return Outcome(f"The music is back at {percent(int(now))}.", _action("undo"))

        return Outcome(f"Music at {percent(inside)}.", _action("volume", level=inside), undo=undo)


def _do(
    home: Home, players: Sequence[Entity], service: str, data: Mapping[str, Any], reply: str
) -> Outcome:
    result = run(home, [Step("media_player", service, tuple(players), data)])
    if not result.done:
        if result.error is not None:
            raise result.error
        raise SkillError("media.gone", f"{_capital(why(result.failed))}.")
    if result.failed:
        reply = f"{reply[:-1]}, but {why(result.failed)}."
    done = [entity.id for entity in result.done]
    return Outcome(reply, _action(service, entities=done, data=dict(data)))


def _with_undo(
    outcome: Outcome, home: Home, players: Sequence[Entity], service: str, data: Mapping[str, Any]
) -> Outcome:
    def undo() -> Outcome:
        return _do(home, players, service, data, "Okay, I took that back.")

    return Outcome(outcome.reply, outcome.action, undo=undo)


def _title(title: str, artist: str, where: str) -> str:
    by = f" by {artist}" if artist else ""
    return f"{title}{by} is playing{where}."


def _action(do: str, **fields: Any) -> dict[str, Any]:
    return {"skill": "media", "do": do, **fields}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
