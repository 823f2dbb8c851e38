"""Commands about the conversation itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("system"))


@pytest.mark.parametrize("said", ["stop", "never mind", "cancel that", "be quiet", "okay stop now"])
def test_stop(talk: Talk, said: str) -> None:
    outcome = talk.say(said)
    assert (outcome.control, outcome.action) == ("stop", {"skill": "system", "do": "stop"})


def test_repeat_and_what_was_heard(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.reply("say that again") == "I haven't said anything yet."
    talk.restart()
    assert talk.reply("what did you hear") == "I haven't heard anything yet."
    time = talk.reply("what time is it")
    assert talk.reply("what did you hear") == "I heard: what time is it"
    talk.last_reply = time
    assert talk.reply("could you repeat that please") == time


def test_help_names_every_ability(talk: Talk) -> None:
    reply = talk.reply("what can you do")
    assert talk.registry.abilities
    assert all(ability in reply for ability in talk.registry.abilities)


def test_courtesy_is_answered(talk: Talk) -> None:
    assert talk.reply("thank you very much") == "You're welcome."
    assert talk.reply("hello") == "Hello."


def test_the_name_of_the_user_is_kept_while_it_runs(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.reply("what is my name") == "I don't know your name yet."
    assert talk.reply("my name is mary lou") == "Nice to meet you, Mary Lou."
    assert talk.reply("do you remember my name") == "Your name is Mary Lou."
    talk.restart()
    assert talk.reply("what is my name") == "I don't know your name yet."


def test_help_on_a_topic_gives_sentences_that_are_understood(talk: Talk) -> None:
    # the sentences of these are understood only where there is a home
    skills = [skill for skill in talk.registry.skills if skill.name not in ("home", "media")]
    topics = [topic for skill in skills for topic in skill.topics]
    assert {"timers", "lists", "volume"} <= set(topics)
    for topic in topics:
        reply = talk.reply(f"what can you do with {topic}")
        assert reply.startswith("You can say: "), topic
        for said in reply.removeprefix("You can say: ").split(" Or: "):
            assert talk.grammar.understand(said) is not None, said


def test_help_on_what_nobody_does(talk: Talk) -> None:
    reply = talk.reply("what can you do with unicorns")
    assert reply.startswith("I don't know how to help with unicorns. I can ")


def test_undo_in_a_conversation(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.reply("undo that") == "There is nothing to undo."
    talk.say("set the volume to 30")
    talk.say("set the volume to 80")
    assert talk.reply("take that back") == "Volume 30 again."
    assert talk.registry.volume() == (30, False)
    assert talk.reply("undo") == "There is nothing to undo."
