"""A tiny random model for most tests, and the real one where it has been fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.errors import ModelError
from assistant.models import path_of
from kvquant import Engine, Session
from tests.kvquant.tiny_model import write_tiny


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def tiny(tiny_path: Path) -> Iterator[Engine]:
    with Engine.load(tiny_path, backend="reference", n_ctx=512, threads=1) as engine:
        yield engine


@pytest.fixture
def session(tiny: Engine) -> Session:
    return tiny.session()


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The shipped model of 135 million weights."""
    try:
        return path_of("smollm2-135m-instruct")
    except ModelError as e:
        pytest.skip(str(e))
