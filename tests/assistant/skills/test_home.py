"""What is said to the home and what then happens there: real grammars, a real connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.intent.base import Intent
from tests.assistant.skills.house import furnish, living_in
from tests.home_server import HomeServer


def same_names(server: HomeServer) -> None:
    for room in ("Garage", "Office", "Bath"):
        area = server.area(room)
        server.entity(f"light.{room.lower()}", "Main light", "on", area=area)
        server.entity(f"switch.{room.lower()}", "Heater", "on", area=area)


@pytest.mark.parametrize("room", ["Garage", "Office", "Bath"])
def test_the_room_of_this_device_is_meant(tmp_path: Path, room: str) -> None:
    with living_in(tmp_path, room, same_names) as house:
        for text in ("turn off the lights", "turn off the main light", "switch off the heater"):
            house.say(text)
        assert [entities for _, entities, _ in house.calls] == [
            (f"light.{room.lower()}",),
            (f"light.{room.lower()}",),
            (f"switch.{room.lower()}",),
        ]


def test_without_a_room_it_is_asked(tmp_path: Path) -> None:
    with living_in(tmp_path, "", same_names) as house:
        asked = house.say("turn off the lights")
        assert (asked.question, asked.reply) == (True, "In which room?")
        assert house.reply("the office") == "Turned off the Main light."
        asked = house.say("turn off the main light")
        assert asked.reply == "Which one: in the Bath, in the Garage or in the Office?"
        house.say("the bath one")
        assert [entities for _, entities, _ in house.calls] == [("light.office",), ("light.bath",)]
        assert house.reply("turn off all the lights") == "Turned off all lights."


def test_a_room_that_has_none_of_it(tmp_path: Path) -> None:
    with living_in(tmp_path, "Hall") as house:
        assert house.reply("close the curtains in the kitchen") == (
            "I don't know of any curtains in the Kitchen."
        )
        assert house.calls == []


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("turn on lamp 1", "switch.lamp1"),
        ("turn on lamp three", "switch.lamp3"),
        ("turn on tv", "media_player.tv"),
        ("turn on the tv mute", "switch.mute"),
        ("turn on the big lamp", "light.hall"),
        ("turn on the reading light", "light.k"),
        ("turn on the reading light in the bedroom", "light.b"),
    ],
)
def test_exact_names_come_first(tmp_path: Path, text: str, entity: str) -> None:
    with living_in(tmp_path) as house:
        house.say(text)
        ((_, entities, _),) = house.calls
        assert entities == (entity,)


def test_a_name_that_sounds_alike_is_found_and_numbers_never_are(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        heard = Intent("home.HassTurnOn", {"name": "Kitchen sealing"}, source="heads")
        assert house.handle(heard).reply == "Turned on the Kitchen ceiling."
        unknown = house.handle(Intent("home.HassTurnOn", {"name": "Lamp 2"}, source="heads"))
        assert (unknown.ok, unknown.reply) == (False, "I don't know a device called Lamp 2.")


@pytest.mark.parametrize(
    ("text", "service", "data"),
    [
        ("set the bedroom lamp to 0 percent", "light.turn_on", {"brightness_pct": 0}),
        ("set the brightness to zero", "light.turn_on", {"brightness_pct": 0}),
        ("set the curtain to 0%", "cover.set_cover_position", {"position": 0}),
        ("set the tv volume to zero", "media_player.volume_set", {"volume_level": 0.0}),
        ("set the ceiling fan speed to 0 percent", "fan.set_percentage", {"percentage": 0}),
    ],
)
def test_zero_is_a_value(tmp_path: Path, text: str, service: str, data: dict[str, float]) -> None:
    with living_in(tmp_path) as house:
        assert house.say(text).ok
        assert [(call[0], call[2]) for call in house.calls] == [(service, data)]


@pytest.mark.parametrize(
    ("slots", "pct", "said"),
    [
        ({"brightness": 120}, 100, "goes from 0 to 100"),
        ({"brightness": -5}, 0, "goes from 0 to 100"),
        ({"brightness": 100}, 100, "to 100 percent"),
    ],
)
def test_what_is_off_the_scale_is_said(
    tmp_path: Path, slots: dict[str, int], pct: int, said: str
) -> None:
    with living_in(tmp_path) as house:
        done = house.handle(Intent("home.HassLightSet", {"name": "Bedroom lamp", **slots}))
        assert said in done.reply
        assert house.calls[0][2] == {"brightness_pct": pct}
        calls = len(house.calls)
        for said in (45, 70, -3):
            hot = house.handle(Intent("home.HassClimateSetTemperature", {"temperature": said}))
            assert (hot.ok, hot.reply) == (False, "The Thermostat goes from 7 to 30 degrees.")
        assert len(house.calls) == calls
        step = Intent("home.HassClimateSetTemperature", {"temperature_step": 15})
        assert house.handle(step).reply == (
            "The Thermostat goes from 7 to 30 degrees. Set the Thermostat to 30 degrees."
        )


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("what rooms are there", "There are 3 rooms: the Kitchen, the Hall and the Bedroom."),
        ("which rooms do you know", "There are 3 rooms: the Kitchen, the Hall and the Bedroom."),
        (
            "what devices are in the hall",
            "There are 7 devices in the Hall: the Thermostat, the Garage door, the Hall lamp, "
            "the Front door, Lamp 1, Lamp 3 and Rover.",
        ),
        ("what lights are there in the bedroom", "There are 2 lights in the Bedroom: "
         "the Reading light and the Bedroom lamp."),
        ("which devices are there", "There are 20 devices: 7 in the Kitchen, 7 in the Hall, "
         "5 in the Bedroom and 1 elsewhere. Ask for those of a room."),
    ],
)  # fmt: skip
def test_what_there_is_comes_from_the_home(tmp_path: Path, said: str, reply: str) -> None:
    with living_in(tmp_path, "Bedroom") as house:
        assert house.reply(said) == reply
        assert house.calls == []


@pytest.mark.parametrize(
    ("said", "entities", "reply"),
    [
        (
            "turn off all the lights except the hall lamp",
            {"light.bed", "light.b", "light.ceiling", "light.counter", "light.k"},
            "Turned off all lights except the Hall lamp.",
        ),
        (
            "turn off all lights except in the kitchen",
            {"light.bed", "light.b", "light.hall"},
            "Turned off all lights except the Kitchen.",
        ),
        ("turn on the lights but not the reading light", {"light.bed"},
         "Turned on the Bedroom lamp."),
        ("turn off all lights except the disco ball", set(),
         "I don't know a device called disco ball."),
    ],
)  # fmt: skip
def test_what_is_left_out_stays_as_it_is(
    tmp_path: Path, said: str, entities: set[str], reply: str
) -> None:
    with living_in(tmp_path, "Bedroom") as house:
        assert house.reply(said) == reply
        assert {entity for _, called, _ in house.calls for entity in called} == entities


QUESTIONS = """
is the hall lamp on|Yes.
is the bedroom lamp on|No, it is off.
is the bedroom lamp off|Yes.
is the front door locked|Yes.
is the front door unlocked|No, it is locked.
is the garage door open|No, it is closed.
is the curtain open|Yes.
is the bedroom window open|Yes.
is the bedroom window closed|No, it is open.
is the kitchen window open|No, it is closed.
are any lights on|Yes, the Counter light and the Hall lamp.
are any lights on upstairs|No.
are any lights on in the kitchen|Yes, the Counter light.
are any windows open|Yes, the Bedroom window.
are any windows open in the kitchen|No.
are all the lights off|No, the Counter light and the Hall lamp are not off.
are all the lights off upstairs|Yes.
are all the windows closed|No, the Bedroom window is not closed.
which lights are on|The Counter light and the Hall lamp.
which lights are on in the bedroom|No lights are on.
which windows are open|The Bedroom window.
how many lights are on|2 lights are on.
how many lights are on in the kitchen|One light is on.
how many windows are open upstairs|One window is open.
what is the outside temperature|The Outside temperature is 4 degrees.
what is the temperature in the hall|It's 19.5 degrees.
what's the temperature|It's 19.5 degrees.
what's the thermostat set to|The Thermostat is set to 20 degrees.
what is the humidity|I don't know of any humidity sensors in the Kitchen.
is anything on in the bedroom|Nothing is on.
who is home|Nobody is at home.
is ada home|No, Ada is away.
where is ada|Ada is away.
what's the weather|It's rainy and 8 degrees.
what is playing|The Office is playing on the TV.
"""


def test_questions_are_answered_and_change_nothing(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        before = {id_: house.server.state(id_) for id_ in house.server.states}
        for line in QUESTIONS.strip().splitlines():
            text, answer = line.split("|")
            outcome = house.say(text)
            assert (text, outcome.reply) == (text, answer)
            assert outcome.action is None
        for courtesy in ("please tell me, {}", "{} now", "could you tell me {}", "hey {} thanks"):
            for text in ("is the hall lamp on", "are any lights on", "which windows are open"):
                intent = house.understand(courtesy.format(text))
                if intent is not None:
                    house.handle(intent, text)
        assert house.calls == []
        assert before == {id_: house.server.state(id_) for id_ in house.server.states}


def test_what_cannot_be_reached_is_said(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.server.set_state("light.ceiling", "unavailable")
        house.server.set_state("binary_sensor.bed", "unavailable")
        house.settle("light.ceiling", "unavailable")
        house.settle("binary_sensor.bed", "unavailable")
        reply = house.reply("turn off the lights in the kitchen")
        assert reply == (
            "I turned off the Counter light and the Reading light, "
            "but the Kitchen ceiling did not answer."
        )
        failed = house.say("turn on the kitchen ceiling")
        assert (failed.ok, failed.action) == (False, None)
        assert failed.reply == "The Kitchen ceiling did not answer."
        assert house.reply("are any windows open") == "No. I can't reach the Bedroom window."
        assert house.reply("is the bedroom window open") == "I can't reach the Bedroom window."


def test_one_of_several_that_fails_is_told(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        taken = house.server.services["*.turn_off"]

        def broken(server: HomeServer, entities: list[str], data: dict[str, object]) -> None:
            if entities == ["light.k"]:
                server.behaviour.refused["light.turn_off"] = ("home_assistant_error", "broken")
            else:
                server.behaviour.refused.pop("light.turn_off", None)
                taken(server, entities, data)

        house.server.behaviour.refused["light.turn_off"] = ("home_assistant_error", "broken")
        failed = house.say("turn off the lights in the kitchen")
        assert (failed.ok, failed.action, failed.undo) == (False, None, None)
        assert "did not do it" in failed.reply
        assert "urned off" not in failed.reply


def test_no_claim_without_a_call_that_worked(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.server.behaviour.refused["light.turn_off"] = ("unauthorized", "no")
        failed = house.say("turn off the hall lamp")
        assert (failed.ok, failed.reply) == (
            False,
            "Home Assistant does not allow that with my token.",
        )
        house.server.stop()
        house.settle("light.hall", "unavailable")
        for text in ("turn off the hall lamp", "turn on everything", "set the temperature to 20"):
            failed = house.say(text)
            assert not failed.ok
            assert failed.action is None
            assert "127.0.0.1" in failed.reply or "did not answer" in failed.reply, failed.reply
        assert not house.say("is the hall lamp on").ok


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn on the coffee machine", "coffee machine"),
        ("turn on the lights in the dungeon", "dungeon"),
        ("close the left shutter", "left shutter"),
    ],
)
def test_a_name_that_is_not_there_is_named(tmp_path: Path, text: str, said: str) -> None:
    with living_in(tmp_path) as house:
        outcome = house.say(text)
        assert not outcome.ok
        assert said in outcome.reply
        assert house.calls == []


def test_a_name_that_may_have_been_meant_is_asked_for(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        heard = {"said": "hull camp", "kind": "name", "like": "Hall lamp"}
        asked = house.handle(Intent("home.unknown_name", {**heard, "intent": "home.HassTurnOff"}))
        assert asked.question
        assert asked.reply == "I don't know hull camp. Did you mean the Hall lamp?"
        assert house.calls == []
        assert house.reply("yes") == "Turned off the Hall lamp."
        door = {"said": "front tour", "kind": "name", "like": "Front door"}
        house.handle(Intent("home.unknown_name", {**door, "intent": "home.HassTurnOff"}))
        assert house.reply("yes") == "Unlock the Front door: are you sure?", "asked once more"


def test_several_in_one_sentence(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        reply = house.reply("turn on the lights in the bedroom and the hall")
        assert reply == "Turned on the lights in the Bedroom. Turned on the Hall lamp."
        done = house.say("turn off the hall lamp and close the curtain")
        assert done.reply == "Turned off the Hall lamp. Closing the Curtain."
        assert len(done.action["calls"]) == 2
        assert done.undo is not None
        assert done.undo().ok
        assert house.server.state("light.hall") == "on"
        assert house.server.state("cover.curtain") == "open"


@pytest.mark.parametrize(
    ("text", "question", "service"),
    [
        ("unlock the front door", "Unlock the Front door: are you sure?", "lock.unlock"),
        ("open the garage door", "Open the Garage door: are you sure?", "cover.open_cover"),
        ("set the garage door to 50%", "Open the Garage door: are you sure?",
         "cover.set_cover_position"),
    ],
)  # fmt: skip
def test_doors_are_opened_only_after_a_yes(
    tmp_path: Path, text: str, question: str, service: str
) -> None:
    with living_in(tmp_path) as house:
        asked = house.say(text)
        assert (asked.question, asked.reply) == (True, question)
        assert house.registry.complete(house.expects, "no") is None
        assert house.registry.complete(house.expects, "turn on the light") is None
        assert house.calls == []
        house.say(text)
        assert house.say("yes please").ok
        assert [call[0] for call in house.calls] == [service]


def test_what_closes_or_is_no_door_is_done_at_once(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        for text in ("lock the front door", "close the garage door", "open the curtain"):
            assert not house.say(text).question
        assert len(house.calls) == 3


def test_asking_first_can_be_switched_off(tmp_path: Path) -> None:
    with living_in(tmp_path, skills={"home": {"confirm": False}}) as house:
        done = house.say("unlock the front door")
        assert done.reply == "Unlocked the Front door."
        assert done.undo is not None
        done.undo()
        assert house.server.state("lock.front") == "locked"


def test_undo_restores_what_was(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        for text in (
            "set the counter light to 10%",
            "turn off the lights in the kitchen",
            "close the curtain",
            "set the temperature to 23 degrees",
            "turn off the hall lamp",
            "set the tv volume to 80 percent",
            "pause the tv",
        ):
            before = {
                id_: (house.server.state(id_), house.server.attributes(id_))
                for id_ in house.server.states
            }
            done = house.say(text)
            assert done.undo is not None, text
            assert done.undo().ok
            for id_, (state, attributes) in before.items():
                assert house.server.state(id_) == state, text
                if state != "off":
                    kept = {k: v for k, v in attributes.items() if k != "current_position"}
                    now = house.server.attributes(id_)
                    assert {k: now.get(k) for k in kept} == kept, text
            house.settle("light.counter", "on")


def test_undo_never_opens_a_door(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.server.set_state("lock.front", "unlocked")
        house.server.set_state("cover.garage", "open")
        house.settle("lock.front", "unlocked")
        house.settle("cover.garage", "open")
        assert house.say("lock the front door").undo is None
        assert house.say("close the garage door").undo is None


FOLLOWUPS = [
    ("turn on the lights in the kitchen", "and in the bedroom?", "home.HassTurnOn",
     {"domain": "light", "area": "Bedroom"}),
    ("turn on the hall lamp", "and the bedroom lamp", "home.HassTurnOn", {"name": "Bedroom lamp"}),
    ("turn on the hall lamp", "turn it off", "home.HassTurnOff", {"name": "Hall lamp"}),
    ("turn on the hall lamp", "no, the bedroom lamp", "home.HassTurnOn", {"name": "Bedroom lamp"}),
    ("close the curtain", "open it halfway", "home.HassSetPosition",
     {"name": "Curtain", "position": 50}),
    ("turn on the ceiling fan", "set it to fifty percent", "home.HassFanSetSpeed",
     {"name": "Ceiling fan", "percentage": 50}),
    ("turn on the hall lamp", "make it twenty percent", "home.HassLightSet",
     {"name": "Hall lamp", "brightness": 20}),
    ("turn on the hall lamp", "make it brighter", "home.HassLightSet",
     {"name": "Hall lamp", "brightness_step": 20}),
    ("turn on the hall lamp", "make it blue", "home.HassLightSet",
     {"name": "Hall lamp", "color": "blue"}),
    ("set the hall lamp to 50%", "make it twenty", "home.HassLightSet",
     {"name": "Hall lamp", "brightness": 20}),
    ("set the temperature to 20 degrees", "make it twenty two", "home.HassClimateSetTemperature",
     {"here": True, "temperature": 22}),
    ("set the temperature to 20 degrees", "warmer", "home.HassClimateSetTemperature",
     {"here": True, "temperature_step": 1}),
    ("what is the temperature in the hall", "a bit colder", "home.HassClimateSetTemperature",
     {"area": "Hall", "temperature_step": -1}),
    ("are any lights on in the kitchen", "and upstairs?", "home.HassGetState",
     {"domain": "light", "state": "on", "response": "any", "floor": "Upstairs"}),
    ("is the hall lamp on", "what about the bedroom lamp", "home.HassGetState",
     {"name": "Bedroom lamp", "state": "on", "response": "one_yesno"}),
    ("close the curtain", "open it again", "home.HassTurnOn", {"name": "Curtain"}),
    ("turn on the reading light", "the bedroom one", "home.HassTurnOn",
     {"name": "Reading light", "area": "Bedroom"}),
    ("set the ceiling fan speed to 20 percent", "faster", "home.HassFanSetSpeed",
     {"name": "Ceiling fan", "percentage_step": 20}),
    ("make the bedroom lamp brighter", "more", "home.HassLightSet",
     {"name": "Bedroom lamp", "brightness_step": 20}),
    ("make the bedroom lamp brighter", "a bit less", "home.HassLightSet",
     {"name": "Bedroom lamp", "brightness_step": -20}),
    ("next song", "again", "home.HassMediaNext", {"here": True}),
]  # fmt: skip


def test_a_sentence_that_hangs_on_the_one_before(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        for first, then, name, slots in FOLLOWUPS:
            intent = house.understand(first)
            assert intent is not None, first
            house.last = intent
            revised = house.follows(then)
            assert revised is not None, (first, then)
            assert (first, then, revised.name, revised.slots) == (first, then, name, slots)


@pytest.mark.parametrize(
    "talk",
    [
        "I had a long day", "the kitchen", "twenty", "you are right", "tell me a joke",
        "why is the sky blue", "blue", "not now", "that is nice", "make it count",
    ],
)  # fmt: skip
def test_talk_is_no_revision(tmp_path: Path, talk: str) -> None:
    with living_in(tmp_path) as house:
        house.say("turn on the hall lamp")
        assert house.follows(talk) is None


def test_a_newer_value_takes_the_place_of_the_older(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        skill = next(skill for skill in house.registry.skills if skill.name == "home")
        old = Intent("home.HassLightSet", {"name": "Hall lamp", "brightness": 50})
        new = Intent("home.HassLightSet", {"name": "Hall lamp", "brightness": 20})
        other = Intent("home.HassLightSet", {"name": "Counter light", "brightness": 20})
        assert skill.overrides(old, new)
        assert not skill.overrides(old, other)


def test_what_a_light_cannot_show_is_said(tmp_path: Path) -> None:
    def with_plain(server: HomeServer) -> None:
        furnish(server)
        server.states["light.counter"]["attributes"]["supported_color_modes"] = ["onoff"]
        server.states["light.ceiling"]["attributes"]["supported_color_modes"] = ["hs"]
        server.states["light.k"]["attributes"]["supported_color_modes"] = ["hs"]

    with living_in(tmp_path, "Kitchen", with_plain) as house:
        assert house.reply("make the lights red") == (
            "I set the Kitchen ceiling and the Reading light to red, "
            "but the Counter light has no colour."
        )
        assert house.reply("set the counter light to 40%") == "The Counter light has no brightness."


def test_the_heating_is_that_of_the_home(tmp_path: Path) -> None:
    def two(server: HomeServer) -> None:
        furnish(server)
        server.entity("climate.bed", "Bedroom thermostat", "heat", area="bedroom")

    with living_in(tmp_path, "Kitchen", two) as house:
        assert house.reply("turn the heating off") == "Turned off all thermostats."
        assert not house.say("turn the heating off in here").ok


def test_free_phrasing_is_read_with_the_names_of_the_home(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        text = "could the hall lamp go down to a fifth or so, say twenty percent"
        marked = {"name": "hall lamp", "brightness": "twenty percent"}
        done = house.handle(Intent("home.HassLightSet", marked, 0.99, "heads"), text)
        assert done.reply == "Set the brightness of the Hall lamp to 20 percent."
        text = "the cover thing should move"
        unclear = house.handle(Intent("home.HassSetPosition", {}, 0.99, "heads"), text)
        assert (unclear.ok, unclear.action) == (False, None)


def test_vocabulary_has_the_names(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        words = house.registry.vocabulary()
        assert {"Kitchen ceiling", "big lamp", "Bedroom", "downstairs"} <= set(words)


def test_without_a_home_it_says_so(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        for skill in house.registry.skills:
            skill.home = None
        outcome = house.handle(Intent("home.HassTurnOn", {"name": "lamp"}))
        assert (outcome.ok, outcome.reply) == (False, "I'm not connected to any devices.")
        assert "switch lights and other devices" not in house.registry.abilities
