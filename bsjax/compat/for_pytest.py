"""Tests of Brain-Score's plugins, as they are: ``pytest -p bsjax.compat.for_pytest``, or a line in a ``conftest.py``.

The line is ``pytest_plugins = ["bsjax.compat.for_pytest"]``. Imports of Brain-Score's packages are answered, and the
marks of its tests are known.
"""

from typing import Any

from bsjax.compat import install

MARKS = ("private_access", "requires_gpu", "memory_intense", "slow", "travis_slow")


def pytest_configure(config: Any) -> None:
    """Answer imports before tests are collected."""
    install(prefer="bsjax")
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: as in Brain-Score")
