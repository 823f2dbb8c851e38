"""From the tokens of a language model to what a voice can say.

tokens -> ``Cleaner`` -> ``SentenceSplitter`` -> ``to_spoken`` -> voice
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assistant.tts.clean import Cleaner
from assistant.tts.sentences import Sentence, SentenceSplitter
from assistant.tts.spoken import to_spoken


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece for the voice.

    text: as written, without markup.
    spoken: as it is said; never empty, without digits and signs.
    ends: False when the sentence goes on in the next chunk.
    """

    text: str
    spoken: str
    ends: bool = True


class SpokenStream:
    """Feed tokens as they come; get chunks as soon as they are complete.

    Tokens cut anywhere give the same chunks.
    """

    def __init__(self) -> None:
        self._cleaner = Cleaner()
        self._splitter = SentenceSplitter()

    def feed(self, token: str) -> list[Chunk]:
        """Takes the next token; the chunks that are complete by now."""
        return _chunks(self._splitter.feed(self._cleaner.feed(token)))

    def finish(self) -> list[Chunk]:
        """The rest; the stream is then ready for a new text."""
        sentences = self._splitter.feed(self._cleaner.finish())
        return _chunks(sentences + self._splitter.finish())


def spoken_chunks(text: str) -> list[Chunk]:
    """All chunks of a text that is there as a whole."""
    stream = SpokenStream()
    return stream.feed(text) + stream.finish()


def _chunks(sentences: Iterable[Sentence]) -> list[Chunk]:
    spoken = ((s, to_spoken(s.text)) for s in sentences)
    return [Chunk(s.text, said, s.ends) for s, said in spoken if said]
