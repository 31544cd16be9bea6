"""Brain-Score's published plugins, where they are beside the repository, and small ones that are written here."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.paths import REPOSITORY
from tests.support.served_data import serving
from tests.support.written_plugins import writing


@pytest.fixture
def published_plugins(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``$BSJAX_PUBLISHED_PLUGINS`` or ``../shared/plugins``, on the search path."""
    folder = Path(os.environ.get("BSJAX_PUBLISHED_PLUGINS", REPOSITORY.parent / "shared" / "plugins"))
    if not folder.is_dir():
        pytest.skip(f"no plugins at {folder}; set BSJAX_PUBLISHED_PLUGINS to a folder that holds Brain-Score's")
    monkeypatch.setenv("BSJAX_PLUGINS", str(folder))
    return folder


@pytest.fixture
def serve(s3, relay, monkeypatch, tmp_path) -> Iterator[object]:
    """Puts small data where published ones lie; see ``tests.support.served_data``."""
    with serving(s3, monkeypatch, tmp_path) as put:
        yield put


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """``write(kind, name, init, **files)``; see ``tests.support.written_plugins``."""
    with writing(tmp_path / "plugins", monkeypatch) as put:
        yield put
