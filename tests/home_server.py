"""A home as Home Assistant shows it over HTTP and WebSocket, on loopback, for tests.

It follows the published API: auth_required, auth, auth_ok; requests with growing ids and their
results; get_states; the lists of the registries; events; call_service with return_response.
It can misbehave in the ways that networks and servers do.
"""

from __future__ import annotations

import contextlib
import http
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from tests.patience import PATIENCE_S

TOKEN = "a-long-lived-token"

Service = Callable[["HomeServer", list[str], dict[str, Any]], dict[str, Any] | None]


@dataclass
class Behaviour:
    """What goes wrong.

    page: an HTML page with this status instead of a WebSocket.
    first: sent, as it is, instead of auth_required.
    broken: sent, as it is, instead of the result of this kind of request.
    refused: error code and message by kind of request, or by "domain.service".
    silent: kinds of requests, or "domain.service", that are never answered.
    shift: added to the id of each result.
    drop_on: the connection is cut, without a word, when this kind of request or service comes.
    """

    page: tuple[int, str] | None = None
    first: str | None = None
    broken: dict[str, str] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    shift: int = 0
    drop_on: set[str] = field(default_factory=set)


class HomeServer:
    """calls: (domain, service, entity ids, data) of each service call that was taken."""

    def __init__(self, token: str = TOKEN, tls: ssl.SSLContext | None = None) -> None:
        self.token = token
        self.tls = tls
        self.behaviour = Behaviour()
        self.floors: list[dict[str, Any]] = []
        self.areas: list[dict[str, Any]] = []
        self.devices: list[dict[str, Any]] = []
        self.entities: dict[str, dict[str, Any]] = {}
        self.states: dict[str, dict[str, Any]] = {}
        self.exposed: dict[str, dict[str, bool]] = {}
        self.calls: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = []
        self.logins: list[str] = []
        self.requests: list[str] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.services: dict[str, Service] = dict(_SERVICES)
        self.called = threading.Condition()
        self._connections: dict[ServerConnection, dict[str, int]] = {}
        self._lock = threading.RLock()
        self._server: Server | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    # What there is.

    def floor(self, name: str, *aliases: str) -> str:
        id_ = _slug(name)
        self.floors.append({"floor_id": id_, "name": name, "aliases": list(aliases), "level": 0})
        return id_

    def area(self, name: str, *aliases: str, floor: str | None = None) -> str:
        id_ = _slug(name)
        row = {"area_id": id_, "name": name, "aliases": list(aliases), "floor_id": floor}
        self.areas.append(row)
        return id_

    def entity(
        self,
        id_: str,
        name: str,
        state: str = "off",
        *,
        area: str | None = None,
        aliases: tuple[str, ...] = (),
        exposed: bool | None = True,
        device: str | None = None,
        row: dict[str, Any] | None = None,
        **attributes: Any,
    ) -> str:
        self.entities[id_] = {
            "entity_id": id_,
            "area_id": area,
            "device_id": device,
            "disabled_by": None,
            "hidden_by": None,
            "entity_category": None,
            "name": None,
            "original_name": name,
            "options": {},
            "aliases": list(aliases),
            **(row or {}),
        }
        self.states[id_] = {
            "entity_id": id_,
            "state": state,
            "attributes": {"friendly_name": name, **attributes},
            "last_changed": "2026-01-01T00:00:00+00:00",
        }
        if exposed is not None:
            self.exposed[id_] = {"conversation": exposed}
        return id_

    def state(self, id_: str) -> str:
        return str(self.states[id_]["state"])

    def attributes(self, id_: str) -> dict[str, Any]:
        return dict(self.states[id_]["attributes"])

    def set_state(self, id_: str, state: str | None, **attributes: Any) -> None:
        """Changes a state, or removes it, and tells all who follow."""
        with self._lock:
            old = self.states.get(id_)
            new = None
            if state is None:
                self.states.pop(id_, None)
            else:
                kept = {**old["attributes"], **attributes} if old else attributes
                new = {"entity_id": id_, "state": state, "attributes": kept}
                self.states[id_] = new
        self.fire("state_changed", {"entity_id": id_, "old_state": old, "new_state": new})

    def fire(self, event: str, data: dict[str, Any] | None = None) -> None:
        with self._lock:
            followers = [
                (connection, subscribed[event])
                for connection, subscribed in self._connections.items()
                if event in subscribed
            ]
        body = {"event_type": event, "data": data or {}, "origin": "LOCAL"}
        for connection, number in followers:
            with contextlib.suppress(ConnectionClosed):
                connection.send(json.dumps({"id": number, "type": "event", "event": body}))

    # The server.

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def open_connections(self) -> int:
        with self._lock:
            return len(self._connections)

    def start(self) -> None:
        """Begins to listen; after the first time on the port of before."""
        self._server = serve(
            self._handle,
            "127.0.0.1",
            self._port,
            process_request=self._page,
            ssl=self.tls,
            ping_interval=None,
            close_timeout=1,
        )
        self._port = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        """Stops listening and cuts all connections."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self.cut()
            self._server = None

    def cut(self) -> None:
        """All connections break off without a goodbye."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _cut(connection)

    def wait_for_calls(self, count: int, timeout_s: float = PATIENCE_S) -> None:
        with self.called:
            assert self.called.wait_for(lambda: len(self.calls) >= count, timeout_s), self.calls

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _page(self, connection: ServerConnection, request: Request) -> Response | None:
        status, text = 404, "404: Not Found"
        if request.path == "/api/websocket":
            if self.behaviour.page is None:
                return None
            status, text = self.behaviour.page
        headers = Headers({"Content-Type": "text/html", "Content-Length": str(len(text))})
        return Response(status, http.HTTPStatus(status).phrase, headers, text.encode())

    def _handle(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            if self.behaviour.first is not None:
                connection.send(self.behaviour.first)
                return
            connection.send(json.dumps({"type": "auth_required", "ha_version": "2026.11.2"}))
            token = json.loads(connection.recv(timeout=PATIENCE_S)).get("access_token")
            self.logins.append(token)
            if token != self.token:
                text = "Invalid access token or password"
                connection.send(json.dumps({"type": "auth_invalid", "message": text}))
                return
            connection.send(json.dumps({"type": "auth_ok", "ha_version": "2026.11.2"}))
            with self._lock:
                self._connections[connection] = {}
            try:
                last = 0
                for text in connection:
                    message = json.loads(text)
                    assert message["id"] > last, "ids must grow"
                    last = message["id"]
                    self._answer(connection, message)
            finally:
                with self._lock:
                    self._connections.pop(connection, None)

    def _answer(self, connection: ServerConnection, message: dict[str, Any]) -> None:
        kind, how = message["type"], self.behaviour
        self.requests.append(kind)
        names = {kind}
        if kind == "subscribe_events":
            names.add(f"{kind}/{message['event_type']}")
        if kind == "call_service":
            names.add(f"{message['domain']}.{message['service']}")
        if names & how.drop_on:
            _cut(connection)
            return
        if names & how.silent:
            return
        broken = next((how.broken[name] for name in names if name in how.broken), None)
        if broken is not None:
            connection.send(broken)
            return
        refused = next((how.refused[name] for name in names if name in how.refused), None)
        answer: dict[str, Any] = {"id": message["id"] + how.shift, "type": "result"}
        if refused is not None:
            answer |= {"success": False, "error": {"code": refused[0], "message": refused[1]}}
        else:
            answer |= {"success": True, "result": self._result(connection, kind, message)}
        connection.send(json.dumps(answer))

    def _result(self, connection: ServerConnection, kind: str, message: dict[str, Any]) -> Any:
        if kind == "subscribe_events":
            with self._lock:
                self._connections[connection][message["event_type"]] = message["id"]
            return None
        if kind == "call_service":
            return self._call(message)
        if kind == "config/entity_registry/get_entries":
            return {id_: self.entities.get(id_) for id_ in message["entity_ids"]}
        partial = [
            {key: value for key, value in row.items() if key != "aliases"}
            for row in self.entities.values()
        ]
        return {
            "get_states": list(self.states.values()),
            "config/floor_registry/list": self.floors,
            "config/area_registry/list": self.areas,
            "config/device_registry/list": self.devices,
            "config/entity_registry/list": partial,
            "homeassistant/expose_entity/list": {"exposed_entities": self.exposed},
        }[kind]

    def _call(self, message: dict[str, Any]) -> dict[str, Any]:
        service = f"{message['domain']}.{message['service']}"
        entities = list(message.get("target", {}).get("entity_id", []))
        data = dict(message.get("service_data", {}))
        do = self.services.get(service) or self.services.get("*." + message["service"])
        if do is not None:
            do(self, entities, data)
        with self.called:
            self.calls.append((message["domain"], message["service"], tuple(entities), data))
            self.called.notify_all()
        result: dict[str, Any] = {"context": {"id": "1"}}
        if message.get("return_response"):
            result["response"] = self.answers.get(service)
        return result


def _cut(connection: ServerConnection) -> None:
    with contextlib.suppress(OSError):
        connection.socket.shutdown(socket.SHUT_RDWR)


def _slug(name: str) -> str:
    return name.lower().replace(" ", "_")


def _to(state: str) -> Service:
    def do(server: HomeServer, entities: list[str], data: dict[str, Any]) -> None:
        for entity in entities:
            if entity in server.states and server.state(entity) != "unavailable":
                server.set_state(entity, state)

    return do


def _turn_on(server: HomeServer, entities: list[str], data: dict[str, Any]) -> None:
    new = dict(data)
    if "brightness_pct" in new:
        new["brightness"] = round(new.pop("brightness_pct") * 2.55)
    for entity in entities:
        if server.state(entity) != "unavailable":
            off = new.get("brightness") == 0
            server.set_state(entity, "off" if off else "on", **new)


def _set_position(server: HomeServer, entities: list[str], data: dict[str, Any]) -> None:
    for entity in entities:
        state = "open" if data["position"] else "closed"
        server.set_state(entity, state, current_position=data["position"])


def _attributes(server: HomeServer, entities: list[str], data: dict[str, Any]) -> None:
    for entity in entities:
        server.set_state(entity, server.state(entity), **data)


_SERVICES: dict[str, Service] = {
    "*.turn_on": _turn_on,
    "*.turn_off": _to("off"),
    "cover.open_cover": _to("open"),
    "cover.close_cover": _to("closed"),
    "cover.set_cover_position": _set_position,
    "lock.lock": _to("locked"),
    "lock.unlock": _to("unlocked"),
    "climate.set_temperature": _attributes,
    "fan.set_percentage": _attributes,
    "media_player.volume_set": _attributes,
    "media_player.media_pause": _to("paused"),
    "media_player.media_play": _to("playing"),
    "media_player.turn_off": _to("off"),
    "vacuum.start": _to("cleaning"),
    "vacuum.return_to_base": _to("returning"),
}
