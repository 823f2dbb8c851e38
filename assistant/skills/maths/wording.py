"""Numbers and sums as they are spoken."""

from __future__ import annotations

from fractions import Fraction

from assistant.intent.formula import Node, Number, Term
from assistant.skills import spoken

EXACT_DIGITS = 15
"""Whole numbers of more digits are rounded."""

MAX_DECIMALS = 5
"""Decimals that are read out when the number ends there; others are rounded to three."""

_SCALES = (
    "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion",
    "septillion", "octillion", "nonillion", "decillion",
)  # fmt: skip
_PARTS = {
    2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth",
    9: "ninth", 10: "tenth",
}  # fmt: skip
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_OPS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by", "mod": "modulo"}
_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2, "of": 3, "^": 4}
_ROOTS = {2: "square root", 3: "cube root"}


def number(value: Fraction, exact: bool = True) -> str:
    """ "12", "0.125", "about 0.333", "about 18.4 quintillion", "minus 3"."""
    if value < 0:
        positive = number(-value, exact)
        about = positive.startswith("about ")
        return f"about minus {positive[6:]}" if about else f"minus {positive}"
    if value.denominator == 1 and exact and value < 10**EXACT_DIGITS:
        return digits(value)
    if value >= 10**EXACT_DIGITS:
        return _huge(value)
    ending = exact and _ends(value, MAX_DECIMALS)
    if ending:
        return digits(value)
    return f"about {digits(rounded(value))}"


def measured(value: Fraction, decimals: int) -> str:
    """A converted amount: exact where it ends within three decimals, else rounded."""
    if value < 0:
        positive = measured(-value, decimals)
        about = positive.startswith("about ")
        return f"about minus {positive[6:]}" if about else f"minus {positive}"
    if _ends(value, 3) or value >= 10**9 or (value < 1 and decimals > 1):
        return number(value)
    return f"about {digits(Fraction(round(value * 10**decimals), 10**decimals))}"


def portion(value: Fraction, unit: str) -> str:
    """ "half a cup", "two thirds of an hour"; "" for what is no simple part of one."""
    if not 0 < value < 1 or value.denominator not in _PARTS or value.denominator in (5, 10):
        return ""
    article = "an" if unit[0] in "aeiou" and not unit.startswith("eu") else "a"
    article = "an" if unit.startswith("hour") else article
    half = value.denominator == 2
    return f"{'half' if half else _operand(value) + ' of'} {article} {unit}"


def rounded(value: Fraction) -> Fraction:
    """To what one would say: three decimals, fewer of large numbers, more of tiny ones."""
    if value >= 1000:
        return Fraction(round(value * 100), 100)
    if value >= Fraction(1, 10):
        return Fraction(round(value * 1000), 1000)
    places = 3
    while value and round(value * 10**places) < 100 and places < 30:
        places += 1
    return Fraction(round(value * 10**places), 10**places)


def digits(value: Fraction) -> str:
    """A number that ends, in digits, with commas from ten thousand on."""
    sign = "minus " if value < 0 else ""
    value = abs(value)
    whole, rest = divmod(value, 1)
    text = f"{int(whole):,}" if whole >= 10_000 else str(int(whole))
    if not rest:
        return sign + text
    places = 1
    while rest * 10**places % 1:
        places += 1
    if places > 9:  # 0.00000000123
        return sign + _scientific(value)
    return f"{sign}{text}.{int(rest * 10**places):0{places}d}"


def sum_(node: Node) -> str:
    """ "15 percent of 80", "3 plus 4 times 5", "the square root of 81"."""
    if isinstance(node, Number):
        return _operand(node.value)
    args = node.args
    if node.op == "%":
        return f"{sum_(args[0])} percent"
    if node.op == "!":
        return f"{sum_(args[0])} factorial"
    if node.op == "share":
        return f"{sum_(args[0])} of {sum_(args[1])}"
    if node.op == "mean":
        return f"the average of {spoken.listing(map(sum_, args))}"
    if node.op == "root":
        degree = args[1].value if isinstance(args[1], Number) else Fraction(2)
        name = _ROOTS.get(int(degree)) or f"{spoken.ordinal(int(degree))} root"
        return f"the {name} of {_inner(args[0], 3)}"
    if node.op == "of":
        return f"{sum_(args[0])} of {_inner(args[1], 3)}"
    if node.op == "^":
        return f"{_inner(args[0], 5)} {_exponent(args[1])}"
    binds = _BINDS[node.op]
    return f"{_inner(args[0], binds)} {_OPS[node.op]} {_inner(args[1], binds + 1)}"


def _exponent(node: Node) -> str:
    named = {2: "squared", 3: "cubed"}
    if isinstance(node, Number) and node.value in named:
        return named[int(node.value)]
    return f"to the power of {_inner(node, 5)}"


def _inner(node: Node, binds: int) -> str:
    """In words for brackets where the inner sum binds less than what is around it."""
    text = sum_(node)
    looser = isinstance(node, Term) and _BINDS.get(node.op, 9) < binds
    return f"the result of {text}," if looser else text


def _operand(value: Fraction) -> str:
    if value < 0:
        return f"minus {_operand(-value)}"
    part = _PARTS.get(value.denominator)
    if part and 0 < value.numerator < 10 and not _spoken_as_decimal(value):
        if value.numerator == 1:
            return f"one {part}"
        return f"{_COUNTS[value.numerator]} {'halves' if part == 'half' else part + 's'}"
    if _ends(value, 9):
        return digits(value)
    whole, rest = divmod(value.numerator, value.denominator)
    if whole and rest < 10 and value.denominator in _PARTS:
        return f"{whole} and {_operand(Fraction(rest, value.denominator))}"
    return f"{value.numerator} over {value.denominator}"


def _spoken_as_decimal(value: Fraction) -> bool:
    """Three halves are 1.5, and seven tenths 0.7."""
    return value > 1 or value.denominator in (5, 10)


def _huge(value: Fraction) -> str:
    power = len(str(int(value))) - 1
    scale = power // 3
    if scale <= len(_SCALES):
        unit = Fraction(10) ** (3 * scale)
        name = _SCALES[scale - 1]
        short = Fraction(round(value / unit * 1000), 1000)
        about = "" if short * unit == value else "about "
        return f"{about}{digits(short)} {name}"
    return f"about {_scientific(value)}"


def _scientific(value: Fraction) -> str:
    power = 0
    while value >= 10:
        value, power = value / 10, power + 1
    while value < 1:
        value, power = value * 10, power - 1
    head = digits(Fraction(round(value * 100), 100))
    return f"{head} times 10 to the power of {_operand(Fraction(power))}"


def _ends(value: Fraction, places: int) -> bool:
    return bool((value * 10**places).denominator == 1)
