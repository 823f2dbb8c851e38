"""Sentences in other languages, told by their little words or by their script."""

from __future__ import annotations

from assistant.intent.normalize import normalize

ONLY_ENGLISH = "Sorry, I only understand English."

_LAST_LATIN = "\u024f"

_WORDS = tuple(
    frozenset(words.split())
    for words in (
        "der das dem den ein eine einen ist nicht und ich du wir ihr mir mich dir wie wer wo warum"
        " auf fur mit zu bitte danke licht mach stell stelle uhr heute morgen wetter guten tag wird"
        " auf aus von zum zur minuten spat schalte kannst kann habe bist alles gut nacht",
        "le les une est pas je tu vous nous il elle quelle quel quelles heure mettez mets allume"
        " eteins minuteur minutes dans avec merci bonjour combien fait demain aujourd'hui lumiere"
        " de des du et qui que quoi comment ca va bonsoir temps dix cinq s'il plait la",
        "el los las una es que como esta estas por favor para hoy manana luz enciende apaga pon"
        " gracias hora minutos buenos dias buenas noches tiempo cual donde cuando mi tu de la un",
        "il lo gli una sono oggi tempo accendi spegni luce domani ore grazie che fa come stai"
        " metti minuti per favore buongiorno buonasera quanto dove della di la un sei",
        "het een niet zet aan uit wat hoe laat goedemorgen vandaag lamp minuten van de ik jij je"
        " mijn doe licht weer morgen dank",
        "que horas sao nao uma obrigado obrigada acenda apague luz hoje amanha minutos bom dia boa"
        " noite tempo como esta por favor de os as um voce",
        "jest nie ktora godzina dzien dobry prosze dziekuje swiatlo minut na wlacz wylacz co jak",
        "vad ar klockan det jag och inte tack hej satt minuter pa ljuset idag imorgon god",
    )
)
_GREETINGS = frozenset(
    "bonjour bonsoir merci danke gracias grazie obrigado buongiorno tack dziekuje".split()
)
_ENGLISH = frozenset(
    """the is are was a an to of and in on at for with what who how when where why which i you he
    she it we they my your his her our me this that do does did can could will would should set
    turn play add tell please not have has be say mean spell translate word time light""".split()
)


def foreign(text: str) -> bool:
    """Whether a sentence is surely in another language than English."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter > _LAST_LATIN for letter in letters) * 2 > len(letters):
        return True
    words = normalize(text).split()
    if len(words) == 1:
        return words[0] in _GREETINGS
    most = max(len([word for word in words if word in language]) for language in _WORDS)
    english = len([word for word in words if word in _ENGLISH])
    return most >= 2 and most > 2 * english and most * 5 >= len(words) * 2
