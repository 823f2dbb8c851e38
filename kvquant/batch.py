"""Several sessions that generate at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from kvquant.config import Token
from kvquant.generation import Generation
from kvquant.session import Session
from kvquant.steps import Cancelled

_LARGEST = 8
"""Sequences in one pass over the weights."""


def generate_together(
    sessions: Sequence[Session],
    prompts: Sequence[list[int]],
    texts: Sequence[Generation],
    cancel: threading.Event | None,
) -> Iterator[tuple[int, Token]]:
    """Yields (number of the sequence, token). Everything was checked by the caller."""
    for session in sessions:
        session.finish = None
    try:
        for session, prompt, text in zip(sessions, prompts, texts, strict=True):
            if not session.begin(prompt, text, cancel):
                return
        while active := [i for i, text in enumerate(texts) if text.finish is None]:
            if cancel is not None and cancel.is_set():
                return
            moving = [i for i in active if texts[i].new]
            for at in range(0, len(moving), _LARGEST):
                part = moving[at : at + _LARGEST]
                _advance([sessions[i] for i in part], [texts[i] for i in part], cancel)
            for i in active:
                token = texts[i].next(sessions[i].steps, sessions[i].held)
                if token is not None:
                    yield i, token
    except Cancelled:
        pass
    finally:
        for session, text in zip(sessions, texts, strict=True):
            session.finish = text.finish or "cancelled"


def _advance(
    sessions: Sequence[Session], texts: Sequence[Generation], cancel: threading.Event | None
) -> None:
    """Computes the last token of each text."""
    if len(sessions) == 1 or sessions[0].info.backend != "native":
        for session, text in zip(sessions, texts, strict=True):
            session.advance(text, cancel)
        return

    from kvquant.native_steps import append_each

    for session in sessions:
        session.make_room()
    tokens = [text.new[-1] for text in texts]
    append_each([session.steps for session in sessions], tokens, cancel)
    for session, token in zip(sessions, tokens, strict=True):
        session.advance_by(token)
