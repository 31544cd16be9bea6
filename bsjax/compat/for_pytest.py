"""Run the tests of Brain-Score's plugins unchanged: ``pytest -p bsjax.compat.for_pytest``, or in a ``conftest.py``.

The line for a ``conftest.py`` is ``pytest_plugins = ["bsjax.compat.for_pytest"]``. It provides Brain-Score's packages,
and registers the marks of its tests.
"""

from typing import Any

from bsjax.compat import install

MARKS = ("private_access", "requires_gpu", "memory_intense", "slow", "travis_slow")


def pytest_configure(config: Any) -> None:
    """Provide Brain-Score's packages before tests are collected."""
    install(prefer="bsjax")
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: as in Brain-Score")
