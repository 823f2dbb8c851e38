"""The kinds of values in sentences about lists: {items}, {goods}, {list_name}."""

from __future__ import annotations

import re
from datetime import datetime

from assistant.intent.goods import is_goods
from assistant.intent.items import MAX_ITEM_WORDS, split_items

MAX_GOODS_WORDS = 5
MAX_LIST_WORDS = 3

_ARTICLES = re.compile(r"^(?:the|a|an|my|our|that|this|some)\s+")
_LIST_NAMES = {
    **dict.fromkeys(("shopping", "grocery", "groceries", "food", "supermarket"), "shopping"),
    **dict.fromkeys(
        ("to-do", "to do", "todo", "to-dos", "to dos", "todos", "task", "tasks", "chore", "chores"),
        "to-do",
    ),
}
_NO_LIST = frozenset(
    """the a an my our your his her their this that to on onto from off of in into for at with and
    or is are was were do did what which who how why where when i you it me we they have has need
    not no any all every each long short whole entire complete full first second next last one ones
    same other another new list lists add put remove delete take read check called named price
    mailing waiting play reminder reminders timer timers alarm alarms""".split()
)
_NO_GOODS = frozenset(
    """to how what which who when where why my your his her our their i you he she it we they me us
    is are was were be do does did can could will would should the this that these those and or not
    new change out about for from in on at into up off by as if than then there use make get help
    pinch""".split()
)
_NO_FIRST_WORD = frozenset(
    """to you me in on at everything anything something nothing all it that this them those these
    what reminder reminders""".split()
)
_NO_LAST_WORD = frozenset(
    "to on onto from off of in into for at with the a an my our your this that and or".split()
)


def items(text: str, now: datetime) -> list[str] | None:
    """Any things for a list, in the letters as said: "milk, eggs and bread" are three."""
    words = text.casefold().split()
    if not words or words[-1] in _NO_LAST_WORD or words[0] in _NO_FIRST_WORD:
        return None
    found = split_items(text)
    return found if found and max(len(item.split()) for item in found) <= MAX_ITEM_WORDS else None


def goods(text: str, now: datetime) -> list[str] | None:
    """Things that are commonly bought, each of them known; for sentences that name no list."""
    found = split_items(text)
    words = [item.casefold().split() for item in found]
    short = all(len(w) <= MAX_GOODS_WORDS and not _NO_GOODS & set(w) for w in words)
    return found if found and short and all(is_goods(" ".join(w)) for w in words) else None


def list_name(text: str, now: datetime) -> str | None:
    """What stands before "list": "shopping" (also for groceries), "to-do" (also for tasks), or
    one to three words of its own, such as "packing"."""
    named = _ARTICLES.sub("", text.casefold().strip(" \t\"'.,!?"))
    named = _ARTICLES.sub("", named.removeprefix("new ")).strip()
    if named in _LIST_NAMES:
        return _LIST_NAMES[named]
    words = named.split()
    if not 0 < len(words) <= MAX_LIST_WORDS or any(word in _NO_LIST for word in words):
        return None
    return named
