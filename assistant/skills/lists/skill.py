"""Shopping list, to-do list and lists of any other name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.choice import choose
from assistant.intent.items import is_task
from assistant.intent.list_slots import list_name
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.sound_alike import best_match
from assistant.intent.yes_no import yes_no
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.lists.find import matching, part, same, without
from assistant.skills.lists.followup import revised
from assistant.skills.lists.move import move
from assistant.skills.lists.store import Item, Store
from assistant.skills.lists.wording import are, start, things
from assistant.skills.marks import valued
from assistant.state import State

SHOPPING, TO_DO = "shopping", "to-do"
MAX_LINES = 500
MAX_LISTS = 100
KINDS = {"items": ("items",), "list": ("list_name", "name")}
NEED_ITEMS = ("lists.add", "lists.remove", "lists.tick", "lists.check", "lists.move")
_ADDS = re.compile(r"^(?:[a-z]+ ){0,4}?(?:add|put|write)\b")
_NAMES_LIST = re.compile(r"\b(?:lists?|shopping|groceries|to-?dos?|tasks|chores)\b")
PAGE = 8
"""So many items are read at once; what is left over is offered."""


class ListsSkill(Skill):
    name = "lists"
    abilities = ("keep lists",)
    topics = ("lists", "list", "shopping", "shopping list", "to-do list", "to-dos", "tasks")
    examples = (
        "add milk, eggs and bread to the shopping list",
        "what's on the shopping list",
        "cross off milk from the shopping list",
        "put call the plumber on my to-do list",
        "make a packing list",
        "clear the shopping list",
    )
    phrases = (
        "shopping list", "to-do list", "add", "to the shopping list", "on the list",
        "what's on the shopping list", "remove", "clear the list",
    )  # fmt: skip

    def __init__(self, cfg: Config, state: State) -> None:
        self._store = Store(state)
        self._forget_after_s = cfg.dialogue.forget_after_s
        self._recent, self._when = "", datetime.min
        """The list spoken of last."""
        self._actions: dict[str, Callable[[Intent], Outcome]] = {
            "lists.add": self._add,
            "lists.remove": self._remove,
            "lists.tick": self._remove,
            "lists.read": self._read,
            "lists.count": self._count,
            "lists.check": self._check,
            "lists.clear": self._clear,
            "lists.create": self._create,
            "lists.delete": self._delete,
            "lists.all": self._all,
            "lists.move": self._move,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = valued(intent, turn.now(), KINDS)
        if "place" in intent.slots:
            intent = self._placed(intent)
        if intent.name in NEED_ITEMS and not intent.slots.get("items"):
            raise SkillError("lists.items", "I didn't catch what you mean.")
        if intent.name == "lists.add" and self._goes_on(intent, turn):
            intent = replace(intent, slots={**intent.slots, "list": self._recent})
        outcome = self._actions[intent.name](intent)
        if intent.slots.get("list"):
            self._recent, self._when = self._resolve(intent.slots["list"]), turn.now()
        return outcome

    def _goes_on(self, intent: Intent, turn: TurnContext) -> bool:
        """Whether it adds to the list of its own name that was just spoken of."""
        words = normalize(turn.utterance)
        return (
            self._recent in self._store.names()
            and self._recent not in (SHOPPING, TO_DO)
            and abs((turn.now() - self._when).total_seconds()) <= self._forget_after_s
            and _ADDS.search(words) is not None
            and _NAMES_LIST.search(words) is None
        )

    def _placed(self, intent: Intent) -> Intent:
        """With the thing that stands at the place that was said."""
        slots = dict(intent.slots)
        name, place = self._named(intent) or self._usual(), int(slots.pop("place"))
        lines = self._existing(name)
        if not 1 <= place <= len(lines):
            there = things(len(lines))
            raise SkillError("lists.place", f"There {there} on the {name} list.")
        return replace(intent, slots={**slots, "list": name, "items": [lines[place - 1].text]})

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        if "choices" in known:
            chosen = choose(text, known["choices"])
            if chosen is None:
                return None
            items = [*known.get("rest", []), *(known["choices"][place] for place in chosen)]
            slots = {"list": known["list"]} if known.get("list") else {}
            return Intent(expects, {**slots, "items": items})
        if expects == "lists.create":
            words = strip_courtesy(normalize(text))
            for lead_in in ("call it ", "it is called ", "name it ", "it is ", "the "):
                words = words.removeprefix(lead_in)
            named = list_name(words.removesuffix(" list"), now)
            return Intent(expects, {"list": named}) if named else None
        sure = yes_no(text)
        return None if sure is None else Intent(expects, {**known, "sure": sure})

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        return revised(valued(last, turn.now(), KINDS), text, turn.now())

    def nouns(self) -> dict[str, str]:
        return dict.fromkeys(self._store.names(), "list")

    def vocabulary(self) -> list[str]:
        lists = [f"{name} list" for name in self._store.names()]
        return [*lists, *(item.text for item in self._store.all()), *self.phrases]

    def _add(self, intent: Intent) -> Outcome:
        said: list[str] = intent.slots["items"]
        usual = TO_DO if all(is_task(item) for item in said) else SHOPPING
        name = self._resolve(intent.slots.get("list", usual))
        is_new = name not in self._store.names()
        there = self._store.items(name)
        if len(there) + len(said) > MAX_LINES:
            raise SkillError("lists.full", f"The {name} list is full.")
        fresh: list[str] = []
        for item in said:
            if not any(same(item, text) for text in [*fresh, *(line.text for line in there)]):
                fresh.append(item)
        old = [item for item in said if item not in fresh]
        known = (
            f"{start(spoken.listing(old))} {are(old)} already on the {name} list." if old else ""
        )
        if not fresh:
            return Outcome(known)
        added = self._store.add(name, fresh)
        what = spoken.listing(fresh)
        if len(fresh) == 1:
            reply = f"Added {what} to the {name} list."
        else:
            reply = f"Added {len(fresh)} things to the {name} list: {what}."
        return Outcome(
            f"{reply} {known}".strip(),
            self._action("add", name, added),
            undo=lambda: self._unadd(name, added, is_new),
        )

    def _unadd(self, name: str, added: list[Item], was_new: bool) -> Outcome:
        self._store.remove(added)
        if was_new and not self._store.items(name, done=None):
            self._store.drop(name)
        texts = [item.text for item in added]
        reply = f"{start(spoken.listing(texts))} {are(texts)} off the {name} list again."
        return Outcome(reply, self._action("remove", name, added))

    def _remove(self, intent: Intent) -> Outcome:
        """Takes items off, or ticks them: they stay, but are not read out."""
        do = intent.name.removeprefix("lists.")
        name = self._named(intent)
        lines = self._store.items(name) if name else self._store.all()
        gone: list[Item] = []
        missing: list[str] = []
        for said in intent.slots["items"]:
            found = matching(said, lines)
            if len(found) > 1 and not all(same(item.text, found[0].text) for item in found):
                texts = [item.text for item in found]
                rest = [item for item in intent.slots["items"] if item != said]
                known = {"list": name, "choices": texts, "rest": rest}
                question = f"Which one: {spoken.listing(texts, 'or')}?"
                return Outcome(question, question=True, expects=intent.name, known=known)
            gone += [replace(item, text=part(item, said)) for item in found]
            missing += [] if found else [said]
        if not gone:
            where = f"on the {name} list" if name else "on any list"
            return Outcome(f"I can't find {spoken.listing(missing, 'or')} {where}.", ok=False)
        before = [item for item in lines if item.id in {line.id for line in gone}]
        place = name or gone[0].list
        if do == "tick":
            self._store.keep(replace(item, done=True) for item in before)
            reply = f"Ticked off {spoken.listing(item.text for item in before)}."
        else:
            self._shorten(before, gone)
            reply = f"Removed {spoken.listing(item.text for item in gone)} from the {place} list."
        if missing:
            reply += f" I can't find {spoken.listing(missing, 'or')}."
        return Outcome(reply, self._action(do, place, gone), undo=lambda: self._put_back(before))

    def _move(self, intent: Intent) -> Outcome:
        target = self._resolve(str(intent.slots["to"]))
        return move(self._store, intent.slots["items"], self._named(intent), target)

    def _shorten(self, before: list[Item], gone: list[Item]) -> None:
        """Removes lines, or of a line only the part that was meant."""
        left = [
            replace(item, text=without(item, part.text))
            for item in before
            for part in gone
            if part.id == item.id and part.text != item.text
        ]
        kept = [item for item in left if item.text]
        self._store.remove(item for item in before if item.id not in {k.id for k in kept})
        self._store.keep(kept)

    def _put_back(self, items: list[Item]) -> Outcome:
        self._store.keep(items)
        texts = [item.text for item in items]
        name = items[0].list
        reply = f"{start(spoken.listing(texts))} {are(texts)} back on the {name} list."
        return Outcome(reply, self._action("add", name, items))

    def _read(self, intent: Intent) -> Outcome:
        if intent.slots.get("sure") is False:
            return Outcome("OK.")
        name = self._named(intent) or self._usual()
        if "items" in intent.slots:
            return Outcome(f"It's {intent.slots['items'][0]}.")
        lines = [item.text for item in self._existing(name)]
        begin = int(intent.slots.get("start", 0))
        rest = lines[begin:]
        # an offer to read two more is longer than the two
        page = rest if len(rest) <= PAGE + 2 else rest[:PAGE]
        if not rest:
            return Outcome(f"The {name} list is empty.")
        if begin:
            head = "Then"
        elif len(lines) == 1:
            return Outcome(f"There is one thing on the {name} list: {lines[0]}.")
        else:
            head = f"There are {len(lines)} things on the {name} list:"
        if len(page) == len(rest):
            return Outcome(f"{head} {spoken.listing(page)}.")
        left = len(rest) - len(page)
        return Outcome(
            f"{head} {', '.join(page)}, and {left} more. Shall I go on?",
            question=True,
            expects="lists.read",
            known={"list": name, "start": begin + len(page)},
        )

    def _count(self, intent: Intent) -> Outcome:
        name = self._named(intent) or self._usual()
        count = len(self._existing(name))
        return Outcome(f"There {things(count)} on the {name} list.")

    def _check(self, intent: Intent) -> Outcome:
        name = self._named(intent)
        lines = self._existing(name) if name else self._store.all()
        said = intent.slots["items"]
        found = {item: matching(item, lines) for item in said}
        there = [line.text for item in said for line in found[item]]
        missing = [item for item in said if not found[item]]
        where = f"on the {name} list" if name else "on a list"
        if there and not name:
            where = f"on the {next(lines[0] for lines in found.values() if lines).list} list"
        yes = f"{spoken.listing(there)} {are(there)} {where}" if there else ""
        no = f"{spoken.listing(missing, 'or')} {are(missing)} not {where}" if missing else ""
        if yes and no:
            return Outcome(f"{start(yes)}, but {no}.")
        return Outcome(f"Yes, {yes}." if yes else f"No, {no}.")

    def _clear(self, intent: Intent) -> Outcome:
        name = self._named(intent) or self._usual()
        count = len(self._existing(name))
        sure = intent.slots.get("sure")
        if sure is False:
            return Outcome(f"OK, the {name} list stays as it is.")
        if not count:
            return Outcome(f"The {name} list is already empty.")
        if count > 1 and sure is None:
            return Outcome(
                f"Shall I clear all {count} items from the {name} list?",
                question=True,
                expects=intent.name,
                known={"list": name},
            )
        lines = self._store.items(name, done=None)
        self._store.remove(lines)
        opened = [item for item in lines if not item.done]
        return Outcome(
            f"The {name} list is empty now.",
            self._action("clear", name, opened),
            undo=lambda: self._restored(name, lines),
        )

    def _restored(self, name: str, lines: list[Item]) -> Outcome:
        self._store.create(name)
        self._store.keep(lines)
        count = len(self._store.items(name))
        return Outcome(
            f"The {name} list is back: there {things(count)} on it.",
            self._action("add", name, lines),
        )

    def _create(self, intent: Intent) -> Outcome:
        if "list" not in intent.slots:
            return Outcome("What is the list called?", question=True, expects=intent.name)
        name = str(intent.slots["list"]).removesuffix(" list")
        name = list_name(name, datetime.min) or name
        if name in self._store.names():
            count = len(self._store.items(name))
            return Outcome(f"There is a {name} list already: there {things(count)} on it.")
        if len(self._store.names()) >= MAX_LISTS:
            raise SkillError("lists.many", f"There are already {MAX_LISTS} lists.")
        self._store.create(name)
        return Outcome(
            f"There is a {name} list now.",
            self._action("create", name, []),
            undo=lambda: self._dropped(name),
        )

    def _dropped(self, name: str) -> Outcome:
        gone = self._store.drop(name)
        return Outcome(f"The {name} list is gone.", self._action("delete", name, gone))

    def _delete(self, intent: Intent) -> Outcome:
        name = self._named(intent) or self._usual()
        count = len(self._existing(name))
        if intent.slots.get("sure") is False:
            return Outcome(f"OK, the {name} list stays.")
        if count and intent.slots.get("sure") is None:
            things = "its only item" if count == 1 else f"all {count} items"
            return Outcome(
                f"Shall I delete the {name} list with {things}?",
                question=True,
                expects=intent.name,
                known={"list": name},
            )
        if name not in self._store.names():
            return Outcome(f"The {name} list is already empty.")
        gone = self._store.drop(name)
        return Outcome(
            f"The {name} list is deleted.",
            self._action("delete", name, gone),
            undo=lambda: self._restored(name, gone),
        )

    def _all(self, intent: Intent) -> Outcome:
        names = self._store.names()
        if not names:
            return Outcome("There are no lists yet.")
        told = [f"{name} with {len(self._store.items(name)) or 'no'} items" for name in names]
        told = [text.replace("with 1 items", "with one item") for text in told]
        if len(names) == 1:
            return Outcome(f"There is one list: {told[0]}.")
        return Outcome(f"There are {len(names)} lists: {spoken.listing(told)}.")

    def _named(self, intent: Intent) -> str:
        """The list that was named, as it is called here; "" when none was."""
        return self._resolve(intent.slots["list"]) if intent.slots.get("list") else ""

    def _resolve(self, said: str) -> str:
        known = list(dict.fromkeys([SHOPPING, TO_DO, *self._store.names()]))
        if said in known:
            return said
        # "the hardware list" is the hardware store list
        longer = [name for name in known if set(said.split()) < set(name.split())]
        return longer[0] if len(longer) == 1 else best_match(said, known) or said

    def _usual(self) -> str:
        """The list that is meant when none is named: the only one in use, else for shopping."""
        used = {item.list for item in self._store.all()}
        return used.pop() if len(used) == 1 else SHOPPING

    def _existing(self, name: str) -> list[Item]:
        """The open items of a list. Raises SkillError when there is no such list."""
        if name not in (SHOPPING, TO_DO) and name not in self._store.names():
            raise SkillError("lists.unknown", f"There is no {name} list.")
        return self._store.items(name)

    def _action(self, do: str, name: str, items: Sequence[Item]) -> dict[str, Any]:
        texts = [item.text for item in items]
        left = [item.text for item in self._store.items(name)]
        return {"skill": self.name, "do": do, "list": name, "items": texts, "now": left}
