from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def x64() -> Iterator[None]:
    """Kernels are tested where float64 exists; float32 arrays stay what they are."""
    with jax.enable_x64(True):
        yield
