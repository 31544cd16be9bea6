"""What tests of commands share: plugins, a store, and commands that run in this process."""

import re

import pytest
from typer.testing import CliRunner

from bsjax.results import ResultStore
from tests.support.plugin_fixtures import plugin, search

__all__ = ["plugin", "search"]

OWN = """
    '''A study of nothing.'''
    from pathlib import Path
    from bsjax import Score, benchmark_registry, model_registry

    class Own:
        '''It gives one half
        to everybody.

        Nobody knows why.'''

        identifier, version, parent, bibtex, ceiling = "Doe2026-half", 3, "IT", "", Score(1.0)

        def __call__(self, candidate):
            Path(__file__).with_name("scored").touch()
            return Score(0.5)

    class Model:
        identifier = "doe-net"
        visual_degrees = start_recording = start_task = look_at = lambda self, *arguments: 8

    benchmark_registry["Doe2026-half"] = Own
    model_registry["doe-net"] = Model
"""


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
