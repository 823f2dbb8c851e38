"""Which lines of a list are meant by what was said."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.intent.goods import singular
from assistant.intent.items import bare
from assistant.intent.normalize import normalize
from assistant.intent.sound_alike import best_match
from assistant.skills.lists.store import Item


def same(one: str, other: str) -> bool:
    """Whether two items are one, but for capitals, articles and the number of the noun."""
    return _key(one) == _key(other)


def matching(said: str, items: Sequence[Item]) -> list[Item]:
    """The items that ``said`` names: that very one, else those that have all of its words
    ("milk" means "two pints of milk"), else the one that sounds like it."""
    wanted = _key(said)
    exact = [item for item in items if _key(item.text) == wanted]
    if exact:
        return exact
    within = [item for item in items if set(wanted) <= set(_key(item.text))]
    if within or not wanted:
        return within
    close = best_match(said, [item.text for item in items])
    return [item for item in items if item.text == close][:1]


def without(item: Item, said: str) -> str:
    """What is left of "paint and brushes" when the brushes are taken off; "" when nothing is."""
    parts = item.text.split(" and ")
    rest = [part for part in parts if not same(part, said)]
    return " and ".join(rest) if len(rest) < len(parts) else ""


def part(item: Item, said: str) -> str:
    """The words of the line that are meant: of "paint and brushes" perhaps the brushes."""
    return said if without(item, said) else item.text


def plural(items: Sequence[str]) -> bool:
    """Whether one says "are" of them."""
    last = items[-1].casefold().split()[-1:]
    return len(items) > 1 or " and " in items[-1] or (bool(last) and singular(last[0]) != last[0])


def _key(text: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in normalize(bare(text)).split())
