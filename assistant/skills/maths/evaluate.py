"""The value of a sum: exact where it can be, and never larger than can be said."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from assistant.errors import SkillError
from assistant.intent.formula import Node, Number, Term

MAX_DIGITS = 1000
"""Results are exact up to so many digits; what is larger is refused."""

MAX_FACTORIAL = 400
_SCALE = 10**30


@dataclass(frozen=True, slots=True)
class Value:
    """exact: False for a root or power that has no end, kept to about 30 digits."""

    number: Fraction
    exact: bool = True


def evaluate(node: Node) -> Value:
    """Raises SkillError for what has no value, or one that is too large to say."""
    if isinstance(node, Number):
        return Value(node.value)
    if node.op in ("+", "-") and _is_percent(node.args[1]):
        # a percentage of what stands before it, as on a till
        left, rate = evaluate(node.args[0]), evaluate(node.args[1]).number
        return Value(left.number * (1 + rate if node.op == "+" else 1 - rate), left.exact)
    values = [evaluate(arg) for arg in node.args]
    numbers = [value.number for value in values]
    exact = all(value.exact for value in values)
    if node.op == "^":
        return _power(numbers[0], numbers[1], exact)
    if node.op == "root":
        return _root(numbers[0], numbers[1], exact)
    return Value(_checked(_plain(node.op, numbers)), exact)


def _is_percent(node: Node) -> bool:
    return isinstance(node, Term) and node.op == "%"


def _plain(op: str, numbers: list[Fraction]) -> Fraction:
    first, last = numbers[0], numbers[-1]
    if op in ("/", "mod", "share") and last == 0:
        raise SkillError("maths.zero", "Nothing can be divided by zero.")
    if op == "+":
        return first + last
    if op == "-":
        return first - last
    if op in ("*", "of"):
        return first * last
    if op == "/":
        return first / last
    if op == "mod":
        return first % last
    if op == "share":
        return first / last * 100
    if op == "%":
        return first / 100
    if op == "mean":
        return sum(numbers, Fraction(0)) / len(numbers)
    return _factorial(first)


def _factorial(number: Fraction) -> Fraction:
    if number.denominator != 1 or number < 0:
        raise SkillError("maths.factorial", "Only whole numbers have a factorial.")
    if number > MAX_FACTORIAL:
        raise _too_large()
    return Fraction(math.factorial(int(number)))


def _power(base: Fraction, exponent: Fraction, exact: bool) -> Value:
    if base == 0 and exponent < 0:
        raise SkillError("maths.zero", "Nothing can be divided by zero.")
    if exponent.denominator == 1:
        if base not in (0, 1, -1):
            digits = max(_log10(base.numerator), _log10(base.denominator)) * abs(exponent)
            if digits > MAX_DIGITS:
                raise _too_large()
        elif abs(exponent) > 1:
            exponent = 2 + exponent % 2 if base == -1 else Fraction(1)
        return Value(base ** int(exponent), exact)
    root = _root(base, Fraction(exponent.denominator), exact)
    return _power(root.number, Fraction(exponent.numerator), root.exact)


def _root(number: Fraction, degree: Fraction, exact: bool) -> Value:
    if degree.denominator != 1 or not 2 <= degree <= 100:
        raise SkillError("maths.root", "I can only take whole roots.")
    n = int(degree)
    if number < 0 and n % 2 == 0:
        raise SkillError("maths.root", "A negative number has no real root.")
    sign = -1 if number < 0 else 1
    number = abs(number)
    top, bottom = _whole_root(number.numerator, n), _whole_root(number.denominator, n)
    if top**n == number.numerator and bottom**n == number.denominator:
        return Value(sign * Fraction(top, bottom), exact)
    scaled = number.numerator * _SCALE**n // number.denominator
    return Value(sign * Fraction(_whole_root(scaled, n), _SCALE), exact=False)


def _whole_root(number: int, degree: int) -> int:
    """The largest whole number whose power is not above ``number``."""
    if degree == 2:
        return math.isqrt(number)
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle - 1
    return low


def _checked(number: Fraction) -> Fraction:
    if _log10(number.numerator) > MAX_DIGITS or _log10(number.denominator) > MAX_DIGITS:
        raise _too_large()
    return number


def _log10(number: int) -> float:
    """About as many digits as the number has."""
    return abs(number).bit_length() * math.log10(2)


def _too_large() -> SkillError:
    return SkillError("maths.large", "That number is too large for me to say.")
