"""Brain-Score's published plugins, where they are beside the repository, and small ones that are written here."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsjax.compat.assemblies import NeuroidAssembly
from tests.support.paths import REPOSITORY
from tests.support.served_data import serving
from tests.support.written_plugins import writing

# Brain-Score's plugins as they are published.
PUBLISHED = Path(os.environ.get("BSJAX_PUBLISHED_PLUGINS", REPOSITORY.parent / "shared" / "plugins"))


def recording(seed: int, rows: int, neuroids: int, starts: Any = (), cls: Any = NeuroidAssembly, **coords: Any) -> Any:
    """Normal responses of neuroids 0, 1 ... in IT to the stimuli "s00", "s01" ..., over bins of 20 ms if there are any.

    Further coordinates go by their names, or take the place of these.
    """
    known: dict[str, Any] = {
        "stimulus_id": ("presentation", [f"s{i:02d}" for i in range(rows)]),
        "object_name": ("presentation", (["dog", "cat"] * rows)[:rows]),
        "neuroid_id": ("neuroid", range(neuroids)),
        "region": ("neuroid", ["IT"] * neuroids),
    }
    shape, dims = (rows, neuroids), ["presentation", "neuroid"]
    if starts:
        shape, dims = (*shape, len(starts)), [*dims, "time_bin"]
        known |= {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", [at + 20 for at in starts])}
    return cls(np.random.default_rng(seed).normal(size=shape), coords=known | coords, dims=dims)


@pytest.fixture
def published_plugins(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``$BSJAX_PUBLISHED_PLUGINS`` or ``../shared/plugins``, on the search path."""
    if not PUBLISHED.is_dir():
        pytest.skip(f"no plugins at {PUBLISHED}; set BSJAX_PUBLISHED_PLUGINS to a folder that holds Brain-Score's")
    monkeypatch.setenv("BSJAX_PLUGINS", str(PUBLISHED))
    return PUBLISHED


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
