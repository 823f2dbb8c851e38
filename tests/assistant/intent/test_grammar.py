"""The sentences of all skills: what they take, what they leave alone, and the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.config import UnderstandConfig
from assistant.errors import IntentError
from assistant.intent import create
from assistant.intent.grammar import Grammar

ROOT = Path(__file__).resolve().parents[3]
SKILLS = ROOT / "assistant" / "skills"
CASES = ROOT / "tests" / "data" / "intents"
NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)


def folders() -> list[Path]:
    return sorted(path.parent for path in SKILLS.glob("*/en.yaml"))


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    grammar = Grammar(folders(), now=lambda: NOW)
    grammar.load()
    return grammar


def _cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            for sentence in row["sentences"]:
                yield pytest.param(row, str(sentence), id=str(sentence))


def cases() -> list[Any]:
    return list(_cases())


@pytest.mark.parametrize(("row", "sentence"), cases())
def test_sentence(grammar: Grammar, row: dict[str, Any], sentence: str) -> None:
    intent = grammar.understand(sentence)
    assert intent is not None
    assert (intent.name, intent.slots) == (row["intent"], row["slots"])
    assert intent.asks == row.get("asks", False)
    assert (intent.source, intent.score) == ("grammar", 1.0)
    for key, value in row["slots"].items():
        assert type(intent.slots[key]) is type(value), "whole numbers are ints"


def test_every_intent_has_cases(grammar: Grammar) -> None:
    tested = {case.values[0]["intent"] for case in cases()}
    assert tested == set(grammar._intents.intents)


BEFORE = [
    "please",
    "could you please",
    "hey",
    "okay",
    "um",
    "well,",
    "can you",
    "would you",
    "so",
    "uh,",
    "oh",
    "hey there, please",
]
AFTER = [
    "please",
    "thank you",
    "thanks",
    "thank you very much",
    "for me",
    "okay",
    "um",
    "now please",
]


# thanks and greetings are courtesy themselves
FIRST = [
    sentence
    for sentence in dict.fromkeys(case.values[0]["sentences"][0] for case in cases())
    if sentence not in ("thank you", "hello")
]


@pytest.mark.parametrize("sentence", FIRST)
def test_courtesy_changes_nothing(grammar: Grammar, sentence: str) -> None:
    plain = grammar.understand(sentence)
    for said in [f"{b} {sentence}" for b in BEFORE] + [f"{sentence} {a}" for a in AFTER]:
        assert grammar.understand(said) == plain, said


@pytest.mark.parametrize(
    "sentence",
    [
        "set a timer for tree minutes",
        "set a timer for five or ten minutes",
        "set a timer for a few minutes",
        "set a timer for minus five minutes",
        "set a timer for seventy fife minutes",
        "set a timer until the cows come home",
        "set a timer for 25:61",
        "set the volume to loud",
        "set the volume to ten or twenty",
        "add a few minutes to the timer",
        "set a timer for 10 minutes or 3 called maybe for 3 hours or 4",
    ],
)
def test_value_that_is_none_does_not_match(grammar: Grammar, sentence: str) -> None:
    intent = grammar.understand(sentence)
    assert intent is None or not {"duration", "until", "level", "amount"} & set(intent.slots)


def test_words_and_digits_are_the_same(grammar: Grammar) -> None:
    units = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    units += ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"]
    units += ["seventeen", "eighteen", "nineteen"]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    words = units + [f"{t} {u}" if u != "zero" else t for t in tens for u in units[:10]]
    words.append("one hundred")
    for number, word in enumerate(words):
        said = grammar.understand(f"set the volume to {word} percent")
        assert said == grammar.understand(f"set the volume to {number}%")
        assert said is not None
        assert said.slots == {"level": number}


def test_name_keeps_the_letters_it_was_said_with(grammar: Grammar) -> None:
    intent = grammar.understand("Please set a timer called Käsespätzle for 12 minutes, thanks!")
    assert intent is not None
    assert intent.slots == {"duration": 720, "name": "käsespätzle"}


@pytest.mark.parametrize("text", ["", "   ", "?!", "…", "a" * 5000, "timer " * 400])
def test_nothing_and_noise(grammar: Grammar, text: str) -> None:
    assert grammar.understand(text) is None


# --- the user's own sentences -------------------------------------------------------------


def own(tmp_path: Path, text: str, **more: Any) -> Grammar:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    grammar = create(UnderstandConfig(sentences=str(tmp_path), **more), folders(), now=lambda: NOW)
    assert isinstance(grammar, Grammar)
    grammar.load()
    return grammar


def test_own_sentence_for_a_known_intent(tmp_path: Path) -> None:
    grammar = own(
        tmp_path,
        """
        language: de
        intents:
          timer.set:
            data:
              - sentences: ["stell (mir|uns) [<art>] wecker auf {duration}"]
          volume.set:
            data:
              - sentences: ["party {mode}"]
                slots: {level: 90}
        expansion_rules: {art: "(einen|den)"}
        lists:
          mode: {values: ["on", {in: "time|now", out: soon}]}
        """,
    )
    intent = grammar.understand("Stell mir einen Wecker auf 10 minutes")
    assert intent is not None
    assert (intent.name, intent.slots) == ("timer.set", {"duration": 600})
    intent = grammar.understand("party time")
    assert intent is not None
    assert (intent.name, intent.slots) == ("volume.set", {"level": 90, "mode": "soon"})
    assert grammar.understand("party tomorrow") is None
    assert grammar.understand("what time is it") is not None, "the skills' own still work"


LONG = " ".join(f"word{i}" for i in range(80))


ANY_WORDS = [
    ("schalte spät das licht an", "Schalte spät das Licht an!"),
    ("größe über straße", "Größe über Straße."),
    ("party 🎉 mode", "party 🎉 mode"),
    ("🎉", "🎉"),
    ("channel 4", "Channel 4"),
    ("3 2 1 liftoff", "3, 2, 1, liftoff"),
    ("it's what's up", "It’s what’s up?"),
    ("please please me", "please please me"),
    ("thank you jarvis", "thank you jarvis"),
    ("пора спать", "Пора спать"),
    ("おやすみ", "おやすみ"),
    ("open (the) [pod] {bay} <doors> a|b; c", "open (the) [pod] {bay} <doors> a|b; c"),
    ("50% off", "50% off"),
    (LONG, LONG),
]


@pytest.fixture(scope="module")
def talkative() -> Grammar:
    commands = {f"Reply {i}.": (sentence,) for i, (sentence, _) in enumerate(ANY_WORDS)}
    grammar = Grammar(folders(), UnderstandConfig(commands=commands))
    grammar.load()
    return grammar


@pytest.mark.parametrize(("number", "said"), [(i, said) for i, (_, said) in enumerate(ANY_WORDS)])
def test_any_words_work_in_own_commands(talkative: Grammar, number: int, said: str) -> None:
    intent = talkative.understand(said)
    assert intent is not None
    assert (intent.name, intent.slots) == ("commands.say", {"reply": f"Reply {number}."})
    assert talkative.understand(f"{said} and more of it") is None


def test_own_command_wins_over_a_skill_with_free_words() -> None:
    commands = {"No volume here.": ("volume max",), "Never.": ("what time is it",)}
    grammar = Grammar(folders(), UnderstandConfig(commands=commands))
    grammar.load()
    assert [grammar.understand(s).name for s in ("volume max", "what time is it")] == [
        "commands.say"
    ] * 2


BROKEN = {
    "tab": ("intents:\n\ttimer.set: 1\n", "line 2"),
    "not a mapping": ("- just\n- a list\n", "there is no intents: in it"),
    "empty": ("", "there is no intents: in it"),
    "unknown key": (
        "intents:\n  timer.set:\n    data:\n      - sentences: [hi there]\n        slot: {}\n",
        "line 5: intents.timer.set.data.0.slot",
    ),
    "sentences missing": (
        "intents:\n  timer.set:\n    data:\n      - slots: {}\n",
        "line 4: intents.timer.set.data.0.sentences",
    ),
    "not text": (
        "intents:\n  timer.set:\n    data:\n      - sentences:\n          - one\n          - 2\n",
        "line 6: intents.timer.set.data.0.sentences.1",
    ),
    "unknown intent": (
        "intents:\n  timer.sett:\n    data:\n      - sentences: [go for it]\n",
        'line 2: no skill has the intent "timer.sett"',
    ),
    "open bracket": (
        "intents:\n  timer.set:\n    data:\n      - sentences:\n          - 'go (for it'\n",
        "line 5: intents.timer.set",
    ),
    "unknown rule": (
        "intents:\n  timer.set:\n    data:\n      - sentences:\n          - 'go <fast>'\n",
        "there is no rule <fast>",
    ),
    "unknown list": (
        "intents:\n  timer.set:\n    data:\n      - sentences:\n          - 'go {speed}'\n",
        "there is no list or value {speed}",
    ),
    "empty template": (
        "intents:\n  timer.set:\n    data:\n      - sentences: ['']\n",
        "it is empty",
    ),
}


@pytest.mark.parametrize(("text", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_mistake_is_named_with_file_and_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(IntentError) as caught:
        own(tmp_path, text)
    message = str(caught.value)
    assert str(tmp_path / "mine.yaml") in message
    assert expected in message
    assert "\n" not in message


def test_typing_error_in_an_intent_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(IntentError) as caught:
        own(tmp_path, BROKEN["unknown intent"][0])
    assert caught.value.hint == 'Did you mean "timer.set"?'


def test_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_bytes(b"intents:\n  \xff\xfe")
    with pytest.raises(IntentError, match="UTF-8"):
        Grammar(folders(), UnderstandConfig(sentences=str(tmp_path))).load()


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IntentError, match="does not exist"):
        Grammar(folders(), UnderstandConfig(sentences=str(tmp_path / "none"))).load()


def test_a_sentence_that_takes_the_place_of_a_built_in_one_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    commands = {"It is late.": ("what's the time", "is it bedtime")}
    grammar = Grammar(folders(), UnderstandConfig(commands=commands))
    grammar.load()
    assert [record.getMessage() for record in caplog.records] == [
        'your sentence "what\'s the time" takes the place of a built-in command (clock.time)'
    ]


def test_courtesy_in_an_own_command_may_be_left_out() -> None:
    grammar = Grammar(folders(), UnderstandConfig(commands={"Yes.": ("please ask the owl",)}))
    grammar.load()
    for said in ("please ask the owl", "ask the owl", "Hey, ask the owl, please!"):
        intent = grammar.understand(said)
        assert intent is not None
        assert intent.slots == {"reply": "Yes."}


def test_an_own_command_of_eighty_words() -> None:
    said = " ".join(f"longishword{number}" for number in range(80))
    grammar = Grammar(folders(), UnderstandConfig(commands={"Phew.": (said,)}))
    grammar.load()
    assert grammar.understand(said.title()) is not None
