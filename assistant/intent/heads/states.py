"""What the language model makes of a text: one vector a token, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenStates:
    """States of a text's tokens.

    values: (layers, tokens, hidden), the residual stream after each layer asked for; float32,
        or halves where many are kept.
    spans: int (tokens, 2), where each token's characters begin and end in the text.
    """

    values: NDArray[np.floating]
    spans: NDArray[np.int64]

    def of(self, held: Sequence[int], wanted: Sequence[int]) -> TokenStates:
        """Some of the layers; held: the numbers of those that these are."""
        places = [list(held).index(layer) for layer in wanted]
        return TokenStates(self.values[places], self.spans)


class TextStates(Protocol):
    """A language model that reads texts."""

    @property
    def fingerprint(self) -> int:
        """Of the weights; heads work with the model that they were trained on.

        Raises as ``states`` does: the model may have to be loaded.
        """

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        """States of the text's tokens; of none when it is blank, of the first ones when it is long.

        layers: numbers of layers that were passed.
        twice: the text is read two times and the states are those of the second, in which each
            token has seen all of the text.
        prefix: the system message that the text is read behind; None for the reader's own.

        Raises LlmError when the model fails, ModelError and PackageError when it is not there.
        """
