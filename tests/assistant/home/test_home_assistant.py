"""Home Assistant over a real WebSocket, with a server that can misbehave."""

from __future__ import annotations

import gc
import json
import logging
import ssl
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assistant.config import HomeAssistantConfig
from assistant.errors import SkillError
from assistant.home import home_assistant, websocket
from assistant.home.home_assistant import HomeAssistant, websocket_url
from assistant.home.requests import Requests
from tests import certificate
from tests.cable import Cable
from tests.home_server import TOKEN, HomeServer
from tests.patience import PATIENCE_S, until
from tests.ports import free_port


@pytest.fixture
def server() -> Iterator[HomeServer]:
    with HomeServer() as one:
        kitchen = one.area("Kitchen", "cookhouse", floor=one.floor("Ground Floor", "downstairs"))
        one.area("Hall")
        one.entity("light.kitchen", "Kitchen ceiling", area=kitchen, aliases=("big lamp",))
        one.devices.append({"id": "d1", "area_id": "hall"})
        one.entity("light.hall", "Hall lamp", "on", device="d1", brightness=128)
        one.entity("lock.front", "Front door", "locked", exposed=False)
        yield one


@contextmanager
def connected(server: HomeServer, **options: object) -> Iterator[HomeAssistant]:
    patient: dict[str, object] = {"answer_s": PATIENCE_S, "reconnect_s": PATIENCE_S, **options}
    home = HomeAssistant(config(server.url), **patient)  # type: ignore[arg-type]
    home.start()
    home.settle(PATIENCE_S)
    try:
        yield home
    finally:
        home.close()


def config(url: str, token: str = TOKEN, token_file: str = "") -> HomeAssistantConfig:
    return HomeAssistantConfig(url=url, token=token, token_file=token_file)


def state(home: HomeAssistant, entity: str) -> str:
    return next(e.state for e in home.snapshot().entities if e.id == entity)


def names(home: HomeAssistant) -> list[str]:
    return [entity.name for entity in home.snapshot().entities]


def test_reads_rooms_names_and_states(server: HomeServer) -> None:
    with connected(server) as home:
        assert home.trouble() == ""
        snapshot = home.snapshot()
        hall, kitchen = sorted(snapshot.entities, key=lambda e: e.id)
        assert (kitchen.name, kitchen.aliases, kitchen.area) == (
            "Kitchen ceiling",
            ("big lamp",),
            "kitchen",
        )
        assert (hall.area, hall.state, hall.attributes["brightness"]) == ("hall", "on", 128)
        assert [(a.name, a.aliases, a.floor) for a in snapshot.areas] == [
            ("Kitchen", ("cookhouse",), "ground_floor"),
            ("Hall", (), ""),
        ]
        assert [(f.name, f.aliases) for f in snapshot.floors] == [("Ground Floor", ("downstairs",))]


def test_what_is_not_exposed_is_not_there(server: HomeServer) -> None:
    server.entity("light.secret", "Secret", exposed=None, row={"entity_category": "config"})
    server.entity("light.gone", "Gone", row={"disabled_by": "user"})
    server.entity("switch.new", "New", exposed=None)
    server.entity("sensor.wifi", "Wifi", exposed=None, device_class="signal_strength")
    server.entity("sensor.warm", "Warm", exposed=None, device_class="temperature")
    server.entity("weather.home", "Home", "sunny", exposed=False)
    with connected(server) as home:
        assert sorted(names(home)) == ["Hall lamp", "Home", "Kitchen ceiling", "New", "Warm"]


def test_calls_a_service_and_follows_the_states(server: HomeServer) -> None:
    with connected(server) as home:
        version = home.snapshot().version
        home.call("light", "turn_on", ["light.kitchen"], {"brightness_pct": 0.0})
        home.call("light", "turn_off", ["light.hall"], {})
        assert server.calls == [
            ("light", "turn_on", ("light.kitchen",), {"brightness_pct": 0.0}),
            ("light", "turn_off", ("light.hall",), {}),
        ]
        until(lambda: state(home, "light.hall") == "off")
        assert home.snapshot().version == version, "names did not change"


def test_asks_a_service_that_answers(server: HomeServer) -> None:
    server.answers["weather.get_forecasts"] = {"weather.home": {"forecast": []}}
    with connected(server) as home:
        answer = home.ask("weather", "get_forecasts", ["weather.home"], {"type": "daily"})
        assert answer == {"weather.home": {"forecast": []}}
        with pytest.raises(SkillError, match="no answer"):
            home.ask("light", "turn_on", ["light.hall"], {})


def test_new_names_are_read_again(server: HomeServer) -> None:
    with connected(server) as home:
        version = home.snapshot().version
        server.entity("light.desk", "Desk", exposed=None)
        server.set_state("light.desk", "on", friendly_name="Desk")
        until(lambda: "Desk" in names(home))
        assert home.snapshot().version > version
        server.entities["light.desk"]["aliases"] = ["work light"]
        server.fire("entity_registry_updated", {"action": "update"})
        until(lambda: any("work light" in e.aliases for e in home.snapshot().entities))
        server.set_state("light.desk", None)
        until(lambda: "Desk" not in names(home))


def test_what_an_older_version_does_not_tell_is_left_out(server: HomeServer) -> None:
    for kind in (
        "config/floor_registry/list",
        "homeassistant/expose_entity/list",
        "config/entity_registry/get_entries",
        "subscribe_events/floor_registry_updated",
    ):
        server.behaviour.refused[kind] = ("unknown_command", "Unknown command.")
    with connected(server) as home:
        assert home.trouble() == ""
        assert "Kitchen ceiling" in names(home)
        assert home.snapshot().floors == ()


def test_a_version_that_tells_states_alone(server: HomeServer) -> None:
    for kind in ("area", "floor", "device", "entity"):
        server.behaviour.refused[f"config/{kind}_registry/list"] = ("unknown_command", "")
    for kind in ("homeassistant/expose_entity/list", "config/entity_registry/get_entries"):
        server.behaviour.refused[kind] = ("unknown_command", "")
    with connected(server) as home:
        assert home.trouble() == ""
        assert sorted(names(home)) == ["Front door", "Hall lamp", "Kitchen ceiling"]
        home.call("light", "turn_on", ["light.kitchen"], {})


def test_exposure_that_only_the_registry_tells(server: HomeServer) -> None:
    server.behaviour.refused["homeassistant/expose_entity/list"] = ("unauthorized", "")
    server.entities["light.hall"]["options"] = {"conversation": {"should_expose": False}}
    with connected(server) as home:
        assert names(home) == ["Kitchen ceiling"], "the lock by default, the lamp by choice"
    server.entities["light.hall"]["options"] = {}
    with connected(server) as home:
        assert names(home) == ["Hall lamp", "Kitchen ceiling"], "still no lock"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("unauthorized", "does not allow"),
        ("not_found", "no such service"),
        ("home_assistant_error", "could not do that"),
    ],
)
def test_a_refused_call_is_no_success(server: HomeServer, code: str, said: str) -> None:
    server.behaviour.refused["light.turn_on"] = (code, "Error <in> template: traceback")
    with connected(server) as home, pytest.raises(SkillError, match=said) as caught:
        home.call("light", "turn_on", ["light.hall"], {})
    assert "traceback" not in caught.value.message


def test_what_was_said_does_not_get_into_the_log(
    server: HomeServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.behaviour.refused["assist_satellite.announce"] = ("invalid_format", "not: canary bird")
    with connected(server) as home, caplog.at_level(logging.INFO):
        with pytest.raises(SkillError):
            home.call("assist_satellite", "announce", [], {"message": "canary bird"})
        assert "canary" not in caplog.text
        assert TOKEN not in caplog.text


def test_the_token_does_not_get_into_the_log(
    server: HomeServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.behaviour.refused["get_states"] = ("x", f"not for {TOKEN}")
    caplog.set_level(logging.INFO, "websockets.server")  # the other end, which runs here too
    with caplog.at_level(logging.DEBUG), connected(server) as home:
        assert server.logins == [TOKEN]
        assert TOKEN not in home.trouble() + home.hint()
    assert caplog.records
    assert TOKEN not in caplog.text


def test_a_call_without_an_answer_ends(server: HomeServer) -> None:
    server.behaviour.silent.add("light.turn_on")
    with connected(server) as home:
        home._answer_s = 0.2
        with pytest.raises(SkillError, match="did not answer in time"):
            home.call("light", "turn_on", ["light.hall"], {})
        home._answer_s = PATIENCE_S
        home.call("light", "turn_off", ["light.hall"], {})


def test_restart_in_the_middle_of_a_call(server: HomeServer) -> None:
    with connected(server) as home:
        server.behaviour.drop_on.add("light.turn_on")
        with pytest.raises(SkillError, match="don't know whether it worked"):
            home.call("light", "turn_on", ["light.hall"], {})
        until(lambda: bool(home.trouble()) or server.open_connections == 1)
        server.behaviour.drop_on.clear()
        # the call waits for the connection that is made anew
        until(lambda: home.trouble() == "")
        home.call("light", "turn_off", ["light.hall"], {})
        assert [call[1] for call in server.calls] == ["turn_off"]


def test_server_is_away_and_comes_back(server: HomeServer) -> None:
    with connected(server) as home:
        version = home.snapshot().version
        server.stop()
        until(lambda: bool(home.trouble()))
        assert names(home) == ["Hall lamp", "Kitchen ceiling"], "what can be said stays"
        assert {e.state for e in home.snapshot().entities} == {"unavailable"}
        server.set_state("light.hall", "off")
        server.start()
        until(lambda: home.trouble() == "")
        assert state(home, "light.hall") == "off"
        assert home.snapshot().version == version


def test_two_clients_see_the_same(server: HomeServer) -> None:
    with connected(server) as one, connected(server) as other:
        one.call("light", "turn_off", ["light.hall"], {})
        until(lambda: state(one, "light.hall") == state(other, "light.hall") == "off")


def test_calls_from_many_threads_get_their_own_answers(server: HomeServer) -> None:
    for number in range(8):
        server.answers[f"weather.get_{number}"] = {"n": number}
    found: dict[int, object] = {}
    with connected(server) as home:

        def ask(number: int) -> None:
            found[number] = home.ask("weather", f"get_{number}", [], {})["n"]

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {n: n for n in range(8)}


def test_wrong_token_is_said_once_and_not_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "token"
    file.write_text("mistyped-secret\n", encoding="utf-8")
    hour = Hour()
    with HomeServer() as server, caplog.at_level(logging.DEBUG, "assistant"):
        home = HomeAssistant(config(server.url, "", str(file)), wait=hour.wait, now=hour.now)
        home.start()
        assert hour.over.wait(PATIENCE_S)
        assert "does not accept the token" in home.trouble()
        assert server.logins == ["mistyped-secret"]
        assert len([r for r in caplog.records if "token" in r.message]) == 1
        assert "mistyped" not in caplog.text + home.trouble() + home.hint()
        file.write_text(TOKEN, encoding="utf-8")
        hour.more()
        until(lambda: home.trouble() == "")
        home.close()


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff\xfe\x00"])
def test_token_file_that_is_none(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with HomeServer() as server:
        home = HomeAssistant(config(server.url, "", str(file)))
        home.start()
        home.settle(PATIENCE_S)
        assert "token" in home.trouble()
        assert server.logins == []
        home.close()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ((200, "<html>Log in</html>"), "HTTP 200"),
        ((404, "not here"), "HTTP 404"),
        ((403, "banned"), "refuses this device"),
        ((502, "gateway"), "nothing behind it"),
    ],
)
def test_a_page_instead_of_the_api(server: HomeServer, page: tuple[int, str], said: str) -> None:
    server.behaviour.page = page
    with connected(server, reconnect_s=0.05) as home:
        assert said in home.trouble()
        with pytest.raises(SkillError, match="can't reach"):
            home.call("light", "turn_on", ["light.hall"], {})


@pytest.mark.parametrize(
    "first", ["<html>", "[]", '{"type": "event"}', "{" * 5000, '{"type": "auth_req', "[" * 100_000]
)
def test_a_first_message_that_is_none(server: HomeServer, first: str) -> None:
    server.behaviour.first = first
    with connected(server) as home:
        assert home.trouble().endswith((".", ")."))
        assert "127.0.0.1" in home.trouble()


@pytest.mark.parametrize("broken", ['{"id": 8, "type": "res', "null", '{"type": "result"}'])
def test_a_result_that_is_none(server: HomeServer, broken: str) -> None:
    server.behaviour.broken["get_states"] = broken
    with connected(server, answer_s=0.2) as home:
        assert home.trouble()
        assert home.snapshot().entities == ()


def test_states_that_are_refused(server: HomeServer) -> None:
    server.behaviour.refused["get_states"] = ("unknown_error", "Something")
    with connected(server) as home:
        assert "does not tell" in home.trouble()


@pytest.mark.parametrize("kind", ["get_states", "config/area_registry/list"])
def test_a_result_of_another_shape(server: HomeServer, kind: str) -> None:
    number = 1 + len(home_assistant._EVENTS)  # the first request after those for events
    number += 6 if kind == "get_states" else 3
    wrong = {"id": number - 1, "type": "result", "success": True, "result": {"no": "list"}}
    server.behaviour.broken[kind] = json.dumps(wrong)
    with connected(server) as home:
        assert "something else" in home.trouble()


def test_results_with_wrong_ids(server: HomeServer) -> None:
    server.behaviour.shift = 1000
    with connected(server, answer_s=0.2) as home:
        assert "does not answer" in home.trouble()


def test_rows_that_make_no_sense_are_left_out(server: HomeServer) -> None:
    server.areas += [{"name": "no id"}, {"area_id": 7}, "text"]  # type: ignore[list-item]
    server.states["light.odd"] = {"entity_id": "light.odd", "state": None, "attributes": None}
    server.exposed["light.odd"] = {"conversation": True}
    with connected(server) as home:
        assert home.trouble() == ""
        assert len(home.snapshot().areas) == 2
        assert "odd" in names(home)


class Hour:
    """Time that passes only in waits between tries, one hour of it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.tries = 0
        self.over = threading.Event()
        self._end = 3600.0
        self._go = threading.Event()

    def now(self) -> float:
        return self.seconds

    def wait(self, wake: threading.Event, seconds: float) -> bool:
        self.tries += 1
        assert seconds > 0.1, "a busy loop"
        self.seconds += seconds
        if self.seconds >= self._end:
            self.over.set()
            while not self._go.wait(0.01) and not wake.is_set():
                pass
        return wake.is_set()

    def more(self) -> None:
        self._end += 3600
        self._go.set()


def test_an_hour_without_home_assistant(caplog: pytest.LogCaptureFixture) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    hour = Hour()
    before = set(threading.enumerate())
    with caplog.at_level(logging.INFO, "assistant"):
        home = HomeAssistant(config(url), wait=hour.wait, now=hour.now)
        home.start()
        assert hour.over.wait(PATIENCE_S)
    assert 20 <= hour.tries <= 100
    until(lambda: len(begun_since(before)) == 1, "one thread, however many tries")
    told = [r for r in caplog.records if r.name == "assistant.home.keeper"]
    assert len(told) == 1, "said once"
    assert "Nothing answers at 127.0.0.1" in home.trouble()
    home.close()
    until(lambda: not begun_since(before))


def begun_since(before: set[threading.Thread]) -> set[threading.Thread]:
    """Those of other tests that still end are none of them."""
    return set(threading.enumerate()) - before


def test_many_connections_leave_nothing_behind(
    server: HomeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: weakref.WeakSet[object] = weakref.WeakSet()

    class CountedRequests(Requests):
        def __init__(self, *how: Any) -> None:
            super().__init__(*how)
            made.add(self)

    class CountedSocket(websocket.WebSocket):
        def __init__(self, *how: Any) -> None:
            super().__init__(*how)
            made.add(self)

    monkeypatch.setattr(home_assistant, "Requests", CountedRequests)
    monkeypatch.setattr(websocket, "WebSocket", CountedSocket)

    def kept() -> int:
        gc.collect()
        return len(made)

    hour, before = Hour(), set(threading.enumerate())
    with connected(server, wait=lambda wake, s: hour.wait(wake, s), now=hour.now) as home:
        for _ in range(12):
            until(lambda: home.trouble() == "" and server.open_connections == 1)
            logins = len(server.logins)
            server.cut()
            until(lambda logins=logins: len(server.logins) > logins)  # type: ignore[misc]
        until(lambda: home.trouble() == "")
        until(lambda: 2 <= kept() <= 4)
        until(lambda: len(begun_since(before)) < 12)


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("http://ha.local:8123", "ws://ha.local:8123/api/websocket"),
        ("https://example.org/home/", "wss://example.org/home/api/websocket"),
        ("ws://h/api/websocket", "ws://h/api/websocket"),
    ],
)
def test_address_of_the_api(url: str, api: str) -> None:
    assert websocket_url(url) == api


def test_a_pulled_cable_is_noticed(server: HomeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_S", 1.0)
    with Cable(int(server.url.rpartition(":")[2])) as cable:
        url = f"http://127.0.0.1:{cable.port}"
        home = HomeAssistant(config(url), reconnect_s=PATIENCE_S)
        home.start()
        until(lambda: home.trouble() == "")
        cable.pull()
        until(lambda: "lost" in home.trouble())
        assert state(home, "light.hall") == "unavailable"
        cable.plug()
        home.call("light", "turn_off", ["light.hall"], {})
        assert server.state("light.hall") == "off"
        home.close()


def test_a_message_that_is_too_big(server: HomeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MAX_BYTES", 20_000)
    server.entity("sensor.big", "Big", note="x" * 30_000)
    with connected(server, reconnect_s=0.05) as home:
        assert "too big" in home.trouble()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate.make(tmp_path_factory.mktemp("tls")))
    return context


def test_a_certificate_is_checked(tls: ssl.SSLContext) -> None:
    with HomeServer(tls=tls) as server:
        home = HomeAssistant(config(server.url))
        home.start()
        home.settle(PATIENCE_S)
        assert "certificate" in home.trouble()
        assert "not trusted" in home.trouble()
        assert server.logins == [], "the token was not sent"
        home.close()
    # a server of its own: one whose client left while being greeted takes no other client
    with HomeServer(tls=tls) as server:
        careless = config(server.url).model_copy(update={"verify_tls": False})
        home = HomeAssistant(careless)
        home.start()
        home.settle(PATIENCE_S)
        assert home.trouble() == ""
        home.close()


def test_https_where_there_is_none(server: HomeServer) -> None:
    home = HomeAssistant(config(server.url.replace("http:", "https:")))
    home.start()
    home.settle(PATIENCE_S)
    assert "encrypted" in home.trouble() or "broke off" in home.trouble()
    home.close()
