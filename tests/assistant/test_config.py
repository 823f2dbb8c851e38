from __future__ import annotations

import hashlib
import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant import config_check, config_yaml
from assistant.config import Config, changes, find_file, is_live, load, take_over
from assistant.errors import ConfigError
from kvquant.kv_settings import KvSettings

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "config.yaml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def mistakes_of(file: Path, *overrides: str, env: dict[str, str] | None = None) -> list[str]:
    """What ``load`` complains about, one line each, without the folder of the file."""
    with pytest.raises(ConfigError) as caught:
        load(file, overrides, env or {})
    assert caught.value.exit_code == 2
    lines = caught.value.message.replace(f"{file.parent}/", "").splitlines()
    return [line.strip() for line in lines if not line.startswith("The settings have")]


def test_shipped_file_has_exactly_the_defaults() -> None:
    assert load(SHIPPED, (), {}) == Config()


def test_shipped_file_shows_every_key_with_a_comment() -> None:
    parsed = config_yaml.parse_file(SHIPPED)
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for key in config_check.keys_of(Config):
        assert key in parsed.lines, f"{config_yaml.dotted(key)} is not in config.yaml"
        number = parsed.lines[key]
        above = lines[number - 2].strip()
        assert re.search(r" # \S", lines[number - 1]) or above.startswith("# "), lines[number - 1]


def test_shipped_file_marks_what_is_live() -> None:
    parsed = config_yaml.parse_file(SHIPPED)
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for key in config_check.keys_of(Config):
        line = lines[parsed.lines[key] - 1]
        assert is_live(config_yaml.dotted(key)) == line.endswith("(live)"), line


def test_without_a_file_the_defaults_hold() -> None:
    assert load(None, (), {"ASSISTANT_CONFIG": ""}) is not None
    assert Config().turn.end_silence_ms == 700


# Each file, and what its message must name: (line, key, words).
BROKEN: dict[str, tuple[str | bytes, list[tuple[str, ...]]]] = {
    "misspelt key": ("vad:\n  star_threshold: 0.4\n", [("2", "vad.star_threshold", "vad.start_")]),
    "misspelt section": (
        "speech: 1\ntss: {}\n",
        [("1", "speech"), ("2", "tss", "Did you mean tts")],
    ),
    "key of another section": ("tts:\n  top_k: 3\n", [("2", "tts.top_k", "dialogue.top_k")]),
    "wrong kind": ("llm:\n  threads: two\n", [("2", "llm.threads", "whole number from 1 to 64")]),
    "out of range": ("audio:\n  default_volume: 101\n", [("2", "audio.default_volume", "100")]),
    "unknown choice": ("asr:\n  backend: wisper\n", [("2", "asr.backend", "mean whisper")]),
    "seconds for milliseconds": (
        "turn:\n  followup_ms: 1.5\n",
        [("2", "turn.followup_ms", "Did you mean 1500? The unit is milliseconds")],
    ),
    "unit written out": ("turn:\n  tail_ms: 0.25 s\n", [("2", "turn.tail_ms", "mean 250")]),
    "minutes for seconds": (
        "dialogue:\n  forget_after_s: 10 min\n",
        [("2", "dialogue.forget_after_s", "mean 600")],
    ),
    "per cent for a share": ("dialogue:\n  top_p: 95\n", [("2", "dialogue.top_p", "mean 0.95")]),
    "clock time": ("turn:\n  max_speech_ms: 12:30\n", [("2", "turn.max_speech_ms", '"12:30"')]),
    "set twice": ("tts:\n  speed: 1\n  speed: 2\n", [("3", "tts.speed", "first in line 2")]),
    "section set twice": ("tts: {}\nvad: {}\ntts: {}\n", [("3", "tts", "first in line 1")]),
    "tab": ("tts:\n\tspeed: 1\n", [("2", "", "tab")]),
    "open quote": ('tts:\n  voice: "joe\n', [("", "", "not closed")]),
    "two colons": ("tts:\n  voice: C: voice\n", [("2", "", "in quotes")]),
    "not indented": ("tts:\n  speed: 1\n voice: x\n", [("3", "", "indentation")]),
    "no mapping": ("- tts\n- vad\n", [("1", "", "sections")]),
    "section as value": ("tts: piper\n", [("1", "tts", "a section with the keys backend")]),
    "null": ("tts:\n  speed:\n", [("2", "tts.speed", "empty")]),
    "text as number": ("tts:\n  voice: 12\n", [("2", "tts.voice", 'in quotes: "12"')]),
    "one word as list": ("wake:\n  words: alexa\n", [("2", "wake.words", "[alexa]")]),
    "number in a list": ("wake:\n  words:\n  - alexa\n  - 7\n", [("4", "wake.words[1]", "text")]),
    "alias": ("tts: &a {}\nvad: *a\n", [("2", "", "aliases")]),
    "merge key": ("tts:\n  <<: {speed: 1}\n", [("2", "tts", "<<")]),
    "tag": ("tts: !!python/object:os.system {}\n", [("1", "", "tags")]),
    "two documents": ("tts: {}\n---\nvad: {}\n", [("2", "", "second document")]),
    "latin 1": ("# caf\xe9\ntts: {}\n".encode("latin-1"), [("1", "", "0xe9")]),
    "utf-16": ("tts: {}\n".encode("utf-16"), [("1", "", "UTF-16")]),
    "control character": ("tts: {}\n# \x07\n", [("2", "", "U+0007")]),
    "device number": ('audio:\n  input:\n    device: "2"\n', [("3", "audio.input.device", "name")]),
    "wav without file": (
        "audio:\n  input:\n    backend: wav\n",
        [("3", "audio.input.file", "needs a file")],
    ),
    "same file in and out": (
        "audio:\n  input: {backend: wav, file: a.wav}\n  output: {backend: wav, file: a.wav}\n",
        [("3", "audio.output.file", "overwrite")],
    ),
    "no wake word": ("wake:\n  words: []\n", [("2", "wake.words", "at least one")]),
    "threshold of another word": (
        "wake:\n  thresholds:\n    alexa: 0.9\n",
        [("3", "wake.thresholds.alexa", "hey_jarvis")],
    ),
    "silences out of order": (
        "turn:\n  end_silence_ms: 250\n",
        [("2", "turn.complete_silence_ms", "longer than turn.end_silence_ms (250)")],
    ),
    "vad thresholds crossed": (
        "vad:\n  end_threshold: 0.9\n",
        [("2", "vad.end_threshold", "above")],
    ),
    "answer longer than the context": (
        "llm:\n  context: 256\ndialogue:\n  max_tokens: 200\n",
        [("4", "dialogue.max_tokens", "llm.context (256)")],
    ),
    "cache that is all window": (
        "llm:\n  context: 256\n  kv:\n    mode: adaptive\n    window: 200\n"
        "dialogue:\n  max_tokens: 64\n",
        [("5", "llm.kv.window", "llm.context (256)")],
    ),
    "cache of an unknown kind": (
        "llm:\n  kv:\n    mode: q8_0\n",
        [("3", "llm.kv.mode", "one of fp16, static8, static4, adaptive")],
    ),
    "command without sentence": (
        "understand:\n  commands:\n    Hello: []\n",
        [("3", "understand.commands.Hello", "sentence")],
    ),
    "command whose answer has full stops": (
        "understand:\n  commands:\n    A. B.: []\n",
        [("3", "understand.commands.A. B.", "sentence")],
    ),
    "command that cannot be said": (
        'understand:\n  commands:\n    Hello: ["!", ok]\n',
        [("3", "understand.commands.Hello", '"!"')],
    ),
    "command without answer": (
        'understand:\n  commands:\n    "": [be silent]\n',
        [("3", "understand.commands.", "spoken")],
    ),
    "sentence with two answers": (
        "understand:\n  commands:\n    One: [do it]\n    Two: [so, Do it!]\n",
        [("4", "understand.commands.Two", '"One"')],
    ),
    "infinite": ("dialogue:\n  timeout_s: .inf\n", [("2", "dialogue.timeout_s", "inf")]),
}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("TTS.SPEED=1", "--set TTS.SPEED: TTS: there is no such section. Did you mean tts?"),
        ("Vad.start=1", "--set Vad.start: Vad: there is no such section. Did you mean vad?"),
        ("tts.speed.x=1", "--set tts.speed.x: tts.speed: "),
    ],
)
def test_wrong_override_is_named_as_it_was_given(file: Path, override: str, words: str) -> None:
    file.touch()
    (told,) = mistakes_of(file, override)
    assert told.startswith(words)


@pytest.mark.parametrize("text", ["tts: 5\n", "privacy:\n  keep_audio: true\n"])
def test_no_advice_is_better_than_a_wrong_one(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    (told,) = mistakes_of(file)
    assert "Did you mean" not in told
    assert "quotes" not in told


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_refused_with_line_and_key(name: str, file: Path) -> None:
    content, expected = BROKEN[name]
    raw = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(raw)
    before = hashlib.sha256(raw).hexdigest()
    told = mistakes_of(file)
    assert len(told) == len(expected)
    for line, (number, key, *words) in zip(told, expected, strict=True):
        prefix = f"config.yaml:{number}" + (f": {key}: " if key else "")
        assert line.startswith(prefix), line
        assert all(word in line for word in words), line
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert [p.name for p in file.parent.iterdir()] == ["config.yaml"]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(file: Path) -> None:
    parts = ["misspelt key", "wrong kind", "unknown choice", "wav without file", "clock time"]
    file.write_text("".join(str(BROKEN[p][0]) for p in parts))
    told = mistakes_of(file, "metrics.log_evry=3", env={"ASSISTANT__TTS__SPEED": "fast"})
    assert [line.split(": ")[1] for line in told] == [
        "vad.star_threshold",
        "llm.threads",
        "asr.backend",
        "audio.input.file",
        "turn.max_speech_ms",
        "tts.speed",
        "metrics.log_evry",
    ]
    assert told[-2].startswith("$ASSISTANT__TTS__SPEED: ")
    assert told[-1].startswith("--set metrics.log_evry: ")


def test_a_wrong_value_hides_no_contradiction_elsewhere(file: Path) -> None:
    file.write_text("turn:\n  end_silence_ms: 250\n  tail_ms: soon\n")
    assert len(mistakes_of(file)) == 2


def test_huge_file_is_refused_unread(file: Path) -> None:
    file.write_text("tts: {}\n" + "# filler\n" * 40_000)
    assert "larger than 256 KB" in mistakes_of(file)[0]


@pytest.mark.parametrize("bomb", ["[" * 5000, "{a: " * 3000, "- " * 4000 + "x"])
def test_deep_nesting_is_refused(file: Path, bomb: str) -> None:
    file.write_text(f"tts: {bomb}\n" if bomb[0] != "-" else bomb)
    assert "nested deeper" in mistakes_of(file)[0]


def test_alias_bomb_is_refused_at_its_first_alias(file: Path) -> None:
    rows = [f"{b}: &{b} [*{a}, *{a}, *{a}]" for a, b in itertools.pairwise("abcdefghijkl")]
    file.write_text("\n".join(["a: &a [x, x, x]", *rows]))
    assert mistakes_of(file)[0].startswith("config.yaml:2: ")


def test_number_of_thousands_of_digits(file: Path) -> None:
    file.write_text(f"llm:\n  threads: {'9' * 20_000}\n")
    assert "whole number" in mistakes_of(file)[0]


WORDS = ["audio", "input", "tts", "speed", "wake", "words", "thresholds", "1", "9" * 30, "-", "x"]
SIGNS = [":", ": ", "\n", "\n  ", "- ", "[", "]", "{", "}", ",", "&a", "*a", "!!int", '"', "#", "|"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS + SIGNS) | st.text(max_size=3), max_size=25).map("".join))
def test_whatever_is_in_the_file_the_answer_is_settings_or_mistakes(text: str) -> None:
    parsed = config_yaml.parse(text, "config.yaml")
    config_check.check(Config, parsed.data)
    assert all(m.where.startswith("config.yaml:") for m in parsed.mistakes)


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", True), ("on", True), ("true", True), ("no", False), ("off", False), ("FALSE", False)],
)
def test_switches_take_the_words_people_write(file: Path, text: str, value: bool) -> None:
    file.write_text(f"turn:\n  barge_in: {text}\n")
    assert load(file, (), {}).turn.barge_in is value


def test_words_that_yaml_1_1_would_change_stay_text(file: Path) -> None:
    file.write_text("audio:\n  input:\n    device: no\ntts:\n  voice: 12:30\n")
    cfg = load(file, (), {})
    assert (cfg.audio.input.device, cfg.tts.voice) == ("no", "12:30")


def test_mark_at_the_beginning_and_windows_line_ends(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbftts:\r\n  speed: 1.5\r\n")
    assert load(file, (), {}).tts.speed == 1.5


def test_empty_file_and_empty_sections_are_defaults(file: Path) -> None:
    for text in ("", "# only a comment\n", "audio:\n  input:\n    # device: x\ntts:\n"):
        file.write_text(text)
        assert load(file, (), {}) == Config()


def test_choice_called_null_is_a_word(file: Path) -> None:
    file.write_text("audio:\n  output:\n    backend: null\n")
    assert load(file, (), {}).audio.output.backend == "null"


def test_text_in_any_script(file: Path) -> None:
    file.write_text('understand:\n  commands:\n    "Schön 🙂": ["wie spät", "何時"]\n', "utf-8")
    assert load(file, (), {}).understand.commands == {"Schön 🙂": ("wie spät", "何時")}


def test_later_settings_win(file: Path) -> None:
    file.write_text("tts:\n  speed: 0.6\n")
    env = {"ASSISTANT__TTS__SPEED": "0.7"}
    assert load(file, (), {}).tts.speed == 0.6
    assert load(file, (), env).tts.speed == 0.7
    assert load(file, ("tts.speed=0.8", "tts.speed=0.9"), env).tts.speed == 0.9


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("audio.input.device=USB: mic = 2", "audio.input.device", "USB: mic = 2"),
        ("audio.output.device=off", "audio.output.device", "off"),
        ("wake.words=alexa, hey_mycroft", "wake.words", ("alexa", "hey_mycroft")),
        ("wake.words=[alexa]", "wake.words", ("alexa",)),
        ("wake.thresholds={hey_jarvis: 0.5}", "wake.thresholds", {"hey_jarvis": 0.5}),
        ("wake.thresholds.hey_jarvis=0.5", "wake.thresholds", {"hey_jarvis": 0.5}),
        ("dialogue.seed=7", "dialogue.seed", 7),
        ("dialogue.seed=null", "dialogue.seed", None),
        ("privacy.log_speech=yes", "privacy.log_speech", True),
        ("tts.voice=", "tts.voice", ""),
    ],
)
def test_override(override: str, key: str, value: object) -> None:
    name, _, text = override.partition("=")
    variable = "ASSISTANT__" + name.upper().replace(".", "__")
    for cfg in (load(None, (override,), {}), load(None, (), {variable: text})):
        found: object = cfg
        for part in key.split("."):
            found = getattr(found, part)
        assert found == value


@pytest.mark.parametrize("text", ["tts.speed", "=1", "tts..speed=1", ".=1", ""])
def test_override_without_key_or_value(text: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        load(None, (text,), {})


def test_named_file_must_exist(tmp_path: Path) -> None:
    for arguments in ((tmp_path / "gone.yaml", (), {}), (tmp_path, (), {})):
        with pytest.raises(ConfigError, match="cannot be read"):
            load(*arguments)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(None, (), {"ASSISTANT_CONFIG": str(tmp_path / "gone.yaml")})


def test_search_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (home / "assistant").mkdir(parents=True)
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (home / "assistant/config.yaml").write_text("tts: {speed: 0.7}")
    assert load(None, (), {}).tts.speed == 0.7
    (work / "config.yaml").write_text("tts: {speed: 0.8}")
    assert load(None, (), {}).tts.speed == 0.8
    named = tmp_path / "named.yaml"
    named.write_text("tts: {speed: 0.9}")
    assert find_file({"ASSISTANT_CONFIG": str(named)}) == named
    assert load(None, (), {"ASSISTANT_CONFIG": str(named)}).tts.speed == 0.9


def test_without_a_home_there_is_nothing_to_search_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    assert find_file({}) in (None, Path("/etc/assistant/config.yaml"))


def test_changes_name_keys_and_say_which_are_live() -> None:
    new = load(None, ("turn.tail_ms=100", "asr.threads=2", "wake.chime=false"), {})
    assert changes(Config(), Config()) == []
    assert changes(Config(), new) == ["wake.chime", "turn.tail_ms", "asr.threads"]
    assert [is_live(k) for k in changes(Config(), new)] == [True, True, False]
    kept = take_over(Config(), new)
    assert changes(Config(), kept) == ["wake.chime", "turn.tail_ms"]


def test_any_window_goes_with_any_sinks() -> None:
    """What the settings allow, the engine takes."""
    kv = [f"llm.kv.{key}=1000" for key in ("window", "sinks")]
    window, sinks = (int(re.findall(r"to (\d+)", line)[0]) for line in mistakes_of(SHIPPED, *kv))
    assert KvSettings("static4").places(window, sinks) == (window, sinks)


def test_a_layout_of_keys_that_no_mode_would_take_is_told() -> None:
    (line,) = mistakes_of(SHIPPED, "llm.kv.key_layout=pre_rope")
    assert "only in fewer bits" in line
    assert load(None, ("llm.kv.mode=static4", "llm.kv.key_layout=pre_rope"), {})


def test_a_controller_that_no_mode_would_read_is_told() -> None:
    """A file that is named and silently ignored looks as if it worked."""
    (line,) = mistakes_of(SHIPPED, "llm.kv.mode=static4", "llm.kv.controller=mine.bin")
    assert "only when llm.kv.mode is adaptive" in line
    assert load(None, ("llm.kv.mode=adaptive", "llm.kv.controller=mine.bin"), {})


def test_a_home_folder_that_is_not_there_is_told(file: Path) -> None:
    keys = ("understand.sentences", "understand.head", "privacy.keep_log", "privacy.keep_audio",
            "skills.folder", "service.state_dir", "home.mqtt.password_file")  # fmt: skip
    file.write_text("", encoding="utf-8")
    for key in keys:
        (line,) = mistakes_of(file, f"{key}=~no_such_user_here/x")
        assert key in line
        assert "there is no home folder" in line
