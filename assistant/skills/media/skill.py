"""What is playing; starting and stopping comes as Home Assistant's intents to the home skill."""

from __future__ import annotations

from assistant.config import Config
from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.home.resolve import Resolver
from assistant.skills.media.players import Players
from assistant.state import State


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
        snapshot = self.home.snapshot() if self.home is not None else Snapshot()
        resolver = Resolver(snapshot, turn.area, turn.utterance)
        return Outcome(self._players.playing(self.home, resolver))
