from __future__ import annotations

import builtins
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.audio.base import Pcm
from assistant.config import AsrConfig, TtsConfig
from assistant.errors import ModelError, PackageError, TtsError
from assistant.tts import create
from assistant.tts.base import Speech
from assistant.tts.none import SilentVoice
from assistant.tts.pauses import pause_after, silence
from assistant.tts.piper import PEAK, PiperVoice
from assistant.tts.spoken import to_spoken
from assistant.tts.text import spoken_chunks
from tests.assistant import clips
from tests.patience import PATIENCE_S

VOICE = "en_US-joe-medium"


@pytest.fixture(scope="module")
def voice() -> Iterator[PiperVoice]:
    pytest.importorskip("piper")
    made = PiperVoice(clips.model(VOICE))
    made.load()
    yield made
    made.close()


def samples(pieces: Iterator[Speech]) -> Pcm:
    return np.concatenate([np.zeros(0, np.int16), *(p.samples for p in pieces)])


def gaps(sound: Pcm, rate: int) -> list[int]:
    """Milliseconds of every inner silence of at least 150 ms."""
    step = rate // 100
    count = len(sound) // step
    loud = np.abs(sound[: count * step].astype(int)).reshape(count, step).max(axis=1) > 200
    where = np.flatnonzero(loud)
    return [int(d - 1) * 10 for d in np.diff(where) if d > 15]


def test_create_by_name_and_by_path(tmp_path: Path) -> None:
    assert isinstance(create(TtsConfig(backend="none")), SilentVoice)
    assert isinstance(create(TtsConfig(), voice_path=tmp_path / "a.onnx"), PiperVoice)
    clips.model(VOICE)
    assert isinstance(create(TtsConfig()), PiperVoice)


def test_an_unknown_voice_is_refused() -> None:
    with pytest.raises(ModelError, match="no_such_voice"):
        create(TtsConfig(voice="no_such_voice"))


def test_the_silent_voice_says_nothing() -> None:
    voice = SilentVoice()
    voice.load()
    assert list(voice.synthesize("Hello.")) == []
    voice.interrupt()
    voice.close()


def test_pauses() -> None:
    assert len(silence(250, 22_050).samples) == 5512
    assert pause_after("Yes.", True, 250) == 250
    assert 150 <= pause_after("Well…", True, 0) <= 600
    assert 0 < pause_after("if so,", False, 250) < 150
    assert pause_after("and then", False, 250) == 0
    assert pause_after("if so,", False, 0) == 0


def test_speech(voice: PiperVoice) -> None:
    pieces = list(voice.synthesize("The kettle is on."))
    assert len(pieces) == 1
    assert pieces[0].rate == 22_050
    assert pieces[0].samples.dtype == np.int16
    assert pieces[0].samples.ndim == 1
    assert 0.6 < len(pieces[0].samples) / 22_050 < 3


def test_one_piece_a_sentence_with_pauses(voice: PiperVoice) -> None:
    pieces = list(voice.synthesize("One is here. Two is there. Three is not."))
    assert len(pieces) == 3
    found = gaps(samples(iter(pieces)), 22_050)
    assert len(found) == 2
    assert all(150 <= gap <= 600 for gap in found)


def test_a_pause_at_an_ellipsis(voice: PiperVoice) -> None:
    found = gaps(samples(voice.synthesize("Well… maybe")), 22_050)
    assert len(found) == 1
    assert 150 <= found[0] <= 600


def test_a_pause_between_chunks(voice: PiperVoice) -> None:
    parts = []
    for chunk in spoken_chunks("The soup is hot. Mind your tongue."):
        parts += [p.samples for p in voice.synthesize(chunk.spoken)]
        parts.append(silence(pause_after(chunk.spoken, chunk.ends, 250), 22_050).samples)
    found = gaps(np.concatenate(parts), 22_050)
    assert len(found) == 1
    assert 150 <= found[0] <= 600


def test_one_level_for_all_sentences(voice: PiperVoice) -> None:
    peaks = []
    for text in ("OK.", "Good morning!", "There is milk on the list.", "No.", "Seven p.m.") * 2:
        peaks.append(np.abs(samples(voice.synthesize(text)).astype(int)).max() / 32767)
    assert max(peaks) <= PEAK + 0.001
    assert np.median(peaks) > 10 ** (-6 / 20)


def test_speed(voice: PiperVoice) -> None:
    text = "The train to the airport leaves from platform nine."
    slow, normal, fast = (len(samples(voice.synthesize(text, speed=s))) for s in (0.5, 1.0, 2.0))
    assert 1.5 < slow / normal < 2.5
    assert 1.3 < normal / fast < 2.5


@pytest.mark.parametrize(
    "written", ["1st", "2nd", "1/1/2023", "12:01 am", "$500", "25 °C", "World War II", "zip 60614"]
)
def test_length_for_each_character(voice: PiperVoice, written: str) -> None:
    said = to_spoken(written)
    seconds = len(samples(voice.synthesize(said))) / 22_050
    assert 0.03 < seconds / len(said) < 0.16


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "— … —", "🎉", "日本語", "Привет", "\x00"])
def test_nothing_to_say(voice: PiperVoice, text: str) -> None:
    assert list(voice.synthesize(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "a\x00b",
        "\ud800 hi",
        "Hi 👍🏽 there",
        "你好 hello",
        "[[x]] [[",
        "Grüße, São, naïve, Łódź",
        "<b> & 5 °",
        "π and α",
        "A",
    ],
)
def test_odd_text(voice: PiperVoice, text: str) -> None:
    assert len(samples(voice.synthesize(text))) > 2000


def test_a_long_text_comes_piece_by_piece(voice: PiperVoice) -> None:
    pieces = voice.synthesize("so it goes on and on " * 240)
    assert len(next(pieces).samples) < 22_050 * 25
    pieces.close()  # type: ignore[attr-defined]


def test_a_letter_is_not_an_article(voice: PiperVoice) -> None:
    phonemes = voice._voice.phonemize(voice._sayable("Buy vitamin A now. A T and T. A cat."))
    said = "".join("".join(sentence) for sentence in phonemes)
    assert said.count("eɪ") == 2


def test_interrupt_ends_a_sentence_in_the_middle(voice: PiperVoice) -> None:
    out: list[Speech] = []
    text = "and so on and so on " * 20
    worker = threading.Thread(target=lambda: out.extend(voice.synthesize(text)))
    worker.start()
    while not voice._running and worker.is_alive():
        time.sleep(0.001)
    voice.interrupt()
    worker.join(PATIENCE_S)
    assert not worker.is_alive()
    assert out == []
    assert len(samples(voice.synthesize("Back again."))) > 5000


def test_a_closed_iterator_leaves_nothing_running(voice: PiperVoice) -> None:
    pieces = voice.synthesize("One. Two. Three.")
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert voice._running == []


def test_several_threads(voice: PiperVoice) -> None:
    texts = ["The kettle is on.", "It is seven p.m.", "Good night.", "You have two timers."]
    with ThreadPoolExecutor(4) as pool:
        lengths = list(pool.map(lambda t: len(samples(voice.synthesize(t))), texts))
    assert all(n > 5000 for n in lengths)


def test_threads_do_not_spin(voice: PiperVoice) -> None:
    options = voice._voice.session.get_session_options()
    assert options.intra_op_num_threads == 2
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_not_loaded() -> None:
    with pytest.raises(TtsError):
        PiperVoice(Path("x.onnx")).synthesize("Hello.")


def refused(path: Path) -> str:
    pytest.importorskip("piper")
    with pytest.raises(ModelError) as caught:
        PiperVoice(path).load()
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.code


def test_wrong_files(tmp_path: Path) -> None:
    model = clips.model(VOICE)
    path = tmp_path / "v.onnx"
    settings = tmp_path / "v.onnx.json"
    assert refused(path) == "tts.no_voice"
    assert refused(tmp_path) == "tts.no_voice"
    path.write_bytes(b"just some text")
    assert refused(path) == "tts.no_voice_settings"
    good = json.loads(model.with_name(model.name + ".json").read_text(encoding="utf-8"))
    for wrong in (
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"audio": 5}',
        json.dumps(good | {"phoneme_type": "klingon"}).encode(),
        json.dumps(good | {"phoneme_id_map": {}}).encode(),
        json.dumps(good | {"audio": {"sample_rate": 0}}).encode(),
    ):
        settings.write_bytes(wrong)
        assert refused(path) == "tts.bad_voice_settings"
    settings.write_text(json.dumps(good), encoding="utf-8")
    assert refused(path) == "tts.bad_voice"
    path.write_bytes(model.read_bytes()[:1_000_000])
    assert refused(path) == "tts.bad_voice"
    path.write_bytes(b"")
    assert refused(path) == "tts.bad_voice"


def test_a_foreign_model(tmp_path: Path) -> None:
    model = clips.model(VOICE)
    # The smallest valid ONNX graph: one Identity from a to b, both float.
    value = lambda name: b"\x0a\x01" + name + b"\x12\x08\x0a\x06\x08\x01\x12\x02\x0a\x00"  # noqa: E731
    node = b"\x0a\x01a\x12\x01b\x22\x08Identity"
    graph = b"\x0a" + bytes([len(node)]) + node + b"\x12\x01g"
    for tag, name in ((b"\x5a", b"a"), (b"\x62", b"b")):
        graph += tag + bytes([len(value(name))]) + value(name)
    data = b"\x08\x08\x3a" + bytes([len(graph)]) + graph + b"\x42\x04\x0a\x00\x10\x0d"
    path = tmp_path / "v.onnx"
    path.write_bytes(data)
    shutil.copy(f"{model}.json", tmp_path / "v.onnx.json")
    pytest.importorskip("piper")
    with pytest.raises(ModelError, match="no Piper voice"):
        PiperVoice(path).load()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def without_piper(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("piper"):
            raise ImportError("No module named 'piper'", name="piper")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_piper)
    with pytest.raises(PackageError, match="piper"):
        PiperVoice(tmp_path / "v.onnx").load()


def test_under_the_c_locale() -> None:
    path = clips.model(VOICE)
    pytest.importorskip("piper")
    code = (
        "import sys; from pathlib import Path; from assistant.tts.piper import PiperVoice; "
        "from assistant.tts.spoken import to_spoken; v = PiperVoice(Path(sys.argv[1])); v.load(); "
        "print(sum(len(p.samples) for p in v.synthesize(to_spoken('Gr\\u00fc\\u00dfe \\u2026 5'))))"
    )
    env = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        env=env,
        cwd=clips.ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10_000


def test_the_words_are_understood(voice: PiperVoice) -> None:
    asr = pytest.importorskip("assistant.asr")
    if not hasattr(asr, "create"):
        pytest.skip("no speech recogniser is there yet")
    clips.model("moonshine-tiny-en")
    recognizer = asr.create(AsrConfig())
    recognizer.load()
    import soxr

    for written, words in {
        "It's 72 °F in the kitchen.": "degrees fahrenheit kitchen",
        "You have to pay $25 to Dr. Miller.": "pay dollars doctor miller",
        "The meeting is on the 2nd floor.": "meeting second floor",
    }.items():
        sound = samples(voice.synthesize(to_spoken(written)))
        heard = soxr.resample(sound, 22_050, 16_000)
        recognizer.start()
        recognizer.feed(np.concatenate([clips.silence(0.3), heard, clips.silence(0.3)]))
        text = recognizer.finish().text.lower()
        text = text.replace("$", " dollars ").replace("°", " degrees ").replace("dr.", "doctor")
        text = text.replace("2nd", "second")
        missed = [word for word in words.split() if word not in text]
        assert not missed, text
    recognizer.close()
