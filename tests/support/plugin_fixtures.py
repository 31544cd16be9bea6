"""Plugins written for a test, and a search path that ends with it."""

import os
import textwrap

import pytest


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """``plugin("folder", init, **other_files)`` writes a plugin below a folder that is searched."""
    root = tmp_path / "plugins"
    root.mkdir()
    monkeypatch.setenv("BSJAX_PLUGINS", str(root))

    def write(name, init, **files):
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        for filename, text in {"__init__": init, **files}.items():
            (folder / f"{filename}.py").write_text(textwrap.dedent(text))
        return folder

    write.root = root
    return write


@pytest.fixture
def search(monkeypatch):
    """Search these folders from now on."""
    return lambda *folders: monkeypatch.setenv("BSJAX_PLUGINS", os.pathsep.join(map(str, folders)))
