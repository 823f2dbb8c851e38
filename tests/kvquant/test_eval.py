"""The measures of quality: right where they can be known, bad for what is bad."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, plots
from kvquant.__main__ import main
from kvquant.errors import BackendError, DataFileError, KvquantError, SettingError
from kvquant.evaluation import choices, command, layouts, needle
from kvquant.evaluation.divergence import Truth
from kvquant.evaluation.statistics import interval
from kvquant.evaluation.windows import Window, windows
from kvquant.scoring import Setting, opener
from kvquant.texts import Choice
from tests.kvquant.caches import Opener
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_wide

TEXT = "".join(f"the hello {i} the other day\n" for i in range(900))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    turns = [{"who": w, "text": f"hello the {w} " * 4} for w in ("USER", "SYSTEM")]
    rows = "".join(json.dumps({"id": f"d{i}", "turns": turns}) + "\n" for i in range(40))
    items = "".join(
        json.dumps(
            {
                "id": i, "source": "wikihow", "ctx": f"the hello {i}", "label": i % 4,
                "endings": [f"hello {k}" + " the" * k for k in range(4)],
            }
        ) + "\n" for i in range(12)
    )  # fmt: skip
    files = {
        "wikitext2/valid.txt.gz": TEXT,
        "gutenberg/ainsworth-x.txt.gz": TEXT,
        "sgd-dialogues/sgd_dev.jsonl.gz": rows,
        "hellaswag/hellaswag_val.jsonl.gz": items,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(gzip.compress(text.encode()))
    return folder


def options(data: Path | None, *more: str) -> argparse.Namespace:
    given = ["--context", "64", "--windows", "3", "--threads", "1", *more]
    return command.parser().parse_args(given + (["--data", str(data)] if data else []))


def test_divergence_by_hand() -> None:
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
    truth = Truth(np.log(p)[None].astype(np.float32), [0])
    kld, nll, agree = truth.against((np.log(q)[None] + 7).astype(np.float32), "q")[:, 0]
    assert kld == pytest.approx((p * np.log(p / q)).sum(), abs=1e-6)
    assert nll == pytest.approx(-np.log(0.25), abs=1e-6)
    assert truth.nll[0] == pytest.approx(-np.log(0.5), abs=1e-6)
    assert agree == 0
    assert truth.against(np.log(p)[None].astype(np.float32), "p")[:, 0].tolist()[::2] == [0, 1]


def test_divergence_refuses_what_is_no_number() -> None:
    truth = Truth(np.zeros((1, 4), np.float32), [0])
    with pytest.raises(BackendError, match="broken"):
        truth.against(np.array([[0, 1, np.nan, 2]], np.float32), "broken")


def test_the_interval_holds_the_mean_and_knows_dependence() -> None:
    random = np.random.default_rng(0)
    free = random.normal(1, 1, (8, 512))
    low, high = interval(free, 1)
    assert low < free.mean() < high
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(free.size), rel=0.15)
    # The same values in runs of 32 that are alike carry 32 times less.
    runs = np.repeat(random.normal(1, 1, (8, 16)), 32, axis=1)
    wide = interval(runs, 32)
    assert wide[1] - wide[0] > 3 * (high - low)


@pytest.mark.parametrize("mode", ["decode", "prefill"])
def test_worse_caches_get_worse_figures(data: Path, tiny_path: Path, mode: str) -> None:
    asked = options(data, "--what", "kld,ppl", "--kv", "fp16,static8,static4,static2",
                    "--mode", mode)  # fmt: skip
    rows = command.evaluate(asked, Opener(tiny_path))["rows"]
    assert [r["kv"] for r in rows] == ["fp16", "static8", "static4", "static2"]
    exact, fine, coarse, broken = rows
    assert exact["kld"] == 0
    assert exact["ppl_ratio"] == exact["top1_agree"] == 1
    assert exact["bits_mean"] == 16
    assert exact["bytes_per_token"] == 2 * 2 * 2 * 16 * 2
    assert 0 < fine["kld"] < coarse["kld"] < broken["kld"]
    # Noise s on logits costs about s²/2 for a flat distribution, less for a peaked one.
    assert 0.3 * 0.05**2 / 2 < fine["kld"] < 1.2 * 0.05**2 / 2
    assert broken["kld"] > 1
    assert broken["ppl_ratio"] > 1.5
    assert broken["top1_agree"] < 0.7 < fine["top1_agree"]
    assert fine["kld_low"] <= fine["kld"] <= fine["kld_high"]
    assert fine["bits_mean"] == pytest.approx(8.5, abs=0.01)
    assert set(fine["texts"]) == {"wikitext2", "gutenberg", "sgd-dialogues"}
    assert fine["positions"] == 3 * 32


def test_decoding_and_prompt_agree_where_the_cache_is_exact(data: Path, tiny_path: Path) -> None:
    found = [
        command.evaluate(options(data, "--what", "ppl", "--kv", "fp16", "--mode", mode),
                         Opener(tiny_path))["rows"][0]["ppl"]
        for mode in ("decode", "prefill")
    ]  # fmt: skip
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_policies_are_compared_at_the_same_bits(data: Path, tiny_path: Path) -> None:
    asked = options(data, "--what", "kld", "--kv", "adaptive", "--budgets", "3,4.5",
                    "--policies", "adaptive,random", "--windows", "4")  # fmt: skip
    report = command.evaluate(asked, Opener(tiny_path))
    assert [(r["policy"], r["budget"]) for r in report["rows"][1:]] == [
        ("adaptive", 3.0), ("adaptive", 4.5), ("random", 3.0), ("random", 4.5),
    ]  # fmt: skip
    pairs = report["comparisons"]
    assert [(c["adaptive"], c["other"]) for c in pairs] == [
        ("adaptive 3", "random 3"), ("adaptive 4.5", "random 4.5"),
    ]  # fmt: skip
    for pair in pairs:
        assert pair["difference_low"] > 0
        assert pair["apart"]
        assert pair["factor"] > 5


def test_many_caches_are_measured_in_groups(data: Path, tiny_path: Path) -> None:
    budgets = ",".join(str(b) for b in range(2, 11))
    asked = options(data, "--what", "kld", "--kv", "fp16,adaptive", "--budgets", budgets)
    rows = command.evaluate(asked, Opener(tiny_path))["rows"]
    assert len(rows) == 10
    values = [r["kld"] for r in rows[1:]]
    assert values == sorted(values, reverse=True)
    assert rows[0]["ppl"] > 1


def test_a_cache_without_numbers_is_named(data: Path, tiny_path: Path) -> None:
    with pytest.raises(BackendError, match="static3"):
        command.evaluate(options(data, "--what", "kld", "--kv", "static3"), Opener(tiny_path))


def test_questions_share_their_context(tiny: Engine) -> None:
    choice = Choice(1, "wikihow", "hello the", ("hello hello", "the 1 2"), 0)
    (question,) = choices.questions(tiny, [choice])
    whole = [tiny.tokenizer.encode(f"hello the {e}") for e in choice.endings]
    assert [question.context + e for e in question.endings] == whole
    assert question.characters == [11, 7]
    assert choices.room([question]) >= max(map(len, whole))


@pytest.mark.parametrize("backend", ["reference", "auto"])
@pytest.mark.parametrize("mode", ["decode", "prefill"])
def test_endings_get_their_own_log_probabilities(tiny_path: Path, mode: Any, backend: Any) -> None:
    with Engine.load(tiny_path, backend=backend, n_ctx=64, threads=1) as engine:
        given = [
            Choice(i, "wikihow", f"the hello {i}", ("hello", "the the 1 2", "x"), 1)
            for i in range(11)
        ]
        found = choices.questions(engine, given)
        answers = choices.answer(engine, Setting("fp16"), found, mode, lambda *_: None)
        assert answers.bits == 16
        for i in (0, 10):
            for e, ending in enumerate(found[i].endings):
                ids = found[i].context + ending
                session = engine.session()
                rows = np.concatenate([session.append_rows([t]) for t in ids]).astype(np.float64)
                rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
                n = len(found[i].context)
                expected = sum(rows[k - 1, ids[k]] for k in range(n, len(ids)))
                assert answers.sums[i][e] == pytest.approx(expected, abs=0.05)


def test_the_two_scores_of_an_ending() -> None:
    question = choices.Question([1], [[2], [3, 4]], [4, 20], 1)
    answers = choices.Answers(Setting("fp16"), [[-2.0, -5.0]])
    assert answers.right([question], per_character=False) == [0]
    assert answers.right([question], per_character=True) == [1]


def test_hellaswag_counts_what_is_lost(data: Path, tiny_path: Path) -> None:
    asked = options(data, "--what", "hellaswag", "--kv", "fp16,static2", "--limit", "8")
    exact, broken = command.evaluate(asked, Opener(tiny_path))["rows"]
    assert exact["hellaswag_detail"]["n"] == 8
    assert exact["hellaswag_detail"]["same_choice"] == 1
    assert broken["hellaswag_detail"]["same_choice"] < 1
    assert broken["hellaswag_detail"]["bits_mean"] == pytest.approx(2.5, abs=0.01)
    assert exact["kld"] is None


def test_hidden_facts_stand_at_their_depths_and_are_asked_for(model_path: Path) -> None:
    long = 1500
    with Engine.load(model_path, n_ctx=8, threads=1) as engine:
        found = needle.haystacks(engine, long, 3)
        decode = engine.tokenizer.decode
        for hay in found:
            text = decode(hay.tokens)
            assert len(hay.tokens) + max(len(a.tokens) for a in hay.asked) <= long
            assert len(hay.asked) == needle.FACTS
            for k, asked in enumerate(hay.asked):
                fact = decode(asked.tokens).split("Answer: ")[1]
                said = f" {fact}{decode(asked.words[asked.answer : asked.answer + 1])}"
                assert text.count(said) == 1
                assert abs(text.index(said) / len(text) - (k + 0.5) / needle.FACTS) < 0.05
        orders = [[tuple(a.words) for a in hay.asked] for hay in found]
    assert orders[0] != orders[1]


def test_facts_need_tokens_that_tell_them_apart_and_room(tiny: Engine, model_path: Path) -> None:
    with pytest.raises(SettingError, match="apart"):
        needle.haystacks(tiny, 4096, 1)
    with (
        Engine.load(model_path, n_ctx=8, threads=1) as engine,
        pytest.raises(SettingError, match="short"),
    ):
        needle.haystacks(engine, 200, 1)


def test_recall_is_a_matter_of_the_right_words_logits(tiny: Engine) -> None:
    session = tiny.session()
    session.prefill([9, 8, 7, 6])
    scores = session.logits()
    order = np.argsort(scores)
    best, worst = int(order[-1]), int(order[0])
    hay = needle.Haystack(
        [9, 8],
        [needle.Asked([7, 6], [worst, best], 1), needle.Asked([7, 6], [worst, best], 0)],
    )
    found = needle.recall(tiny, Setting("fp16"), [hay], lambda *_: None)
    assert found.right.tolist() == [[1, 0]]
    gap = scores[best] - scores[worst]
    np.testing.assert_allclose(found.margin, [[gap, -gap]], rtol=1e-3)


def test_windows_do_not_overlap_and_come_from_every_text(data: Path, tiny: Engine) -> None:
    found = windows(tiny, data, 40, 7)
    assert [w.text for w in found[:4]] == ["wikitext2", "gutenberg", "sgd-dialogues", "wikitext2"]
    assert all(len(w.tokens) == 41 for w in found)
    wiki = [tuple(w.tokens) for w in found if w.text == "wikitext2"]
    assert len(set(wiki)) == 3
    with pytest.raises(DataFileError, match="stretches"):
        windows(tiny, data, 400, 200)


@pytest.mark.parametrize(
    "given",
    [
        ["--what", "kld,speed"],
        ["--kv", "static5"],
        ["--kv", ""],
        ["--budgets", "x"],
        ["--budgets", "0"],
        ["--windows", "0"],
        ["--limit", "-1"],
        ["--kv", "adaptive", "--policies", ","],
    ],
)
def test_wrong_options_get_one_sentence(data: Path, tiny_path: Path, given: list[str]) -> None:
    with pytest.raises(SettingError):
        command.evaluate(options(data, *given), Opener(tiny_path))


def test_without_data_it_says_what_it_needs(
    tiny_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "--model", str(tiny_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--data" in err
    assert "wikitext2" in err
    assert main(["eval", "--model", str(tiny_path), "--data", str(tmp_path / "none")]) == 2
    empty = ["--data", str(tmp_path), "--what", "kld", "--kv", "fp16", "--context", "64"]
    assert main(["eval", "--model", str(tiny_path), *empty]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_the_command_prints_json_or_a_table(
    data: Path, tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["eval", "--model", str(tiny_path), "--data", str(data), "--kv", "fp16",
             "--what", "kld,ppl,hellaswag", "--context", "64", "--windows", "3", "--limit", "4",
             "--threads", "1"]  # fmt: skip
    assert main([*given, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert {"kv", "bits_mean", "bytes_per_token", "kld", "ppl", "ppl_ratio", "hellaswag",
            "top1_agree"} <= set(row)  # fmt: skip
    assert main(given) == 0
    assert capsys.readouterr().out.startswith("cache")


def test_the_plot_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = [
        {"kv": "static4", "policy": None, "bits_mean": 4.5, "kld": 0.004, "kld_low": 0.003,
         "kld_high": 0.005},
        {"kv": "adaptive", "policy": "adaptive", "bits_mean": 3.5, "kld": 0.006},
        {"kv": "fp16", "policy": None, "bits_mean": 16.0, "kld": 0.0},
    ]  # fmt: skip
    plots.quality(rows, tmp_path / "plot.png", "a title")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(KvquantError, match="cannot be written"):
        plots.quality(rows, tmp_path / "none" / "plot.png", "a title")


def test_a_plot_that_cannot_be_written_does_not_cost_the_report(
    data: Path, tiny_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    given = ["eval", "--model", str(tiny_path), "--data", str(data), "--kv", "fp16",
             "--what", "kld", "--context", "64", "--windows", "2", "--threads", "1", "--json",
             "--plot", str(tmp_path / "none" / "plot.png")]  # fmt: skip
    assert main(given) == 2
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["rows"]) == 1
    assert "plot.png" in shown.err


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tiny model with heads that can be quantized, and a controller for it."""
    folder = tmp_path_factory.mktemp("wide")
    model = write_wide(folder / "wide.gguf")
    write_features(folder / "features-w.bin", model)
    return model, write_controller(folder / "ctrl-w.bin", model)


@pytest.mark.parametrize("mode", ["decode", "prefill"])
def test_the_engines_own_caches(
    data: Path, wide: tuple[Path, Path], mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model, controller = wide
    given = ["eval", "--model", str(model), "--controller", str(controller), "--threads", "1",
             "--data", str(data), "--context", "160", "--windows", "2", "--limit", "5",
             "--what", "kld,ppl,hellaswag", "--budgets", "4.5,7", "--mode", mode, "--json",
             "--policies", "adaptive,random"]  # fmt: skip
    assert main(given) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    kld = {f"{r['policy'] or r['kv']} {r['budget'] or ''}".strip(): r["kld"] for r in rows}
    assert 0 == kld["fp16"] < kld["static8"] < kld["static4"] < kld["static3"] < kld["static2"]
    assert kld["adaptive 7.0"] < kld["adaptive 4.5"]
    bits = [r["bits_mean"] for r in rows[:5]]
    assert bits == sorted(bits, reverse=True)
    for row in rows[1:]:
        assert row["hellaswag_detail"]["n"] == 5
        assert row["bytes_per_token"] == pytest.approx(
            row["bits_mean"] / 16 * rows[0]["bytes_per_token"], rel=0.01
        )


def test_key_layouts(wide: tuple[Path, Path]) -> None:
    model, controller = wide
    random = np.random.default_rng(5)
    text = [Window("random", random.integers(4, 260, 161).tolist()) for _ in range(2)]
    settings = [Setting("static4"), Setting("static2"), Setting("adaptive", 7.0)]
    open_engine = opener(model, 1, controller)
    rows = layouts.measure(open_engine, settings, text, "decode", lambda *_: None)
    assert [(r["kv"], r["key_layout"]) for r in rows] == [
        (kv, layout)
        for kv in ("static4", "static2", "adaptive")
        for layout in ("rotated", "pre_rope")
    ]
    for rotated, before in zip(rows[::2], rows[1::2], strict=True):
        assert rotated["attention_cost"] == rotated["factor"] == 1
        assert before["kld"] != rotated["kld"]
        assert 0.4 < before["factor"] < 2.5
        assert before["bits_mean"] == pytest.approx(rotated["bits_mean"], abs=0.3)
    fine, _, coarse, *_ = rows
    assert 0 < fine["kld_low"] <= fine["kld"] < coarse["kld"]
    assert all(row["step_ms"] > 0 for row in rows)
