"""What a home consists of, and the contract of what switches it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.errors import SkillError


@dataclass(frozen=True, slots=True)
class Floor:
    id: str
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Area:
    """A room. floor: id of its floor, "" when it has none."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    floor: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A device or a part of one.

    id: "domain.object", such as "light.kitchen_ceiling".
    area: id of its area, "" when it has none.
    state: as Home Assistant names it: "on", "off", "open", "21.5", "unavailable", ...
    attributes: as Home Assistant names them: device_class, brightness (0 to 255),
        current_temperature, unit_of_measurement, ...
    """

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    area: str = ""
    state: str = "unknown"
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def domain(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A home at one moment.

    version: grows whenever floors, areas, entities or their names change; states may
        change without it. What is built from names is built again only then.
    """

    floors: tuple[Floor, ...] = ()
    areas: tuple[Area, ...] = ()
    entities: tuple[Entity, ...] = ()
    version: int = 0


class PartlyDone(SkillError):
    """Some of several entities did not do it, or did not tell that they have.

    failed: their ids.
    """

    def __init__(self, code: str, message: str, failed: Sequence[str]) -> None:
        super().__init__(code, message)
        self.failed = tuple(failed)


class Home(ABC):
    """Devices behind one service. Every method may be called from any thread."""

    @abstractmethod
    def start(self) -> None:
        """Begins to connect in the background; never blocks and never fails."""

    def announce(self) -> None:  # noqa: B027 (most homes have no place for it)
        """Before ``start``: this device is here to stay, and says so where that is set."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """What is known now, at once; empty while nothing is known."""

    @abstractmethod
    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        """Does one thing and waits until the service has taken it.

        domain, service, data: as Home Assistant's service calls, such as "light",
            "turn_on", {"brightness_pct": 50}.
        Raises SkillError with a speakable message when it was not done, PartlyDone when
        some of the entities are known to have done it.
        """

    def ask(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """What a service answers, such as "weather", "get_forecasts"; changes nothing.

        Returns the answer by entity id. Raises SkillError, also where nothing answers.
        """
        raise SkillError("home.no_answer", "My home has nothing that could tell.")

    def settle(self, timeout_s: float) -> None:  # noqa: B027 (a home may be there at once)
        """Waits until it is known what there is or why not, at most so long."""

    def hint(self) -> str:
        """What to do about the trouble; "" where there is none or it is not known."""
        return ""

    @abstractmethod
    def trouble(self) -> str:
        """Why it does not work now, as a sentence; "" when it does."""

    def close(self) -> None:  # noqa: B027 (a home may have nothing to end)
        """Ends the connection."""
