"""Writes the event stream into the log: without what was said, unless that is switched on."""

from __future__ import annotations

import logging
from collections.abc import Callable

from assistant.events import Event, Recovered, StateChanged, Trouble, TurnEnded
from assistant.timing import LatencyLog

log = logging.getLogger(__name__)


class EventLog:
    """An event subscriber.

    log_speech: write fields that hold speech.
    log_every: write the latency percentiles after so many turns; 0 never.
    """

    def __init__(self, *, log_speech: bool = False, log_every: int = 0) -> None:
        self.log_speech = log_speech
        self.log_every = log_every
        self._latencies = LatencyLog()

    def __call__(self, event: Event) -> None:
        self._latencies(event)
        if isinstance(event, Trouble):
            log.warning("%s %s [%s]", event.message, event.hint, event.code)
        elif isinstance(event, Recovered):
            log.info("%s [%s]", event.message or "it works again", event.code)
        else:
            level = logging.DEBUG if isinstance(event, StateChanged) else logging.INFO
            log.log(level, "%s", self.line(event))
        due = self.log_every and self._latencies.turns % self.log_every == 0
        if due and isinstance(event, TurnEnded):
            self._write_latencies()

    def line(self, event: Event) -> str:
        """The event in one line: its name and its fields."""
        fields = event.to_dict(content=self.log_speech)
        name = fields.pop("event")
        fields.pop("t")
        return " ".join([name, *(f"{key}={value!r}" for key, value in fields.items())])

    def _write_latencies(self) -> None:
        for stage, figures in self._latencies.summary().items():
            log.info(
                "latency %s: p50 %.0f ms, p95 %.0f ms, p99 %.0f ms over %d turns",
                stage,
                figures["p50"],
                figures["p95"],
                figures["p99"],
                figures["n"],
            )


class StatusLine:
    """Keeps one line about the whole: "ready (idle)", or "degraded: " and what is wrong."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._state = "starting"
        self._troubles: dict[str, str] = {}
        self._turns: dict[str, int] = {}
        """Code to turn of the troubles that turns had; a later one that works ends them."""
        self._shown = ""

    @property
    def text(self) -> str:
        if self._troubles:
            return "degraded: " + " ".join(self._troubles.values())
        return f"ready ({self._state})"

    def __call__(self, event: Event) -> None:
        if isinstance(event, Trouble):
            self._troubles[event.code] = event.message
            if event.turn:
                self._turns[event.code] = event.turn
        elif isinstance(event, TurnEnded) and event.outcome == "answered":
            for code in [c for c, turn in self._turns.items() if turn < event.turn]:
                del self._turns[code]
                self._troubles.pop(code, None)
        elif isinstance(event, Recovered):
            self._troubles.pop(event.code, None)
        elif isinstance(event, StateChanged):
            self._state = event.state
        else:
            return
        if self.text != self._shown:
            self._shown = self.text
            self._show(self.text)
