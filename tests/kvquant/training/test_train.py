"""A whole training run on a tiny model: it learns, is repeatable, goes on, and is read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kvquant import Controller
from kvquant.controller_file import ControllerFile, FeatureFile
from kvquant.errors import SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams
from kvquant.vector_format import WIDTHS
from tests.kvquant.training.texts_for_training import write_texts

torch = pytest.importorskip("torch")

from kvquant.training import command, ladder  # noqa: E402
from kvquant.training.export import export, predict  # noqa: E402
from kvquant.training.run import Run, Settings, Trained  # noqa: E402
from kvquant.training.train import Trainer  # noqa: E402

SETTINGS = Settings(windows=2, length=200, epochs=3)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("texts") / "data")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, tiny_path: Path, data: Path) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("run") / "work"
    trainer(tiny_path, data, folder).run()
    return folder


@pytest.fixture(scope="module")
def trained(work: Path) -> Trained:
    return Run.open(work).trained()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trained: Trained) -> tuple[Path, Path]:
    return export(trained, tmp_path_factory.mktemp("files"))


def trainer(
    model: Path, data: Path, work: Path, settings: Settings = SETTINGS,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Trainer:  # fmt: skip
    return Trainer(model, data, work, settings, progress)


def test_training_lowers_the_loss(tiny_path: Path, data: Path, tmp_path: Path) -> None:
    losses: list[float] = []

    def watch(done: int, total: int, what: str) -> None:
        if what.startswith("mlp"):
            losses.append(float(what.split()[-1]))

    trainer(tiny_path, data, tmp_path, progress=watch).run()
    assert len(losses) == SETTINGS.epochs
    # Where the table alone is believed, the loss is 1.
    assert losses[-1] < losses[0]
    assert losses[-1] < 0.9


def test_a_stopped_run_ends_as_one_that_was_not(
    tiny_path: Path, data: Path, work: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    class Stop(Exception):
        pass

    steps = 0

    def stop(done: int, total: int, what: str) -> None:
        nonlocal steps
        steps += 1
        if steps in (3, 9, 14):
            raise Stop

    stopped = 0
    for _ in range(4):
        try:
            trainer(tiny_path, data, tmp_path / "work", progress=stop).run()
        except Stop:
            stopped += 1
    assert stopped == 3
    again = export(Run.open(tmp_path / "work").trained(), tmp_path / "files")
    assert [p.read_bytes() for p in again] == [p.read_bytes() for p in files]


def test_another_seed_gives_other_networks(
    tiny_path: Path, data: Path, trained: Trained, tmp_path: Path
) -> None:
    settings = Settings(windows=1, length=200, epochs=1, seed=5)
    other = trainer(tiny_path, data, tmp_path, settings).run()
    a, b = (t.networks["mlp"].layers[0].weight for t in (trained, other))
    assert not torch.equal(a, b)


def test_the_files_fit_the_model_and_say_what_made_them(
    files: tuple[Path, Path], tiny_path: Path, trained: Trained
) -> None:
    shape = Hyperparams.from_file(ModelFile.open(tiny_path))
    controller = ControllerFile.open(files[0], fingerprint=trained.fingerprint, shape=shape)
    words = FeatureFile.open(files[1], fingerprint=trained.fingerprint, shape=shape)
    assert set(controller.policies) >= {
        "adaptive", "rule", "static_table", "entropy", "rarity", "variance", "article", "random",
    }  # fmt: skip
    assert controller.ladder == SETTINGS.widths
    assert set(controller.ladder) <= set(WIDTHS)
    assert controller.made_by["settings"]["seed"] == SETTINGS.seed
    assert words.count > words.observed > 10
    rarity = words.rarity.numpy().astype(float)
    assert rarity.argmax() not in trained.examples.features.shape
    expected = -np.log(1 / (words.count + words.observed + 1))
    assert rarity.max() == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    "name", ["adaptive", "rule", "static_table", "article", "entropy", "rarity", "variance"]
)
def test_the_controller_predicts_as_the_budgets_assume(
    files: tuple[Path, Path], trained: Trained, name: str
) -> None:
    """int8 networks included, on the features of training."""
    controller = Controller.load(files[0], policy=name, features=files[1])
    t = trained.tables
    standard = trained.examples.features[:, :, :90].float()
    spread = torch.where(t.f_scale > 0, t.f_scale, torch.ones(()))
    raw = (standard / spread[:, :, None] + t.f_mean[:, :, None]).numpy().transpose(2, 0, 1, 3)
    got = controller.sensitivities(np.ascontiguousarray(raw), np.arange(90))
    if controller.policy.per_token:
        got = np.broadcast_to(got.mean((1, 2, 3), keepdims=True), got.shape)
    arrays = {k: a.numpy() for k, a in controller.file.arrays.items()}
    policy = {
        "kind": controller.policy.kind, "weights": controller.policy.weights,
        "mlp": controller.policy.mlp, "use_static": controller.policy.use_static,
        "per_token": controller.policy.per_token, "noise": 0.0,
    }  # fmt: skip
    want = predict(policy, arrays, standard.numpy(), arrays["static"])
    np.testing.assert_allclose(got, want.transpose(2, 0, 1, 3), atol=0.05)


def test_int8_weights_lose_little(files: tuple[Path, Path], trained: Trained) -> None:
    arrays = {k: a.numpy() for k, a in ControllerFile.open(files[0]).arrays.items()}
    policy = {"kind": "mlp", "mlp": "mlp", "use_static": False, "per_token": False, "noise": 0.0}
    rows = trained.examples.features.float()
    with torch.no_grad():
        exact = trained.networks["mlp"](rows).numpy()
    rounded = predict(policy, arrays, rows.numpy(), arrays["static"])
    assert np.abs(rounded - exact).mean() < 0.05 * exact.std()


def test_offsets_give_the_bits_they_promise(files: tuple[Path, Path], trained: Trained) -> None:
    file = ControllerFile.open(files[0])
    arrays = {k: a.numpy() for k, a in file.arrays.items()}
    policy = {"kind": "mlp", "mlp": "mlp", "use_static": True, "per_token": False, "noise": 0.0}
    s = predict(policy, arrays, trained.examples.features.float().numpy(), arrays["static"])
    for bits, offset in file.policy("adaptive").budget[4:10]:
        tags = ladder.tags_of(s, offset, file.thresholds)
        assert ladder.mean_bits(tags, file.ladder) == pytest.approx(bits, abs=0.15)


def test_a_folder_of_another_run_is_refused(tiny_path: Path, data: Path, work: Path) -> None:
    with pytest.raises(SettingError, match="another model"):
        trainer(tiny_path, data, work, Settings(windows=1, length=128))


def test_the_commands_train_and_export(
    tiny_path: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    export_arguments = ["--work", str(work), "--out", str(out)]
    assert command.export(export_arguments) == 2
    assert "python -m kvquant train" in capsys.readouterr().err
    arguments = ["--data", str(data), "--model", str(tiny_path), "--work", str(work)]
    few = ["--windows", "1", "--length", "128", "--epochs", "1"]
    assert command.train(arguments + few) == 0
    assert command.export(export_arguments) == 0
    assert len(list(out.glob("*.bin"))) == 2
    assert command.train([*arguments, "--windows", "0"]) == 2
    capsys.readouterr()
    assert command.train([*arguments, "--length", "513"]) == 2
    assert "at most 512" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_the_run_as_it_was(work: Path, tmp_path: Path) -> None:
    """Every write to the part file fails, as on a disk that is full."""
    run = Run.claim(tmp_path, {"windows": []})
    (tmp_path / "words.part").symlink_to("/dev/full")
    with pytest.raises(SettingError, match=r"words.*: No space left on device"):
        run.save("words", Run.open(work).load("words"))
    assert not run.has("words")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
