"""What is said about what was done and what was not."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.home.base import Entity
from assistant.skills.home.act import Plan, Result
from assistant.skills.home.words import names
from assistant.skills.spoken import listing


def told(plan: Plan, result: Result) -> str:
    """One sentence about a plan of which at least something was done, with its note."""
    failed = [*plan.left_out, *result.failed]
    if not failed:
        reply = f"{plan.now or plan.did} {plan.what}{plan.tail}."
        reply = reply[:1].upper() + reply[1:]
    else:
        done = names(result.done)
        reply = f"I {plan.did} {done}{plan.tail}, but {why(failed)}."
    return f"{plan.note} {reply}".strip()


def why(failed: Sequence[tuple[Entity, str]]) -> str:
    """ "the Hall lamp did not answer and the Desk lamp has no colour"."""
    reasons = dict.fromkeys(reason for _, reason in failed)
    return listing(
        f"{names([entity for entity, r in failed if r == reason])} {reason}" for reason in reasons
    )
