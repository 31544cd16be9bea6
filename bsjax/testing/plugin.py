"""The pytest plugin, whose marker ``bsjax_contract`` makes one test of each property of the contract.

Load it in ``conftest.py``: ``pytest_plugins = ["bsjax.testing.plugin"]``. It is no entry point, since pytest would then
import every module of bsjax through its own loader, which rewrites assertions.
"""

from typing import Any

_MARKER = "bsjax_contract"


def pytest_configure(config: Any) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(thing, **promised): run the test once for each property of a metric, mapping, ceiling, benchmark "
        "or model; the argument check of the test is the check of the property",
    )


def pytest_generate_tests(metafunc: Any) -> None:
    """Makes one test for each property."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    if len(marker.args) != 1 or "check" not in metafunc.fixturenames:
        raise ValueError(
            f"{metafunc.definition.nodeid}: expected @pytest.mark.{_MARKER}(thing) and a test with the argument check"
        )
    from bsjax.testing.everything import checks_of

    found = checks_of(marker.args[0], **marker.kwargs)
    metafunc.parametrize("check", found, ids=[each.name for each in found])
