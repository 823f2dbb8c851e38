"""The C++ tests, optimised and under the sanitizers, and a little fuzzing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.native.scripts import PATH, TIMEOUT_S, run


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_S + 60)
def test_cpp_tests_pass_optimised_and_sanitized(tmp_path: Path) -> None:
    text = run("run_native.sh", "native", {"KVQ_FUZZ_SECONDS": "10"}, tmp_path)
    assert text.count(" tests, 0 failures") == 2
    assert text.endswith("native tests passed\n")
    if shutil.which("clang++", path=PATH):
        assert "stat::number_of_executed_units" in text
