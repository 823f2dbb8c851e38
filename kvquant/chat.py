"""The chat format of the model: which tokens frame the words of whom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kvquant.errors import SettingError
from kvquant.token_text import AnyTokenizer

Message = tuple[str, str]
"""(role, text); role: system, user or assistant."""

_ROLES = ("system", "user", "assistant")
_START, _END = "<|im_start|>", "<|im_end|>"
_DEFAULT_SYSTEM = re.compile(r"<\|im_start\|>system\n(.+?)<\|im_end\|>", re.DOTALL)


class ChatFormat:
    """ChatML: ``<|im_start|>role\\ntext<|im_end|>\\n`` for each message.

    Only the frame is made of control tokens; texts are always plain.
    """

    def __init__(self, tokenizer: AnyTokenizer, metadata: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        self._start = tokenizer.special_id(_START)
        self._end = tokenizer.special_id(_END)
        template = metadata.get("tokenizer.chat_template", "")
        found = _DEFAULT_SYSTEM.search(template) if isinstance(template, str) else None
        self.default_system = found.group(1) if found else ""
        """What the model's own template says first when the messages have no system text."""

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of the messages and the head of the assistant's answer.

        Raises SettingError for an unknown role or a model without a chat format.
        """
        if self.default_system and (not messages or messages[0][0] != "system"):
            messages = [("system", self.default_system), *messages]
        ids: list[int] = []
        for role, text in messages:
            ids += self.message(role, text)
        return ids + self.opening("assistant")

    def message(self, role: str, text: str) -> list[int]:
        """Tokens of one whole message."""
        start = self.opening(role, text)
        assert self._end is not None
        return [*start, self._end, *self._tokenizer.encode("\n")]

    def opening(self, role: str, text: str = "") -> list[int]:
        """Tokens of a message up to the end of its text, or of its text so far.

        Raises SettingError, as ``prompt`` does.
        """
        if role not in _ROLES:
            raise SettingError("chat.role", f"{role!r} is none of {', '.join(_ROLES)}.")
        if self._start is None or self._end is None:
            raise SettingError("chat.format", "This model has no chat format that is known.")
        return [self._start, *self._tokenizer.encode(f"{role}\n{text}")]
