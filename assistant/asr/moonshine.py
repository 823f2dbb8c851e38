"""Moonshine tiny English: the default recogniser. It decodes whole utterances."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from assistant.asr.base import Hypothesis
from assistant.asr.cleanup import clean, is_all_loop, words_of
from assistant.asr.moonshine_network import Decoded, Network
from assistant.asr.phrase_trie import PhraseTrie
from assistant.asr.sentences import Sentences, WordNetwork
from assistant.asr.token_graph import TokenGraph
from assistant.asr.utterance import EMPTY, WholeUtteranceRecognizer
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.errors import AsrError

PAD_SECONDS = 0.1
"""Silence put around the sound: words that touch its edges come out repeated or wrong."""

LONGEST_PIECE_SECONDS = 24.0
"""The network was trained on at most half a minute."""

SHORTEST_PIECE_SECONDS = 14.0

UNSURE_START = -1.1
"""Mean log probability of the first tokens below which the text is invented.

Measured on 260 pieces of noise and music: of the 21 that gave a sentence of its own (and not one
of the stock phrases below) half lie below; of 266 clean clips of people fewer than one in a
hundred does, of 170 over kitchen noise at 10 dB about one.
"""

NOTHING_SAID = frozenset(
    {
        "you",
        "oh",
        "uh",
        "um",
        "mm",
        "hmm",
        "so",
        "thank you for watching",
        "thanks for watching",
    }
)
"""What the network writes for noise, and what is no request even when somebody says it."""

OFTEN_INVENTED = frozenset({"thank you", "thanks", "yeah", "mm hmm", "bye", "you know", "okay"})
"""As above, but people do say it: believed only when the network is sure."""

SURE = -0.3

CAPTIONS = "♪©\ufffd"
"""Marks of captions for music and credits."""


class Moonshine(WholeUtteranceRecognizer):
    """Confidence is the geometric mean of the tokens' probabilities."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """folder: holds encoder_model.ort, decoder_model_merged.ort and tokenizer.bin."""
        super().__init__()
        self._folder = Path(folder)
        self._threads = threads
        self._network: Network | None = None
        self._sentences: Sentences | None = None
        self._graph: TokenGraph | None = None
        self._graph_of: Sentences | None = None
        self._trie: PhraseTrie | None = None
        self._trie_of: tuple[str, ...] = ()

    def load(self) -> None:
        self._network = Network(self._folder, self._threads)
        self._compile()

    def close(self) -> None:
        self.cancel()
        self._network = self._graph = self._graph_of = self._trie = None
        self._trie_of = ()

    def expect(self, sentences: Sentences | None) -> None:
        """A sentence wins over what sounds like it when it is about as likely."""
        self._sentences = sentences
        self._compile()

    def _compile(self) -> None:
        """Some hundred templates take half a second, so the last ones are kept for later."""
        sentences, network = self._sentences, self._network
        if network is None or sentences is None or sentences == self._graph_of:
            return
        self._graph = TokenGraph(WordNetwork(sentences), network.tokens.spell)
        self._graph_of = sentences

    def _words(self, network: Network, vocabulary: tuple[str, ...]) -> PhraseTrie | None:
        if vocabulary != self._trie_of:
            self._trie = PhraseTrie(vocabulary, network.tokens) if vocabulary else None
            self._trie_of = vocabulary
        return self._trie

    def _decode(self, samples: Pcm, vocabulary: tuple[str, ...]) -> Hypothesis:
        if self._network is None:
            raise AsrError("asr.not_loaded", "The speech recogniser is not loaded.")
        pad = np.zeros(int(PAD_SECONDS * SAMPLE_RATE), dtype=np.float32)
        words = self._words(self._network, vocabulary)
        graph = self._graph if self._sentences is not None else None
        alone = self._sentences is not None and self._sentences.alone
        texts, logprobs = [], []
        for piece in pieces(samples):
            sound = np.concatenate([pad, piece.astype(np.float32) / 32768.0, pad])
            decoded = self._network.transcribe(sound, words, graph, alone=alone)
            text = believed(decoded)
            if text:
                texts.append(text)
                logprobs.append(decoded.logprobs)
        if not texts:
            return EMPTY
        return Hypothesis(" ".join(texts), math.exp(float(np.concatenate(logprobs).mean())))


def believed(decoded: Decoded) -> str:
    """The text when somebody said it, "" when the network made it up."""
    if any(mark in decoded.text for mark in CAPTIONS):
        return ""
    text = clean(decoded.text)
    if not text or is_all_loop(decoded.text):
        return ""
    if not decoded.expected and decoded.start < UNSURE_START:
        return ""
    said = " ".join(words_of(text.replace("-", " ")))
    if said in NOTHING_SAID:
        return ""
    if said in OFTEN_INVENTED and float(decoded.logprobs.mean()) < SURE:
        return ""
    return text


def pieces(samples: Pcm) -> list[Pcm]:
    """Long sound cut where it is quietest; each piece is short enough for the network."""
    longest = int(LONGEST_PIECE_SECONDS * SAMPLE_RATE)
    shortest = int(SHORTEST_PIECE_SECONDS * SAMPLE_RATE)
    step = SAMPLE_RATE // 10
    found = []
    while len(samples) > longest:
        window = samples[shortest:longest].astype(np.float32)
        n = len(window) // step
        energy = (window[: n * step].reshape(n, step) ** 2).mean(axis=1)
        cut = shortest + int(energy.argmin()) * step + step // 2
        found.append(samples[:cut])
        samples = samples[cut:]
    return [*found, samples]
