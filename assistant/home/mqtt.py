"""A home behind an MQTT broker: devices from the settings and from zigbee2mqtt."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.config import MqttConfig
from assistant.errors import PackageError, SkillError
from assistant.home.base import Area, Entity, Home, PartlyDone, Snapshot
from assistant.home.broker import Broker
from assistant.home.declared import Declared
from assistant.home.device import Device, Message, area_id
from assistant.home.keeper import Keeper, LinkError, Wait
from assistant.home.zigbee import devices

log = logging.getLogger(__name__)

PUBLISH_S = 5.0
"""Longest wait until the broker has taken a command."""
CONFIRM_S = 3.0
"""Longest wait until a device tells that it has done it."""
RECONNECT_S = 3.0
BRIDGE_S = 2.0
"""Longest wait at the start for zigbee2mqtt to tell its devices."""
UNAVAILABLE = "unavailable"


class Mqtt(Home):
    def __init__(
        self,
        cfg: MqttConfig,
        *,
        wait: Wait = threading.Event.wait,
        now: Callable[[], float] = time.monotonic,
        confirm_s: float = CONFIRM_S,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        """wait, now: how time passes between two tries to connect."""
        self._cfg = cfg
        self._confirm_s = confirm_s
        self._reconnect_s = reconnect_s
        self._keeper = Keeper("the MQTT broker", self._session, wait=wait, now=now)
        self._changed = threading.Condition()
        self._declared = [Declared(n, d) for n, d in cfg.devices.items() if d.domain]
        self._devices: dict[str, Device] = {}
        self._states: dict[str, tuple[str, dict[str, Any]]] = {}
        self._heard: dict[str, int] = {}
        self._rooms: dict[str, str] = {}
        self._version = 0
        self._broker: Broker | None = None
        self._lost = True
        self._announces = False
        self._bridge_told = threading.Event()
        rooms = {area_id(d.area): d.area for d in cfg.devices.values() if d.area}
        self._set_devices([], rooms)

    def announce(self) -> None:
        self._announces = True

    def start(self) -> None:
        self._keeper.start()

    def settle(self, timeout_s: float) -> None:
        self._keeper.settle(timeout_s)
        if self._cfg.zigbee2mqtt and self._keeper.connected:
            self._bridge_told.wait(min(timeout_s, BRIDGE_S))

    def trouble(self) -> str:
        return self._keeper.trouble

    def hint(self) -> str:
        return self._keeper.hint

    def snapshot(self) -> Snapshot:
        with self._changed:
            areas = tuple(Area(id_, name) for id_, name in self._rooms.items())
            entities = tuple(self._entity(device) for device in self._devices.values())
            return Snapshot((), areas, entities, self._version)

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        if not self._keeper.wait_connected(self._reconnect_s):
            raise SkillError("home.away", "I can't reach the MQTT broker right now.")
        with self._changed:
            known = [self._devices[id_] for id_ in entities if id_ in self._devices]
            before = dict(self._heard)
            messages = [
                (device, message)
                for device in known
                for message in device.write(service, data, self._states[device.entity.id][0])
            ]
        if not known:
            raise SkillError("home.unknown", "I don't know that device any more.")
        self._publish([message for _, message in messages])
        failed = self._unconfirmed(known, service, data, before)
        if failed:
            names = " and ".join(device.entity.name for device in failed)
            ids = tuple(device.entity.id for device in failed)
            raise PartlyDone("home.silent", f"The {names} did not answer.", ids)

    def close(self) -> None:
        broker = self._broker
        self._keeper.close(timeout_s=0)
        if broker is not None:
            broker.close()
        self._keeper.close()

    def _session(self) -> None:
        try:
            topic = self._cfg.availability_topic if self._announces else ""
            broker = Broker(self._cfg, self._take, topic)
        except PackageError as error:
            raise LinkError(error.message, error.hint, until=lambda: False) from error
        try:
            with self._changed:
                self._states = {id_: ("unknown", {}) for id_ in self._devices}
                topics = self._topics()
            self._broker = broker
            broker.open(topics)
            with self._changed:
                self._lost = False
            self._keeper.up()
            broker.serve()
        finally:
            self._keeper.lost()
            self._broker = None
            with self._changed:
                self._lost = True
                self._changed.notify_all()
            broker.close()

    def _topics(self) -> list[str]:
        topics = [topic for device in self._devices.values() for topic in device.reads]
        if self._cfg.zigbee2mqtt:
            base = self._cfg.base_topic
            topics += [f"{base}/bridge/devices", f"{base}/bridge/state"]
        return topics

    def _set_devices(self, found: Sequence[Device], rooms: Mapping[str, str]) -> None:
        """What the settings name comes before what the bridge tells of the same name."""
        wanted: dict[str, Device] = {}
        for device in (*self._declared, *found):
            wanted.setdefault(device.entity.id, device)
        before = [device.entity for device in self._devices.values()], self._rooms
        self._rooms = {**self._rooms, **rooms}
        self._devices = wanted
        self._states = {id_: self._states.get(id_, ("unknown", {})) for id_ in wanted}
        if before != ([device.entity for device in wanted.values()], self._rooms):
            self._version += 1

    def _take(self, topic: str, payload: bytes) -> None:
        """A message, on the thread of the connection."""
        base = self._cfg.base_topic
        if self._cfg.zigbee2mqtt and topic == f"{base}/bridge/devices":
            self._take_bridge(payload)
            return
        with self._changed:
            if self._cfg.zigbee2mqtt and topic == f"{base}/bridge/state":
                state = UNAVAILABLE if b"offline" in payload[:100] else "unknown"
                for id_, device in self._devices.items():
                    old, attributes = self._states[id_]
                    if not isinstance(device, Declared) and UNAVAILABLE in (state, old):
                        self._states[id_] = (state, attributes)
            for id_, device in self._devices.items():
                if topic in device.reads and (reading := device.read(topic, payload)):
                    state, attributes = self._states[id_]
                    new = state if reading.state is None else reading.state
                    if new == "unknown" and state != UNAVAILABLE:
                        new = state  # it is there, which says nothing of on or off
                    self._states[id_] = (new, {**attributes, **reading.attributes})
                    self._heard[id_] = self._heard.get(id_, 0) + 1
            self._changed.notify_all()

    def _take_bridge(self, payload: bytes) -> None:
        found, rooms = devices(payload, self._cfg.base_topic, self._cfg.devices)
        with self._changed:
            self._set_devices(found, rooms)
            self._changed.notify_all()
            topics = self._topics()
            broker = self._broker
        self._bridge_told.set()
        if broker is None:
            return
        broker.subscribe(topics)
        for device in found:
            for message in device.on_start():
                broker.request(message.topic, message.payload)

    def _entity(self, device: Device) -> Entity:
        state, attributes = self._states[device.entity.id]
        fixed = device.entity.attributes
        state = UNAVAILABLE if self._lost else state
        return replace(device.entity, state=state, attributes={**fixed, **attributes})

    def _publish(self, messages: Sequence[Message]) -> None:
        broker = self._broker
        if broker is None or not all(
            broker.publish(topic, payload, PUBLISH_S) for topic, payload in messages
        ):
            text = "The MQTT broker did not take it, so I don't know whether it worked."
            raise SkillError("home.lost", text)

    def _unconfirmed(
        self,
        called: Sequence[Device],
        service: str,
        data: Mapping[str, Any],
        before: Mapping[str, int],
    ) -> list[Device]:
        """The devices that should have told of their new state and did not.

        Of those that never tell, what they were told is taken for their state.
        """
        waiting: list[tuple[Device, str]] = []
        with self._changed:
            for device in called:
                id_, wanted = device.entity.id, device.after(service, data)
                state, attributes = self._states[id_]
                if wanted is None:
                    continue
                if not device.confirms:
                    self._states[id_] = (wanted, {**attributes, "assumed_state": True})
                elif state != wanted:
                    waiting.append((device, wanted))

            def silent() -> list[Device]:
                # What moves slowly says first that it moves.
                return [
                    device
                    for device, wanted in waiting
                    if self._states[device.entity.id][0] != wanted
                    and (
                        device.entity.domain not in ("cover", "valve", "lock")
                        or self._heard.get(device.entity.id, 0) == before.get(device.entity.id, 0)
                    )
                ]

            self._changed.wait_for(lambda: not silent(), self._confirm_s)
            return silent()
