"""Sums and conversions of units, exact and never guessed."""

from __future__ import annotations

from fractions import Fraction

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.formula import Number, Term, parse_figure
from assistant.intent.units import MONEY, UNITS, Unit, convert, meant_together, partner
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.marks import valued
from assistant.skills.maths import wording
from assistant.skills.maths.evaluate import evaluate
from assistant.skills.maths.followup import revised
from assistant.state import State

KINDS = {"sum": ("figure",), "measure": ("measure",), "to": ("unit",), "unit": ("unit",)}
NO_RATES = "I have no exchange rates, so I can't convert money."


class MathsSkill(Skill):
    name = "maths"
    abilities = ("do sums and convert units",)
    topics = (
        "maths", "math", "sums", "numbers", "calculations", "calculating", "percentages", "units",
        "conversions", "measurements", "converting", "arithmetic",
    )  # fmt: skip
    examples = (
        "what is 15 percent of 80",
        "how many cups are in a litre",
        "what is 70 degrees Fahrenheit in Celsius",
        "what is the square root of 81",
        "convert 5 miles to kilometres",
    )
    phrases = ("percent of", "plus", "minus", "times", "divided by", "square root of", "how many",
               "convert", "kilometres", "degrees", "what is")  # fmt: skip

    def __init__(self, cfg: Config, state: State) -> None:
        pass

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = valued(intent, turn.now(), KINDS)
        if not (intent.slots.keys() & {"sum", "amount"}):
            raise SkillError("maths.numbers", "I didn't catch the numbers.")
        if intent.name == "maths.sum":
            return Outcome(_sum(str(intent.slots["sum"])))
        amount = _exact(intent.slots["amount"])
        unit = _unit(intent.slots["unit"])
        if "to" in intent.slots:
            other: Unit | None = _unit(intent.slots["to"])
        else:
            other = partner(unit)
        if unit.dimension == MONEY or (other is not None and other.dimension == MONEY):
            return Outcome(NO_RATES, ok=False)
        if other is None:
            raise SkillError("maths.unit", f"I don't know into what to convert {unit.plural}.")
        return Outcome(_conversion(amount, unit, other))

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        return revised(valued(last, turn.now(), KINDS), text, turn.now())


def _sum(text: str) -> str:
    node = parse_figure(text)
    if node is None:
        raise SkillError("maths.sum", "I can't work that out.")
    value = evaluate(node)
    answer = wording.number(value.number, value.exact)
    if isinstance(node, Term) and node.op == "share":
        part, whole = (wording.sum_(arg) for arg in node.args)
        return f"{_start(part)} is {answer} percent of {whole}."
    if isinstance(node, Number) and answer == wording.sum_(node):
        return f"{_start(answer)}."
    return f"{_start(wording.sum_(node))} is {answer}."


def _conversion(amount: Fraction, unit: Unit, other: Unit) -> str:
    unit, other = meant_together(unit, other)
    if unit.dimension != other.dimension:
        raise SkillError(
            "maths.dimension",
            f"{_start(unit.plural)} and {other.plural} measure different things.",
        )
    result = convert(amount, unit, other)
    spoken = wording.measured(result, 1 if unit.dimension == "temperature" else 2)
    one = wording.portion(amount, unit.name) or _counted(wording.measured(amount, 3), unit)
    return f"{_start(one)} is {_counted(spoken, other)}."


def _counted(number: str, unit: Unit) -> str:
    return f"{number} {unit.name if number in ('1', 'minus 1') else unit.plural}"


def _unit(name: str) -> Unit:
    unit = UNITS.get(str(name).lower())
    if unit is None:
        raise SkillError("maths.unit", f"I don't know the unit {name}.")
    return unit


def _exact(amount: float) -> Fraction:
    """A third of a cup is a third, although its slot is a decimal."""
    exact = Fraction(str(amount))
    near = exact.limit_denominator(1000)
    return near if abs(exact - near) < Fraction(1, 10**12) else exact


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]
