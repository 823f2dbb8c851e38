"""A home behind Home Assistant's WebSocket API, with a long-lived access token."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from assistant.config import HomeAssistantConfig
from assistant.errors import PackageError, SkillError
from assistant.home.base import Home, Snapshot
from assistant.home.house import House
from assistant.home.keeper import Keeper, LinkError, Wait
from assistant.home.requests import Refused, Requests
from assistant.home.websocket import WebSocket, open_websocket

log = logging.getLogger(__name__)

NAME = "Home Assistant"
ANSWER_S = 10.0
"""Longest wait for an answer."""
RECONNECT_S = 3.0
"""How long a call waits for a connection that is just being made anew."""
CALM_S = 0.5
"""Changes of names come in bunches; they are read once they have stopped for this long."""
MAX_TOKEN = 4096

_EVENTS = (
    "state_changed",
    "area_registry_updated",
    "floor_registry_updated",
    "device_registry_updated",
    "entity_registry_updated",
)


class HomeAssistant(Home):
    """One thread holds the connection; what it has learnt is read from any."""

    def __init__(
        self,
        cfg: HomeAssistantConfig,
        *,
        wait: Wait = threading.Event.wait,
        now: Callable[[], float] = time.monotonic,
        answer_s: float = ANSWER_S,
        reconnect_s: float = RECONNECT_S,
    ) -> None:
        """wait, now: how time passes between two tries to connect."""
        self._cfg = cfg
        self._url = websocket_url(cfg.url)
        self._answer_s = answer_s
        self._reconnect_s = reconnect_s
        self._keeper = Keeper(NAME, self._session, wait=wait, now=now)
        self._house = House()
        self._requests: Requests | None = None
        self._socket: WebSocket | None = None
        self._stale_since: float | None = None

    def start(self) -> None:
        self._keeper.start()

    def settle(self, timeout_s: float) -> None:
        self._keeper.settle(timeout_s)

    def snapshot(self) -> Snapshot:
        return self._house.snapshot()

    def trouble(self) -> str:
        return self._keeper.trouble

    def hint(self) -> str:
        return self._keeper.hint

    def call(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> None:
        self._service(domain, service, entities, data, answer=False)

    def ask(
        self, domain: str, service: str, entities: Sequence[str], data: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        result = self._service(domain, service, entities, data, answer=True)
        response = result.get("response") if isinstance(result, Mapping) else None
        if not isinstance(response, Mapping):
            raise SkillError("home.no_answer", "Home Assistant gave no answer.")
        return response

    def close(self) -> None:
        socket = self._socket
        self._keeper.close(timeout_s=0)
        if socket is not None:
            socket.close()
        self._keeper.close()

    def _service(
        self,
        domain: str,
        service: str,
        entities: Sequence[str],
        data: Mapping[str, Any],
        *,
        answer: bool,
    ) -> Any:
        fields: dict[str, Any] = {"domain": domain, "service": service, "service_data": dict(data)}
        if entities:
            fields["target"] = {"entity_id": list(entities)}
        if answer:
            fields["return_response"] = True
        if not self._keeper.wait_connected(self._reconnect_s):
            raise SkillError("home.away", f"I can't reach {NAME} right now.")
        requests = self._requests
        future: Future[Any] | None = None
        try:
            if requests is None:
                raise LinkError("")
            future = requests.send("call_service", **fields)
            return future.result(self._answer_s)
        except Refused as error:
            # Its message may repeat what was said, which is not written into the log.
            log.warning("%s.%s was refused: %s", domain, service, error.code)
            raise SkillError("home.refused", _refusal(error)) from error
        except TimeoutError as error:
            if requests is not None and future is not None:
                requests.forget(future)
            text = f"{NAME} did not answer in time, so I don't know whether it worked."
            raise SkillError("home.timeout", text) from error
        except LinkError as error:
            text = f"I can't reach {NAME} right now."
            if future is not None:
                text = f"The connection to {NAME} broke off, so I don't know whether it worked."
            raise SkillError("home.lost", text) from error

    def _session(self) -> None:
        """Connects, reads all, and follows the events until the connection is lost."""
        token = self._token()
        try:
            with open_websocket(self._url, verify_tls=self._cfg.verify_tls) as socket:
                self._socket = socket
                self._log_in(socket, token)
                self._serve(socket)
        except PackageError as error:
            raise LinkError(error.message, error.hint, until=lambda: False) from error
        finally:
            self._socket = None

    def _log_in(self, socket: WebSocket, token: str) -> None:
        self._expect(socket, "auth_required")
        socket.send({"type": "auth", "access_token": token})
        self._expect(socket, "auth_ok", "auth_invalid")

    def _expect(self, socket: WebSocket, kind: str, refusal: str = "") -> None:
        message = socket.receive(self._answer_s)
        if message is None:
            raise LinkError(f"{NAME} does not answer.")
        if message.get("type") == refusal:
            # Each wrong token counts towards a ban of this device.
            token = self._token()
            raise LinkError(
                f"{NAME} does not accept the token.",
                "Make a new one: your profile, Security, Long-lived access tokens.",
                until=lambda: self._another(token),
            )
        if message.get("type") != kind:
            raise LinkError(f"What answers at {urlsplit(self._url).netloc} is not {NAME}.")

    def _serve(self, socket: WebSocket) -> None:
        requests = Requests(socket, self._take)
        try:
            self._follow(requests)
            self._read_all(requests)
            self._requests = requests
            self._keeper.up()
            while not self._keeper.closing:
                came = requests.pump(CALM_S)
                stale = self._stale_since
                if stale is not None and (not came or time.monotonic() - stale > 10 * CALM_S):
                    self._stale_since = None
                    self._read_all(requests)
        except Refused as error:
            reason = f"{NAME} does not tell what there is in the home ({error.code})."
            raise LinkError(reason) from error
        finally:
            self._keeper.lost()
            self._requests = None
            self._house.lose()
            requests.end(LinkError(f"The connection to {NAME} was lost."))

    def _follow(self, requests: Requests) -> None:
        """States have to be told; changes of names may be kept from a user without rights."""
        for event in _EVENTS:
            try:
                requests.get(requests.send("subscribe_events", event_type=event), self._answer_s)
            except Refused as error:
                if event == "state_changed":
                    raise
                log.debug("%s is not told: %s", event, error.code)

    def _read_all(self, requests: Requests) -> None:
        def read(kind: str, **fields: Any) -> Any:
            return requests.get(requests.send(kind, **fields), self._answer_s)

        def optional(kind: str, **fields: Any) -> Any:
            """What an older version, or a token without all rights, does not tell."""
            try:
                return read(kind, **fields)
            except Refused as error:
                log.debug("%s is not told: %s", kind, error.code)
                return None

        exposed: Any = {}  # what a user without rights is not told is not taken for a yes
        try:
            told = read("homeassistant/expose_entity/list")
            exposed = told.get("exposed_entities") if isinstance(told, Mapping) else {}
        except Refused as error:
            if error.code == "unknown_command":
                exposed = None
        self._house.set_registries(
            floors=_listed(optional("config/floor_registry/list") or []),
            areas=_listed(optional("config/area_registry/list") or []),
            devices=_listed(optional("config/device_registry/list") or []),
            entities=_listed(optional("config/entity_registry/list") or []),
            exposed=exposed if isinstance(exposed, Mapping) else None,
        )
        self._house.set_states(_listed(read("get_states")))
        ids = self._house.exposed()
        entries = optional("config/entity_registry/get_entries", entity_ids=ids)
        self._house.set_aliases(entries if isinstance(entries, Mapping) else {})

    def _take(self, event: Mapping[str, Any]) -> None:
        if event.get("event_type") != "state_changed":
            self._stale_since = self._stale_since or time.monotonic()
            return
        data = event.get("data")
        entity = data.get("entity_id") if isinstance(data, Mapping) else None
        if not isinstance(data, Mapping) or not isinstance(entity, str):
            return
        state = data.get("new_state")
        if self._house.change(entity, state if isinstance(state, Mapping) else None):
            self._stale_since = self._stale_since or time.monotonic()

    def _token(self) -> str:
        """Raises LinkError when there is none that could be sent."""
        file = self._cfg.token_file
        if not file:
            return self._cfg.token.strip()
        try:
            token = Path(file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            reason = f"The file with the token for {NAME} cannot be read: {why}."
            hint = f"Check home.home_assistant.token_file ({file})."
            raise LinkError(reason, hint, until=lambda: Path(file).expanduser().exists()) from error
        if not token or len(token) > MAX_TOKEN or any(char.isspace() for char in token):
            reason = f"The file with the token for {NAME} holds no token."
            raise LinkError(reason, f"Put the token alone into {file}.", self._readable)
        return token

    def _readable(self) -> bool:
        try:
            return bool(self._token())
        except LinkError:
            return False

    def _another(self, token: str) -> bool:
        """True when the file now holds another token."""
        try:
            return self._token() != token
        except LinkError:
            return False


def websocket_url(url: str) -> str:
    """The address of the API, from the one that a browser opens."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    path = parts.path.rstrip("/")
    if not path.endswith("/api/websocket"):
        path += "/api/websocket"
    return urlunsplit((scheme, parts.netloc, path, "", ""))


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise LinkError(f"{NAME} answered something else than what was asked for.")
    return value


def _refusal(error: Refused) -> str:
    if error.code == "unauthorized":
        return f"{NAME} does not allow that with my token."
    if error.code in ("not_found", "service_not_found"):
        return f"{NAME} has no such service."
    return f"{NAME} could not do that."
