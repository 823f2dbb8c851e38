"""Moves things from one list to another."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.skills import spoken
from assistant.skills.base import Outcome
from assistant.skills.lists.find import matching
from assistant.skills.lists.store import Item, Store
from assistant.skills.lists.wording import are, start


def move(store: Store, said: Sequence[str], source: str, target: str) -> Outcome:
    """What was said goes to the end of the list ``target``.

    source: the list that they are on; "" looks on all others.
    """
    lines = store.items(source) if source else store.all()
    lines = [item for item in lines if item.list != target]
    found = {text: matching(text, lines)[:1] for text in said}
    gone = list({item.id: item for items in found.values() for item in items}.values())
    missing = [text for text, items in found.items() if not items]
    if not gone:
        where = f"on the {source} list" if source else "on any other list"
        return Outcome(f"I can't find {spoken.listing(missing, 'or')} {where}.", ok=False)
    is_new = target not in store.names()
    texts = [item.text for item in gone]
    store.remove(gone)
    added = store.add(target, texts)
    reply = f"Moved {spoken.listing(texts)} to the {target} list."
    if missing:
        reply += f" I can't find {spoken.listing(missing, 'or')}."

    def undo() -> Outcome:
        store.remove(added)
        if is_new and not store.items(target, done=None):
            store.drop(target)
        store.keep(gone)
        back = f"{start(spoken.listing(texts))} {are(texts)} back on the {gone[0].list} list."
        return Outcome(back, _action(store, gone, gone[0].list))

    return Outcome(reply, _action(store, added, target), undo=undo)


def _action(store: Store, items: Sequence[Item], target: str) -> dict[str, object]:
    now = [item.text for item in store.items(target)]
    texts = [item.text for item in items]
    return {"skill": "lists", "do": "move", "list": target, "items": texts, "now": now}
