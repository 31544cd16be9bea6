"""Programs: counted as they are made, used again, and let go before a process has too many memory maps."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from bsjax.engine.compilation import let_programs_go, traces
from bsjax.metrics import compiled, pearson

MAPS = Path("/proc/self/maps")


def doubled(x, *, times=2):
    return x * jnp.asarray(times, x.dtype)


def test_a_kernel_is_traced_once_for_a_shape_dtype_and_setting():
    with traces() as counted:
        for shape in ((3,), (3,), (4,)):
            compiled(doubled)(jnp.ones(shape))
        assert counted == {"doubled": 2}
        compiled(doubled, times=3)(jnp.ones(3))
        compiled(doubled)(jnp.ones(3, jnp.int32))
    assert counted == {"doubled": 4}
    compiled(doubled)(jnp.ones(5))
    assert counted == {"doubled": 4}


def test_blocks_within_blocks_count_by_themselves():
    with traces() as outer:
        compiled(doubled)(jnp.ones(6))
        with traces() as inner:
            compiled(doubled)(jnp.ones(7))
    assert (outer["doubled"], inner["doubled"]) == (2, 1)


@pytest.mark.slow
@pytest.mark.skipif(not MAPS.exists(), reason="memory maps are counted on Linux")
def test_programs_are_let_go_and_made_again():
    x = jnp.arange(6.0).reshape(3, 2)
    before = compiled(pearson)(x, x)
    maps = MAPS.read_bytes().count(b"\n")
    assert not let_programs_go()
    with traces() as counted:
        compiled(pearson)(x, x)
    assert not counted
    assert let_programs_go(most_maps=1)
    assert MAPS.read_bytes().count(b"\n") < maps
    with traces() as counted:
        assert jax.numpy.array_equal(compiled(pearson)(x, x), before)
    assert counted == {"pearson": 1}
