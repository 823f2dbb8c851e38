"""The drop-ins that let the services reach the local network, and no more."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.test_systemd import SYSTEM, USER, analyze, installed, needs_systemd, settings_of


@needs_systemd
@pytest.mark.parametrize(("unit", "scope"), [(SYSTEM, "--system"), (USER, "--user")])
def test_drop_in_is_valid(unit: Path, scope: str, tmp_path: Path) -> None:
    copy = installed(unit, tmp_path)
    folder = tmp_path / f"{unit.name}.d"
    folder.mkdir()
    shutil.copy(unit.with_name("home.conf"), folder / "home.conf")
    done = analyze(scope, "verify", str(copy), cwd=tmp_path)
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(f"no {scope} manager can be simulated here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_what_is_lifted_is_the_network_alone(unit: Path) -> None:
    drop_in = unit.with_name("home.conf")
    service = dict(settings_of(drop_in)["Service"])
    assert service.pop("RestrictAddressFamilies") == "AF_UNIX AF_INET AF_INET6"
    if unit == SYSTEM:
        assert service.pop("PrivateNetwork") == "no"
        assert "any" not in service.pop("IPAddressAllow").split()
    assert service == {}
    said = re.search(r"install .* (systemd/\S+) (\S+)$", drop_in.read_text(encoding="utf-8"), re.M)
    assert said is not None
    assert unit.parents[2 if unit == USER else 1] / said[1] == drop_in
    assert f"{unit.name}.d" in said[2]
