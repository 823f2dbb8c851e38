"""Sums as people say them -> a tree: "15 percent of 80", "three plus four times five squared".

Times and divided bind closer than plus and minus, powers and "of" closer than both. A percentage
behind plus or minus is one of what stands before it: "80 plus 20 percent" is 96.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from assistant.intent.values.number import match_number
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.tokens import Token, tokenize

MAX_TOKENS = 60

Op = str
"""One of: + - * / mod ^ root of (a part of) % (percent) ! mean share.

"share" is how many percent of the right one the left one is; "mean" takes any number of them.
"""


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Term:
    """An operation and what it is done with; "%" and "!" have one argument, "root" its degree
    behind the number."""

    op: Op
    args: tuple[Node, ...]


Node = Number | Term

_WORDS: dict[str, tuple[str, ...]] = {
    "+": ("plus", "+", "and then add", "add"),
    "-": ("minus", "-", "take away", "takeaway", "less", "subtract"),
    "*": ("times", "multiplied by", "multiplied with", "x", "×", "*", "·", "time"),
    "/": ("divided by", "÷", "/", "over", "divide by"),
    "mod": ("modulo", "mod", "modulus"),
}
_POWER = ("to the power of", "raised to the power of", "raised to", "to the power", "^", "* *")
_SQUARES = {"squared": 2, "²": 2, "cubed": 3, "³": 3}
_POWERS_OF = {"square of": 2, "cube of": 3}
_ROOTS = {"square root": 2, "squared root": 2, "root": 2, "cube root": 3, "cubic root": 3, "√": 2}
_PERCENT = ("percent", "%", "per cent", "percentage")
_DOUBLES: dict[str, int | Fraction] = {
    "double": 2,
    "twice": 2,
    "triple": 3,
    "thrice": 3,
    "half": Fraction(1, 2),
}
_BIG_NAMES = frozenset(("hundred", "thousand", "million", "billion", "trillion", "dozen"))

_HINT = re.compile(
    r"[+*×÷^√²³%/!]|\d\s*[x-]\s*\d|\b(?:plus|minus|times|time|multipl\w+|divided?|over|power|percent"
    r"|percentage|cent|squared|cubed|root|of|add|added|subtract\w*|sum|product|difference|average"
    r"|mean|quotient|twice|double|triple|thrice|half|less|take|takeaway|mod|modulo|factorial"
    r"|remainder|split|share|square|cube|to the|increase\w*|decrease\w*|reduced?|off|x)\b"
)
_FRACTION = re.compile(r"^\d+(?:/\d+)+$")
"""Bare, this is a fraction, a date or 24/7 and no order to divide."""
_DATE = re.compile(r"^\d{1,4}[/-]\d{1,2}[/-]\d{1,4}$")
_DECIMAL = re.compile(r"-?\d*[.,]\d+|.*\bpoint\b.*")
_SHARERS = (
    "people", "persons", "friends", "children", "kids", "guests", "of us", "ways", "equal parts",
    "parts", "equally", "evenly",
)  # fmt: skip
_MONEY = ("dollars", "dollar", "euros", "euro", "pounds", "bucks", "cents", "€", "$", "£")


class _Failed(Exception):
    """The words are no sum."""


def parse_formula(text: str) -> Node | None:
    """The sum that the whole text is; None for what is none, and for a bare whole number."""
    if not _HINT.search(text.casefold()) or _FRACTION.match(text.strip()):
        return None
    node = _whole(text)
    return node if isinstance(node, Term) and node.op != "%" else None


def parse_figure(text: str) -> Node | None:
    """Like ``parse_formula``, and also what is worth working out by itself: "a third", "10/4"."""
    if _DATE.match(text.strip()):
        return None
    node = parse_formula(text) or _whole(text)
    if isinstance(node, Term):
        return node if node.op != "%" else None
    whole = node is None or node.value.denominator == 1
    return None if whole or _DECIMAL.fullmatch(text.strip()) else node


def _whole(text: str) -> Node | None:
    tokens = [t for t in tokenize(text) if t.text not in ("=", "?", '"', "'")]
    while tokens and tokens[-1].text in (".", "!", ",") and not tokens[-1].glued:
        tokens.pop()
    if not 0 < len(tokens) <= MAX_TOKENS:
        return None
    reader = _Reader(tokens)
    try:
        node = reader.sentence()
    except _Failed:
        return None
    except RecursionError:
        return None
    return node if reader.at == len(tokens) else None


class _Reader:
    """Reads from left to right; every method raises _Failed where something else stands."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._words = [token.text for token in tokens]
        self.at = 0

    def sentence(self) -> Node:
        """A sum, or one as an order: "multiply 3 by 4", "subtract 5 from 12"."""
        if self._take("add", "add together", "add up", "sum up"):
            first = self._sum()
            if self._take("to"):
                return Term("+", (self._sum(), first))
            return self._rest("+", [first])
        if self._take("subtract", "take", "deduct", "take away"):
            first = self._sum()
            self._need("from", "away from", "off")
            return self._less(self._sum(), first)
        if self._take("multiply"):
            first = self._sum()
            self._need("by", "with", "and", "times")
            return Term("*", (first, self._sum()))
        if self._take("divide", "split", "share"):
            return self._shares(self._sum())
        for verb, op in (("increase", "+"), ("decrease", "-"), ("reduce", "-")):
            if self._take(verb):
                first = self._sum()
                self._need("by")
                return Term(op, (first, self._sum()))
        if self._take("what percent of", "what percentage of", "how many percent of"):
            whole = self._sum()
            self._need("is", "are")
            return Term("share", (self._sum(), whole))
        if self._take("what percent is", "what percentage is", "how many percent is"):
            part = self._product()
            self._need("of", "out of")
            return Term("share", (part, self._sum()))
        node = self._sum()
        if self._take("is what percent of", "is what percentage of", "as a percentage of"):
            return Term("share", (node, self._sum()))
        if self._take("increased by", "and increased by"):
            return Term("+", (node, self._sum()))
        if self._take("decreased by", "reduced by"):
            return Term("-", (node, self._sum()))
        return node

    def _shares(self, whole: Node) -> Node:
        """Behind "divide 80" and "split 80": "by 4", "between four people", "four ways"."""
        self._take("up")
        self._take("equally", "evenly")
        linked = self._take("by", "through", "between", "among", "amongst", "into")
        count = self._product()
        if not self._take(*_SHARERS) and not linked:
            raise _Failed
        return Term("/", (whole, count))

    def _rest(self, op: Op, nodes: list[Node]) -> Node:
        """The others of "3, 4 and 5"."""
        while self._take(", and", "and", ",", "&", "with") or self._at_number():
            nodes.append(self._product())
        if len(nodes) < 2:
            raise _Failed
        if op == "mean":
            return Term(op, tuple(nodes))
        node = nodes[0]
        for other in nodes[1:]:
            node = Term(op, (node, other))
        return node

    def _sum(self) -> Node:
        node = self._product()
        while op := self._operator("+", "-"):
            other = self._product()
            node = Term("+", (node, other)) if op == "+" else self._less(node, other)
        return node

    def _less(self, left: Node, right: Node) -> Node:
        return Term("-", (left, right))

    def _product(self) -> Node:
        node = self._power()
        while op := self._operator("*", "/", "mod"):
            node = Term(op, (node, self._power()))
        return node

    def _power(self) -> Node:
        node = self._atom()
        while True:
            if self._take("factorial") or self._glued_bang():
                node = Term("!", (node,))
            elif self._take(*_PERCENT):
                node = self._percent(node)
            elif word := self._take(*_SQUARES):
                node = Term("^", (node, Number(Fraction(_SQUARES[word]))))
            elif self._take(*_POWER):
                return Term("^", (node, self._power()))
            elif (place := self._to_the()) is not None:
                node = Term("^", (node, Number(place)))
            elif self._part_of(node):
                return Term("of", (node, self._power()))
            else:
                return node

    def _percent(self, node: Node) -> Node:
        rate = Term("%", (node,))
        if self._take("of", "off", "tip on", "tip for", "tax on", "from", "discount on", "vat on"):
            off = self._words[self.at - 1] == "off" or self._words[self.at - 2] == "discount"
            whole = self._power()
            return Term("-", (whole, rate)) if off else Term("of", (rate, whole))
        return rate

    def _part_of(self, node: Node) -> bool:
        """True behind a fraction that takes its part of something: "two thirds of"."""
        is_part = isinstance(node, Number) and node.value.denominator != 1
        return is_part and bool(self._take("of"))

    def _to_the(self) -> Fraction | None:
        """The exponent of "to the tenth [power]"."""
        if self._words[self.at : self.at + 2] != ["to", "the"]:
            return None
        place = match_ordinal(self._tokens, self.at + 2)
        if place is None:
            return None
        self.at = place.end
        self._take("power")
        return place.value

    def _atom(self) -> Node:
        if self._take("("):
            node = self._sum()
            self._need(")")
            return node
        self._take("the")
        if self._take("sum of", "total of"):
            return self._rest("+", [self._product()])
        if self._take("product of"):
            return self._rest("*", [self._product()])
        if self._take("average of", "mean of"):
            return self._rest("mean", [self._product()])
        if self._take("difference between", "difference of"):
            first = self._product()
            self._need("and")
            return Term("-", (first, self._product()))
        if self._take("quotient of", "ratio of"):
            first = self._product()
            self._need("and", "to")
            return Term("/", (first, self._product()))
        if self._take("remainder of", "remainder when"):
            first = self._power()
            self._need("divided by", "is divided by", "over")
            return Term("mod", (first, self._power()))
        if word := self._take(*_POWERS_OF):
            return Term("^", (self._power(), Number(Fraction(_POWERS_OF[word]))))
        if (root := self._root()) is not None:
            return root
        if word := self._doubled():
            self._take("of")
            return Term("*", (Number(Fraction(_DOUBLES[word])), self._power()))
        return self._number()

    def _doubled(self) -> str:
        """The word of "double 7" and "half 90"; "half a million" is a number."""
        word = self._words[self.at] if self.at < len(self._words) else ""
        after = self._words[self.at + 1 : self.at + 2]
        if word not in _DOUBLES or not after:
            return ""
        if word == "half" and after[0] in ("of", "a", *_BIG_NAMES):
            return ""
        self.at += 1
        return word

    def _root(self) -> Node | None:
        if word := self._take(*_ROOTS):
            degree = Fraction(_ROOTS[word])
        else:
            place = match_ordinal(self._tokens, self.at)
            if place is None or self._words[place.end : place.end + 1] != ["root"]:
                return None
            self.at, degree = place.end + 1, place.value
        self._take("of", "from")
        return Term("root", (self._power(), Number(degree)))

    def _number(self) -> Node:
        if self._take("minus", "negative", "-", "−"):
            inner = self._power()
            if isinstance(inner, Number):
                return Number(-inner.value)
            return Term("*", (Number(Fraction(-1)), inner))
        self._take(*_MONEY)
        hit = match_number(self._tokens, self.at, signed=False)
        if hit is None and self._take("a", "an"):
            hit = match_number(self._tokens, self.at, signed=False)
        if hit is None:
            raise _Failed
        # "10/4" and "10 over 4" are left to the division
        for place in range(self.at + 1, hit.end):
            if self._words[place] in ("/", "over") and self.at + 1 == place:
                shorter = match_number(self._tokens[:place], self.at, signed=False)
                if shorter is not None and shorter.end == place:
                    hit = shorter
                    break
        self.at = hit.end
        self._take(*_MONEY)
        return Number(hit.value)

    def _at_number(self) -> bool:
        return match_number(self._tokens, self.at, signed=False) is not None

    def _operator(self, *ops: Op) -> Op:
        for op in ops:
            if self._take(*_WORDS[op]):
                return op
        return ""

    def _glued_bang(self) -> bool:
        if (
            self.at < len(self._words)
            and self._words[self.at] == "!"
            and self._tokens[self.at].glued
        ):
            self.at += 1
            return True
        return False

    def _take(self, *phrases: str) -> str:
        """The longest of the phrases that stands here, which is passed over; "" when none does."""
        for phrase in sorted(phrases, key=len, reverse=True):
            words = phrase.split()
            if self._words[self.at : self.at + len(words)] == words:
                self.at += len(words)
                return phrase
        return ""

    def _need(self, *phrases: str) -> None:
        if not self._take(*phrases):
            raise _Failed
