"""A plugin of pytest: the marker ``bsjax_contract`` makes a test of every property. It imports nothing until then."""

from __future__ import annotations

from typing import Any

_MARKER = "bsjax_contract"


def pytest_configure(config: Any) -> None:
    """Registers the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(thing, **promised): the test runs once for each property that bsjax.testing checks of a metric, "
        "mapping, ceiling, benchmark or model, which it gets as the argument check",
    )


def pytest_generate_tests(metafunc: Any) -> None:
    """One test for each property."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    if len(marker.args) != 1 or "check" not in metafunc.fixturenames:
        raise ValueError(f"{metafunc.definition.nodeid}: write @pytest.mark.{_MARKER}(thing) over a test of check")
    from bsjax.testing.everything import checks_of

    found = checks_of(marker.args[0], **marker.kwargs)
    metafunc.parametrize("check", found, ids=[each.name for each in found])
