"""The shipped head against what the skills bring along."""

from __future__ import annotations

import pytest

from assistant.intent import sentence_file
from assistant.intent.grammar import EXAMPLES
from assistant.intent.heads.head import Head
from assistant.intent.heads.heads import SHIPPED
from assistant.intent.own import kin, rows

RETRAIN = (
    "write examples for it into examples.yaml of its skill (fifteen or more, as people say it) and "
    "train the head again: python -m assistant.intent.train --set own --out "
    "assistant/intent/files/own.head"
)


@pytest.fixture(scope="module")
def labels() -> set[str]:
    return set(Head.load(SHIPPED).labels)


def test_every_intent_is_a_label_of_the_shipped_head(labels: set[str]) -> None:
    intents = {
        intent
        for folder in rows.folders()
        for path in folder.glob("*.yaml")
        if path.name != EXAMPLES
        for intent in sentence_file.read(path).intents
    }
    assert len(intents) > 70
    missing = sorted(intents - labels)
    assert not missing, f"the head does not know {', '.join(missing)}: {RETRAIN}"


def test_the_shipped_head_was_trained_on_these_examples(labels: set[str]) -> None:
    written = {example.intent for example in rows.written()}
    changed = sorted(written ^ (labels - {"oos"}))
    assert not changed, f"examples and head differ in {', '.join(changed)}: {RETRAIN}"


def test_intents_that_may_be_taken_for_each_other_are_there(labels: set[str]) -> None:
    named = [intent for group in kin.KIN for intent in group]
    assert set(named) <= labels
    assert len(named) == len(set(named))
    groups = kin.groups(["timer.list", "chance.dice", "timer.left", "oos"])
    assert groups[0] == groups[2]
    assert len(set(groups)) == 3
