"""Plugins that are written here as published ones are."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.written_plugins import writing


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """``write(kind, name, init, **files)``; see ``tests.support.written_plugins``."""
    with writing(tmp_path / "plugins", monkeypatch) as put:
        yield put
