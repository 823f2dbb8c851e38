"""No sentence of one skill is taken by another, and talk by none."""

from __future__ import annotations

import gzip
import json
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hassil.expression import Alternative, ListReference, RuleReference, TextChunk

from assistant.intent.grammar import Grammar

ROOT = Path(__file__).resolve().parents[3]
SKILLS = ROOT / "assistant" / "skills"
CASES = ROOT / "tests" / "data" / "intents"
DATA = Path(os.environ.get("ASSISTANT_DATA", ROOT.parent / "shared" / "data"))

VALUES = {
    "alarm_time": ["7 pm", "half past six tomorrow", "every monday and thursday at 6:30"],
    "alarm_times": ["2 pm and 3 pm", "9 am and another one for 11 am"],
    "both": ["tea and coffee", "the red one, the blue one and the green one"],
    "choices": ["pizza or pasta", "red, green or blue"],
    "day": ["friday", "christmas", "the 24th", "next monday"],
    "dice": ["two dice", "a d20", "3d6", "a twelve sided die"],
    "duration": ["ten minutes", "1 hour 30 minutes", "90 seconds", "half an hour"],
    "end": ["ten minutes", "45 seconds", "7 pm", "ten to seven tomorrow morning"],
    "figure": ["a third", "10/4", "two times seven"],
    "goods": ["milk", "eggs and bread", "two bottles of red wine"],
    "items": ["milk", "eggs, salt and vinegar crisps and bread", "AAA batteries", "call mum"],
    "lengths": ["5 and 10 minutes", "ten minutes and an hour"],
    "month": ["june", "next march"],
    "label": ["pasta", "green tea"],
    "labelled": ["pasta ten minutes", "green tea 4 min"],
    "level": ["40", "max", "fifty percent", "seven out of ten"],
    "list_name": ["shopping", "the to-do", "my packing"],
    "measure": ["five miles", "a cup", "70 degrees fahrenheit", "6 feet 2 inches", "20 euros"],
    "moment": ["five", "tomorrow at nine", "in ten minutes", "every friday at eight"],
    "more": ["five more minutes", "another hour"],
    "name": ["pasta", "uncle bob"],
    "named_day": ["friday", "tomorrow's"],
    "number": ["10"],
    "of_a_kind": ["tea or coffee", "pasta, soup or pizza"],
    "ordinal": ["first", "third"],
    "percent": ["20", "ten percent"],
    "person": ["anna", "mary lou"],
    "place": ["two", "3"],
    "reminder": ["to call mum at five", "in ten minutes to turn the oven off", "about the bins"],
    "rule": ["every day", "weekday", "daily"],
    "schedule": ["seven on weekdays", "half past six tomorrow", "seven"],
    "somewhere": ["hogwarts", "the shire"],
    "span": ["1 and 10", "one to a hundred"],
    "sum": ["15 percent of 80", "3 plus 4 times 5", "the square root of 81", "add 5 to 7"],
    "target": ["twenty minutes", "8 am", "seven on weekdays"],
    "task": ["call mum", "the bins"],
    "task_at": ["at five to call mum", "to water the plants in an hour"],
    "time": ["7 pm"],
    "time_there": ["5 pm in london", "noon here", "9 am new york time"],
    "timed": ["ten minute", "5 minute pasta"],
    "unit": ["kilometres", "cups", "celsius", "dollars", "minutes"],
    "until": ["seven", "1500 hours", "half past six tomorrow"],
    "zone": ["tokyo", "new york"],
    "which": ["pasta", "ten minute", "last", "second", "7 pm"],
}
"""What is said in the place of each kind of value."""

OURS = frozenset(
    """timer alarm time date change_volume cancel repeat what_can_i_ask_you thank_you greeting
    whisper_mode what_is_your_name how_old_are_you where_are_you_from are_you_a_bot who_made_you
    user_name change_user_name shopping_list shopping_list_update todo_list todo_list_update
    reminder reminder_update calculator measurement_conversion roll_dice flip_coin change_speed
    exchange_rate timezone weather what_song tell_joke""".split()
)
"""Intents of the public set that the skills serve too."""

MISLABELLED = frozenset(["how is the weather today"])
"""Sentences that stand under an intent that they do not mean."""


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    folders = sorted(path.parent for path in SKILLS.glob("*/en.yaml"))
    grammar = Grammar(folders, now=lambda: datetime(2026, 3, 10, 14, 0, tzinfo=UTC))
    grammar.load()
    return grammar


def sample(part: Any, block: Any, rng: random.Random) -> str:
    """One of the sentences that a part of a template stands for."""
    if isinstance(part, TextChunk):
        return part.text
    if isinstance(part, RuleReference):
        return sample(block.expansion_rules[part.rule_name].expression, block, rng)
    if isinstance(part, ListReference):
        words = block.slot_lists.get(part.list_name)
        if words is not None:
            return sample(rng.choice(words.values).text_in, block, rng)
        return rng.choice(VALUES[part.list_name])
    if isinstance(part, Alternative):
        return sample(rng.choice(part.items), block, rng)
    return "".join(sample(item, block, rng) for item in part.items)


def test_no_sentence_steals_from_another_intent(grammar: Grammar) -> None:
    rng = random.Random(7)
    stolen = []
    for name, meaning in grammar._intents.intents.items():
        for block in meaning.data:
            for template in block.sentences:
                for _ in range(25):
                    text = " ".join(sample(template.expression, block, rng).split())
                    intent = grammar.understand(text)
                    if intent is None or intent.name != name:
                        stolen.append((name, text, intent))
    assert stolen == []


def test_talk_matches_nothing(grammar: Grammar) -> None:
    lines = (CASES / "talk.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50
    matched = [(line, grammar.understand(line)) for line in lines]
    assert [pair for pair in matched if pair[1] is not None] == []


def test_out_of_scope_sets_match_nothing(grammar: Grammar) -> None:
    files = sorted((DATA / "clinc150").glob("*.jsonl.gz"))
    if not files:
        pytest.skip(f"no clinc150 in {DATA}")
    others, outside, matched = 0, 0, []
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["intent"] in OURS or row["text"] in MISLABELLED:
                    continue
                others += 1
                outside += row["intent"] == "oos"
                if row["intent"] == "oos" or others % 4 == 0:
                    intent = grammar.understand(row["text"])
                    if intent is not None:
                        matched.append((row["intent"], row["text"], intent))
    assert min(others, outside) > 100
    assert matched == []
