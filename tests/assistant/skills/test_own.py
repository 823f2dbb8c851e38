"""Skills of the user's: found, checked, and left out when they are broken."""

from __future__ import annotations

import errno
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assistant.cli import main
from assistant.config import Config, load
from assistant.errors import ConfigError, SkillError, UsageError
from assistant.intent.base import Intent
from assistant.skills import own, template
from assistant.skills.base import TurnContext
from assistant.skills.registry import APOLOGY
from assistant.skills.rehearsal import Rehearsal
from tests.assistant.skills.talk import Talk

ROOT = Path(__file__).resolve().parents[3]

KETTLE = """
from assistant.skills.base import Outcome, Skill


class KettleSkill(Skill):
    name = "kettle"
    abilities = ("boil water",)

    def __init__(self, cfg, state):
        self.cups = self.settings.get("cups", 1)

    def handle(self, intent, turn):
        if intent.slots.get("level") == 13:
            return 1 / 0
        return Outcome(f"Boiling {self.cups} cups.", {"skill": "kettle", "do": "boil"})

    def vocabulary(self):
        raise RuntimeError("no words")
"""

SENTENCES = """
intents:
  kettle.boil:
    data:
      - sentences: ["boil [the|some] water [at {level}]"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skills = tmp_path / "skills"
    (skills / "kettle").mkdir(parents=True)
    (skills / "kettle" / "skill.py").write_text(KETTLE, encoding="utf-8")
    (skills / "kettle" / "en.yaml").write_text(SENTENCES, encoding="utf-8")
    return skills


def config(folder: Path, **settings: Any) -> Config:
    return Config.model_validate({"skills": {"folder": str(folder), "own": settings}})


def test_a_skill_of_the_users_works_beside_the_others(folder: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path, config(folder, kettle={"cups": 3}))
    assert talk.registry.troubles == []
    outcome = talk.say("please boil some water")
    assert (outcome.reply, outcome.ok) == ("Boiling 3 cups.", True)
    assert "boil water" in talk.reply("what can you do")
    assert talk.reply("what is 2 plus 2") == "2 plus 2 is 4."


def test_one_that_fails_while_it_runs_does_not_take_the_others_along(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(tmp_path, config(folder))
    outcome = talk.say("boil water at 13")
    assert (outcome.ok, outcome.action) == (False, None)
    assert "ZeroDivisionError" in caplog.text
    assert "volume" in talk.registry.vocabulary()
    assert "no words" in caplog.text


def test_one_can_be_switched_off(folder: Path, tmp_path: Path) -> None:
    talk = Talk(tmp_path, config(folder, kettle={"enabled": False}))
    assert talk.grammar.understand("boil water") is None
    assert talk.registry.troubles == []


BROKEN = {
    "syntax": ("skill.py", "class Kettle(:\n", ["skill.py, line 1", "invalid syntax"]),
    "import": ("skill.py", "\nimport no_such_thing\n", ["skill.py, line 2", "no_such_thing"]),
    "exit": ("skill.py", "raise SystemExit(3)\n", ["skill.py, line 1", "SystemExit"]),
    "no class": ("skill.py", "x = 1\n", ["skill.py", "no class derived from Skill"]),
    "two classes": (
        "skill.py",
        KETTLE + KETTLE.replace("KettleSkill", "Other"),
        ["2 classes derived from Skill"],
    ),
    "abstract": (
        "skill.py",
        KETTLE.replace("def handle", "def handel"),
        ["skill.py", "handle"],
    ),
    "name": (
        "skill.py",
        KETTLE.replace('"kettle"', '"teapot"', 1),
        ['has the name "teapot", not "kettle"'],
    ),
    "setting": (
        "skill.py",
        KETTLE.replace('.get("cups", 1)', '["cups"]'),
        ["skill.py, line 10", "KeyError"],
    ),
    "yaml": ("en.yaml", "intents:\n\tkettle.boil: 1\n", ["en.yaml, line 2"]),
    "template": (
        "en.yaml",
        SENTENCES.replace("[the|some]", "[the|some"),
        ["en.yaml, line 5", "kettle.boil"],
    ),
    "value": ("en.yaml", SENTENCES.replace("{level}", "{heat}"), ["en.yaml, line 5", "{heat}"]),
    "intent": (
        "en.yaml",
        SENTENCES.replace("kettle.boil", "timer.set"),
        ["en.yaml, line 3", 'must begin with "kettle."'],
    ),
    "no sentences": ("en.yaml", None, ["there is no en.yaml"]),
    "no code": ("skill.py", None, ["there is no file skill.py"]),
    "no tuple": (
        "skill.py",
        KETTLE.replace('("boil water",)', '("boil water")'),
        ["skill.py", "abilities must be texts in brackets"],
    ),
    "empty": ("en.yaml", "\n", ["en.yaml: there is no intents: in it"]),
    "circle": (
        "en.yaml",
        SENTENCES.replace("water", "<hot>") + 'expansion_rules: {hot: "so <so>", so: "<hot>"}\n',
        ["en.yaml, line ", "contains itself"],
    ),
    "twice": (
        "en.yaml",
        SENTENCES + SENTENCES.replace("intents:", "").replace("boil [", "cook ["),
        ["en.yaml, line 8", '"kettle.boil" is there twice'],
    ),
    "date": (
        "en.yaml",
        SENTENCES + "        slots: {since: 2024-05-01}\n",
        ["en.yaml, line 6", "since is a date; put it in quotes"],
    ),
    "deep": ("en.yaml", "intents: " + "[" * 3000 + "]" * 3000, ["nested too deeply"]),
    "brackets": ("en.yaml", SENTENCES.replace("water", "[" * 800 + "]" * 800), ["en.yaml, line 5"]),
    "large": ("en.yaml", "#" * 1_100_000, ["too large"]),
}


@pytest.mark.parametrize(("file", "text", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_skill_is_left_out_with_its_place(
    folder: Path, tmp_path: Path, file: str, text: str | None, told: list[str]
) -> None:
    path = folder / "kettle" / file
    if text is None:
        path.unlink()
    else:
        path.write_text(text, encoding="utf-8")
    talk = Talk(tmp_path, config(folder))
    (trouble,) = talk.registry.troubles
    assert trouble.code in ("skill.kettle", "intent.sentences")
    assert str(folder / "kettle") in trouble.message
    for words in told:
        assert words in trouble.message
    assert "\n" not in trouble.message
    assert talk.reply("what time is it") == "It's 2 PM."
    assert talk.grammar.understand("boil water") is None
    row = next(row for row in talk.registry.rows() if row["name"] == "kettle")
    assert (row["ok"], row["origin"]) == (False, str(folder / "kettle"))


def test_what_is_no_file_or_forbidden_is_told_of(folder: Path, tmp_path: Path) -> None:
    for name in ("pipe", "loop", "nest"):
        shutil.copytree(folder / "kettle", folder / name)
    (folder / "pipe" / "en.yaml").unlink()
    os.mkfifo(folder / "pipe" / "en.yaml")
    (folder / "loop" / "skill.py").unlink()
    (folder / "loop" / "skill.py").symlink_to("skill.py")
    (folder / "nest" / "skill.py").unlink()
    (folder / "nest" / "skill.py").mkdir()
    (folder / "round").symlink_to("round")
    (folder / "notes.txt").write_text("no skill", encoding="utf-8")
    (folder / "pictures").mkdir()
    for name in ("pipe", "loop", "nest"):
        text = (folder / name / "en.yaml").read_text() if name != "pipe" else ""
        if text:
            (folder / name / "en.yaml").write_text(text.replace("kettle.", f"{name}."))
    (folder / "pipe" / "skill.py").write_text(KETTLE.replace('"kettle"', '"pipe"'))
    talk = Talk(tmp_path, config(folder))
    told = sorted(trouble.message for trouble in talk.registry.troubles)
    assert len(told) == 4, told
    assert "loop: there is no file skill.py" in told[0]
    assert "nest: there is no file skill.py" in told[1]
    assert "pipe/en.yaml: it is no file" in told[2]
    assert "round: there is no file skill.py" in told[3]
    assert talk.reply("boil water") == "Boiling 1 cups."


ODD = {
    "nothing": "None",
    "a text": "'done'",
    "a number": "Outcome(5)",
    "an action": "Outcome('ok', action={'thing': object()})",
    "what is expected": "Outcome('how much?', expects=None)",
    "what is known": "Outcome('how much?', known=None)",
    "an undo": "Outcome('ok', action={}, undo=3)",
    "the exit": "exit(3)",
}


@pytest.mark.parametrize("given", ODD.values(), ids=ODD.keys())
def test_what_a_skill_gives_back_is_checked(
    folder: Path, tmp_path: Path, given: str, caplog: pytest.LogCaptureFixture
) -> None:
    skill = folder / "kettle" / "skill.py"
    skill.write_text(KETTLE.replace("return 1 / 0", f"return {given}"), encoding="utf-8")
    talk = Talk(tmp_path, config(folder))
    outcome = talk.say("boil water at 13")
    assert (outcome.reply, outcome.ok) == (APOLOGY, False)
    assert "kettle.boil failed" in caplog.text
    assert talk.say("boil water").ok


def test_a_skill_that_fails_in_all_it_does_is_alone_in_it(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    others = "complete revise overrides stop notices close vocabulary".split()
    for number, does in enumerate(("1 / 0", "[][1]", "exit(2)", "return 'x'", "return [None]")):
        code = KETTLE.partition("    def vocabulary")[0] + "".join(
            f"    def {name}(self, *a):\n        {does}\n" for name in others
        )
        (folder / "kettle" / "skill.py").write_text(code, encoding="utf-8")
        (tmp_path / str(number)).mkdir()
        registry = Talk(tmp_path / str(number), config(folder)).registry
        turn = TurnContext(registry._state.clock.now, registry._state)
        boil = Intent("kettle.boil")
        assert registry.revise(boil, "hotter", turn) is None
        assert registry.complete("kettle.boil", "hotter") is None
        assert registry.notices(turn) == []
        assert "volume" in registry.vocabulary()
        assert registry.handle(Intent("system.stop"), turn).ok
        registry.overrides(boil, boil)
        registry.close()


def test_what_cannot_be_taken_back_is_told(folder: Path, tmp_path: Path) -> None:
    for undo in ("lambda: 1 / 0", "lambda: None", "lambda: exit(1)"):
        code = KETTLE.replace('"do": "boil"}', f'"do": "boil"}}, undo={undo}')
        (folder / "kettle" / "skill.py").write_text(code, encoding="utf-8")
        talk = Talk(tmp_path, config(folder))
        assert talk.say("boil water").ok
        assert talk.reply("undo that") == APOLOGY


def test_the_least_skill_has_no_init(folder: Path, tmp_path: Path) -> None:
    code = KETTLE.replace("self.cups = self.settings", "pass  # ").replace("{self.cups}", "1")
    code = code.replace("def __init__(self, cfg, state)", "def unused(self)")
    (folder / "kettle" / "skill.py").write_text(code, encoding="utf-8")
    assert Talk(tmp_path, config(folder)).reply("boil water") == "Boiling 1 cups."


def test_line_ends_and_marks_of_other_systems(folder: Path, tmp_path: Path) -> None:
    for file in (folder / "kettle").iterdir():
        content = file.read_bytes().replace(b"\n", b"\r\n")
        file.write_bytes(b"\xef\xbb\xbf" + content)
    assert Talk(tmp_path, config(folder)).reply("boil water") == "Boiling 1 cups."


def test_names_of_built_in_skills_are_taken(folder: Path, tmp_path: Path) -> None:
    (folder / "kettle").rename(folder / "timer")
    talk = Talk(tmp_path, config(folder))
    (trouble,) = talk.registry.troubles
    assert "another skill of the name timer" in trouble.message
    talk.say("set a timer for five minutes")
    rows = [row for row in talk.registry.rows() if row["name"] == "timer"]
    assert [row["ok"] for row in rows] == [True, False]


def test_what_everybody_may_write_is_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "kettle" / "skill.py").chmod(0o666)
    talk = Talk(tmp_path, config(folder))
    (trouble,) = talk.registry.troubles
    assert "everybody may write it" in trouble.message
    assert "chmod" in trouble.hint


def test_a_skill_may_have_files_of_its_own(folder: Path, tmp_path: Path) -> None:
    (folder / "kettle" / "cups.py").write_text("CUPS = 7\n", encoding="utf-8")
    changed = "from .cups import CUPS\n" + KETTLE.replace('self.settings.get("cups", 1)', "CUPS")
    (folder / "kettle" / "skill.py").write_text(changed, encoding="utf-8")
    assert Talk(tmp_path, config(folder)).reply("boil water") == "Boiling 7 cups."


def test_only_a_folder_that_is_named_has_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert Talk(tmp_path, Config()).registry.troubles == []
    (trouble,) = Talk(tmp_path, config(tmp_path / "none")).registry.troubles
    assert f"{tmp_path / 'none'} cannot be read: No such file" in trouble.message


def test_the_usual_folder(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "assistant").mkdir(parents=True)
    folder.rename(tmp_path / "config" / "assistant" / "skills")
    assert Talk(tmp_path, Config()).reply("boil water") == "Boiling 1 cups."


def test_a_package_brings_a_skill(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    info = site / "kettle_pack-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kettle-pack\nVersion: 1.0\n")
    points = "[assistant.skills]\nkettle = kettle_pack.skill:KettleSkill\ngone = no_pack:Skill\n"
    (info / "entry_points.txt").write_text(points)
    (folder / "kettle").rename(site / "kettle_pack")
    (site / "kettle_pack" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    talk = Talk(tmp_path, config(tmp_path / "none"))
    assert talk.reply("boil water") == "Boiling 1 cups."
    rows = {row["name"]: row for row in talk.registry.rows()}
    assert rows["kettle"]["origin"] == "package kettle-pack"
    assert "no_pack" in rows["gone"]["error"]


@pytest.mark.parametrize("name", ["coffee_machine", "tv2", "x"])
def test_the_template_passes_its_own_test(name: str, tmp_path: Path) -> None:
    files = template.write(name, tmp_path / "mine", set())
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(files[-1])],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    talk = Talk(tmp_path, config(tmp_path / "mine"))
    words = name.replace("_", " ")
    assert talk.reply(f"greet Bob from {words}") == "Hello, bob."


def test_names_that_cannot_be(tmp_path: Path) -> None:
    for name in ("", "Coffee", "2x", "a-b", "../x", "class", "ä", "a" * 60):
        with pytest.raises(UsageError):
            template.write(name, tmp_path, set())
    template.write("fine", tmp_path, set())
    for taken in ("fine", "timer"):
        with pytest.raises(UsageError):
            template.write(taken, tmp_path, {"timer"})
    assert {path.name for path in tmp_path.iterdir()} == {"fine"}


def test_a_full_disk_leaves_no_half_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full(path: Path, text: str, encoding: str) -> int:
        if path.name == "examples.yaml":
            path.touch()
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, text, encoding=encoding)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(SkillError, match="No space left"):
            template.write("lamp", tmp_path, set())
    assert list(tmp_path.iterdir()) == []
    template.write("lamp", tmp_path, set())
    with pytest.raises(SkillError, match="cannot be written"):
        template.write("lamp", tmp_path / "lamp" / "skill.py", set())
    (tmp_path / "gone").symlink_to("nowhere")
    with pytest.raises(UsageError, match="there already"):
        template.write("gone", tmp_path, set())


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--set", f"skills.folder={tmp_path}"]
    assert main(["skill", "new", "lamp", "--json", *where]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (tmp_path / "lamp" / "skill.py").exists()
    assert made["folder"] == str(tmp_path / "lamp")
    assert main(["skill", "list", "--json", *where]) == 0
    rows = json.loads(capsys.readouterr().out)["skills"]
    assert {"timer", "lists", "maths", "system", "lamp"} <= {row["name"] for row in rows}
    (tmp_path / "lamp" / "en.yaml").write_text("intents: {}\n", encoding="utf-8")
    assert main(["skill", "list", *where]) == 4
    out = capsys.readouterr().out
    assert "left out" in out
    assert str(tmp_path / "lamp" / "en.yaml") in out
    assert main(["skill", "new", "lamp", *where]) == 2
    assert main(["skill", "new", "timer", *where]) == 2
    assert "lamp" in capsys.readouterr().err


def test_settings_are_checked_as_far_as_they_can_be(tmp_path: Path) -> None:
    from assistant.config import load

    file = tmp_path / "config.yaml"
    file.write_text("skills:\n  own:\n    kettle: 5\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config.yaml:3: skills.own.kettle"):
        load(file)
    file.write_text("skills:\n  own:\n    kettle: {cups: 5, names: [a, b]}\n", encoding="utf-8")
    assert load(file).skills.own == {"kettle": {"cups": 5, "names": ["a", "b"]}}


def test_a_rehearsal_keeps_the_question_open(folder: Path, tmp_path: Path) -> None:
    with Rehearsal(folder / "kettle", tmp_path, {"cups": 2}) as talk:
        assert talk.say("boil water").reply == "Boiling 2 cups."
        with pytest.raises(LookupError):
            talk.say("what a day")
    assert own.NAME.fullmatch("kettle")


@pytest.mark.parametrize("value", ["perhaps", "7", "[true]", "null"])
def test_a_skill_of_ones_own_is_on_or_off(tmp_path: Path, value: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"skills:\n  own:\n    kettle:\n      enabled: {value}\n")
    with pytest.raises(ConfigError, match=r"4: skills\.own\.kettle\.enabled: .*true or false"):
        load(file)
    file.write_text("skills:\n  own:\n    kettle:\n      enabled: false\n      cups: 3\n")
    assert load(file).skills.own == {"kettle": {"enabled": False, "cups": 3}}
