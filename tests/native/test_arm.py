"""The C++ tests and a short generation as the processors of Raspberry Pis."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import ModelError
from assistant.models import path_of
from tests.native.scripts import TIMEOUT_S, run


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_S + 60)
def test_arm(tmp_path: Path) -> None:
    try:
        settings = {"KVQ_MODEL": str(path_of("smollm2-135m-instruct"))}
    except ModelError:
        settings = {}
    text = run("run_arm.sh", "aarch64", settings, tmp_path)
    # Three cores, and a Pi 4's code on a Pi 5.
    assert text.count(" tests, 0 failures") == 4
    if settings:
        assert text.count("isa neon\n") == 1
        assert text.count("isa neon_dot\n") == 1
    assert text.endswith("ARM tests passed\n")
