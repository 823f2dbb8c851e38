"""What is playing; starting and stopping comes as Home Assistant's intents to the home skill."""

from __future__ import annotations

import re

from assistant.config import Config
from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.home.resolve import Resolver
from assistant.skills.media.players import Players
from assistant.state import State

_MUSIC = re.compile(
    r"\b(?:music|songs?|tracks?|radio|album|playlist|podcast|audiobook|playing|playback)\b"
)


class MediaSkill(Skill):
    name = "media"
    topics = ("music", "songs", "radio", "media")
    examples = ("what is playing", "pause the music", "next song", "play some jazz")
    phrases = ("what is playing", "pause", "next song", "play")

    def __init__(self, cfg: Config, state: State) -> None:
        self._players = Players(cfg.skills.media)

    @property
    def abilities(self) -> tuple[str, ...]:  # type: ignore[override]
        usable = self.home is not None or self._players.has_mpd
        return ("play music",) if usable else ()

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        return Outcome(self._players.playing(self.home, self._resolver(turn)))

    def stop(self, turn: TurnContext) -> Outcome | None:
        """ "Stop the music"; a bare "stop" is for what this device says itself."""
        if not _MUSIC.search(turn.utterance.casefold()):
            return None
        return self._players.stop(self.home, self._resolver(turn))

    def _resolver(self, turn: TurnContext) -> Resolver:
        snapshot = self.home.snapshot() if self.home is not None else Snapshot()
        return Resolver(snapshot, turn.area, turn.utterance)
