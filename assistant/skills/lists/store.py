"""The lists in the state database: names, and items in the order in which they were added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from assistant.state import State


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a list. done: it was ticked off and is no longer read out."""

    id: int
    list: str
    text: str
    done: bool = False


class Store:
    """Every method is one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def names(self) -> list[str]:
        """The names of all lists, as they were begun."""
        rows = self._state.query("SELECT name FROM lists ORDER BY rowid")
        return [row["name"] for row in rows]

    def items(self, name: str, *, done: bool | None = False) -> list[Item]:
        """The items of a list, those still open; ``done=None`` gives all of them."""
        rows = self._state.query("SELECT * FROM list_items WHERE list = ? ORDER BY id", (name,))
        return [item for item in map(_item, rows) if done is None or item.done == done]

    def all(self) -> list[Item]:
        """The open items of all lists."""
        return [item for name in self.names() for item in self.items(name)]

    def create(self, name: str) -> None:
        """Begins a list; one that is there stays."""
        with self._state.transaction() as db:
            db.execute("INSERT OR IGNORE INTO lists (name) VALUES (?)", (name,))

    def drop(self, name: str) -> list[Item]:
        """Removes a list and gives back what was on it."""
        with self._state.transaction() as db:
            gone = db.execute("DELETE FROM list_items WHERE list = ? RETURNING *", (name,))
            items = sorted(map(_item, gone.fetchall()), key=lambda item: item.id)
            db.execute("DELETE FROM lists WHERE name = ?", (name,))
        return items

    def add(self, name: str, texts: Iterable[str]) -> list[Item]:
        """Puts items at the end of a list, which is begun when it is not there."""
        with self._state.transaction() as db:
            db.execute("INSERT OR IGNORE INTO lists (name) VALUES (?)", (name,))
            return [
                _item(
                    db.execute(
                        "INSERT INTO list_items (list, text) VALUES (?, ?) RETURNING *",
                        (name, text),
                    ).fetchone()
                )
                for text in texts
            ]

    def remove(self, items: Iterable[Item]) -> None:
        with self._state.transaction() as db:
            db.executemany("DELETE FROM list_items WHERE id = ?", [(item.id,) for item in items])

    def keep(self, items: Iterable[Item]) -> None:
        """Writes items as they are given, in their old place: what was removed is back."""
        with self._state.transaction() as db:
            for item in items:
                db.execute("INSERT OR IGNORE INTO lists (name) VALUES (?)", (item.list,))
                db.execute(
                    "INSERT OR REPLACE INTO list_items (id, list, text, done) VALUES (?, ?, ?, ?)",
                    (item.id, item.list, item.text, item.done),
                )


def _item(row: sqlite3.Row) -> Item:
    return Item(row["id"], row["list"], row["text"], bool(row["done"]))
