from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from assistant.errors import FetchError
from assistant.models.download import Downloader, SourceError
from tests.assistant.models.samples import WEIGHTS
from tests.assistant.models.web import FileServer
from tests.patience import PATIENCE_S


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def downloader(waits: list[float]) -> Downloader:
    return Downloader(timeout_s=PATIENCE_S, wait=waits.append)


def test_whole_file_arrives(server: FileServer, downloader: Downloader, tmp_path: Path) -> None:
    server.files["/w.bin"] = WEIGHTS
    part = tmp_path / "deep" / "w.part"
    assert downloader.download(f"{server.url}/w.bin", part, len(WEIGHTS)) is False
    assert part.read_bytes() == WEIGHTS


@pytest.mark.parametrize("ranges", [True, False])
def test_cut_connections_are_continued(
    server: FileServer, downloader: Downloader, tmp_path: Path, ranges: bool
) -> None:
    server.files["/w.bin"] = WEIGHTS
    server.behaviour.ranges = ranges
    server.behaviour.cut_after = [100_000, 70_000]
    downloader.download(f"{server.url}/w.bin", tmp_path / "w.part", len(WEIGHTS))
    assert (tmp_path / "w.part").read_bytes() == WEIGHTS
    asked = [r for _, r in server.requests]
    expected = [None, "bytes=100000-", "bytes=170000-" if ranges else "bytes=70000-"]
    assert asked == expected


def test_older_part_is_continued(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    server.files["/w.bin"] = WEIGHTS
    part = tmp_path / "w.part"
    part.write_bytes(WEIGHTS[:1234])
    assert downloader.download(f"{server.url}/w.bin", part) is True
    assert part.read_bytes() == WEIGHTS
    assert server.requests == [("/w.bin", "bytes=1234-")]


def test_complete_part_needs_no_request(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    part = tmp_path / "w.part"
    part.write_bytes(WEIGHTS)
    downloader.download(f"{server.url}/w.bin", part, len(WEIGHTS))
    assert server.requests == []


def test_part_longer_than_the_file_starts_over(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    server.files["/w.bin"] = WEIGHTS
    part = tmp_path / "w.part"
    part.write_bytes(WEIGHTS + b"more")
    downloader.download(f"{server.url}/w.bin", part)
    assert part.read_bytes() == WEIGHTS


def test_answer_for_another_place_starts_over(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    server.files["/w.bin"] = WEIGHTS
    server.behaviour.shift = 7
    part = tmp_path / "w.part"
    part.write_bytes(WEIGHTS[:1000])
    downloader.download(f"{server.url}/w.bin", part, len(WEIGHTS))
    assert part.read_bytes() == WEIGHTS


@pytest.mark.parametrize("lie", [-5000, 5000])
def test_other_length_is_refused_before_it_is_loaded(
    server: FileServer, downloader: Downloader, tmp_path: Path, lie: int
) -> None:
    server.files["/w.bin"] = WEIGHTS
    server.behaviour.lie = lie
    with pytest.raises(SourceError, match="instead of 307,200"):
        downloader.download(f"{server.url}/w.bin", tmp_path / "w.part", len(WEIGHTS))
    assert not (tmp_path / "w.part").exists()


def test_busy_server_is_asked_again_with_growing_pauses(
    server: FileServer, downloader: Downloader, tmp_path: Path, waits: list[float]
) -> None:
    server.files["/w.bin"] = WEIGHTS
    server.behaviour.statuses = [503, 429, 500]
    downloader.download(f"{server.url}/w.bin", tmp_path / "w.part")
    assert (tmp_path / "w.part").read_bytes() == WEIGHTS
    assert waits == [1.0, 2.0, 4.0]


def test_dead_server_is_given_up(
    server: FileServer, downloader: Downloader, tmp_path: Path, waits: list[float]
) -> None:
    server.behaviour.statuses = [503] * 50
    with pytest.raises(SourceError, match="503"):
        downloader.download(f"{server.url}/w.bin", tmp_path / "w.part")
    assert len(server.requests) == 4


def test_missing_file_is_not_asked_for_twice(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="404"):
        downloader.download(f"{server.url}/gone.bin", tmp_path / "w.part")
    assert len(server.requests) == 1


def test_nobody_listens(downloader: Downloader, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no connection"):
        downloader.download("http://127.0.0.1:9/w.bin", tmp_path / "w.part")


def test_login_in_the_address_becomes_a_header(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    server.files["/w.bin"] = WEIGHTS
    address = server.url.replace("http://", "http://ann:pass%21@") + "/w.bin"
    downloader.download(address, tmp_path / "w.part")
    assert server.logins == ["Basic YW5uOnBhc3Mh"]


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x"])
def test_only_http_is_downloaded(downloader: Downloader, tmp_path: Path, url: str) -> None:
    with pytest.raises(SourceError, match="no http"):
        downloader.download(url, tmp_path / "w.part")


def test_too_small_disk_is_noticed_before_loading(
    server: FileServer,
    downloader: Downloader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.files["/w.bin"] = WEIGHTS
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=10))
    with pytest.raises(FetchError, match=r"free, but 0\.3 MB are needed") as caught:
        downloader.download(f"{server.url}/w.bin", tmp_path / "w.part", len(WEIGHTS))
    assert caught.value.code == "models.disk_full"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is missing")
def test_disk_that_fills_up_is_one_sentence(
    server: FileServer, downloader: Downloader, tmp_path: Path
) -> None:
    server.files["/w.bin"] = WEIGHTS
    part = tmp_path / "w.part"
    part.symlink_to("/dev/full")
    with pytest.raises(FetchError, match=r"The disk of .* is full\.") as caught:
        downloader.download(f"{server.url}/w.bin", part, len(WEIGHTS))
    assert os.linesep not in str(caught.value)
