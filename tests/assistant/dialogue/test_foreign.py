"""Other languages are told from English, also from English with a foreign word in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.dialogue.foreign import foreign


@pytest.mark.parametrize(
    "text",
    [
        "wie wird das Wetter morgen",
        "schalte bitte das Licht aus",
        "quelle heure est-il",
        "allume la lumière dans la cuisine",
        "¿qué tiempo hace hoy?",
        "pon la luz del salón por favor",
        "che ore sono",
        "zet het licht aan",
        "que horas são",
        "która jest godzina",
        "hur mycket är klockan",
        "какая сегодня погода",
        "今日の天気は",
        "Danke",
    ],
)
def test_other_languages(text: str) -> None:
    assert foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "what does merci mean",
        "play la vie en rose",
        "add crème fraîche and pain au chocolat to the list",
        "remind me to call El Greco",
        "das boot is a film",
        "",
        "ok",
        "den light",
    ],
)
def test_english_with_foreign_words(text: str) -> None:
    assert not foreign(text)


def test_no_english_sentence_is_foreign() -> None:
    folder = Path(__file__).parents[2] / "data" / "intents"
    lines = [
        line.strip(" -\"'")
        for file in (*folder.glob("*.yaml"), *folder.glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert [line for line in lines if line and foreign(line)] == []
