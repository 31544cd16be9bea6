"""What tests of commands share: plugins, a store, and commands that run in this process."""

import re

import pytest
from typer.testing import CliRunner

from bsjax.results import ResultStore
from tests.support.plugin_fixtures import plugin, search

__all__ = ["plugin", "search"]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The store of this test, which commands use by default."""
    monkeypatch.setenv("BSJAX_RESULTS", str(tmp_path / "results.db"))
    monkeypatch.setenv("TZ", "UTC")
    return ResultStore()


def invoke(app, *arguments, **how):
    """What a command gives that ends by itself; its error is raised."""
    done = CliRunner().invoke(app, list(map(str, arguments)), **how)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def cells_of(app, *arguments):
    """The table that a command prints, as a program splits it."""
    done = invoke(app, *arguments)
    assert done.exit_code == 0 and done.stderr == ""
    return [re.split(" {2,}", line) for line in done.stdout.splitlines()]
