"""One text while it is generated: what was chosen, what may be said of it, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kvquant.config import Sampling, Token
from kvquant.errors import SettingError
from kvquant.stop_text import StopText
from kvquant.token_text import TextStream

if TYPE_CHECKING:
    from kvquant.steps import Choice, Mask, Steps
    from kvquant.token_text import HasTokenBytes

Finish = Literal["stop", "stop_text", "length", "context", "cancelled"]


@dataclass(frozen=True, slots=True)
class Request:
    """How a text is to be generated; ``Session.generate`` says what each means.

    Raises SettingError for a wrong length.
    """

    max_new_tokens: int
    sampling: Sampling
    stop_tokens: frozenset[int]
    stop_texts: Sequence[str] = ()
    allowed: Mask | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_new_tokens, int) or self.max_new_tokens < 0:
            raise SettingError(
                "generate.length", f"max_new_tokens must be from 0, not {self.max_new_tokens!r}."
            )


class Generation:
    """new: the tokens chosen so far; finish: None while it goes on."""

    def __init__(
        self, request: Request, choice: Choice, tokenizer: HasTokenBytes, n_ctx: int | None
    ) -> None:
        """n_ctx: None when a full context does not end the text."""
        self.new: list[int] = []
        self.finish: Finish | None = "length" if request.max_new_tokens == 0 else None
        self.choice = choice
        self._request = request
        self._n_ctx = n_ctx
        self._stream = TextStream(tokenizer)
        self._stop_text = StopText(request.stop_texts)

    def next(self, steps: Steps, held: int) -> Token | None:
        """Chooses the next token; None when it only ends the text.

        held: tokens that the cache holds. Raises BackendError.
        """
        token = self.choice.pick(steps, self.new)
        if token in self._request.stop_tokens:
            self.finish = "stop"
            rest = self._stop_text.rest()
            return Token(token, rest) if rest else None
        self.new.append(token)
        text = self._stop_text.push(self._stream.push(token))
        if self._stop_text.found:
            self.finish = "stop_text"
        elif len(self.new) == self._request.max_new_tokens:
            self.finish = "length"
        elif held == self._n_ctx:
            self.finish = "context"
        else:
            return Token(token, text)
        return Token(token, text + self._stop_text.rest())
