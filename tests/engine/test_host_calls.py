"""Calls of NumPy within compiled programs: batches, and that they wait for no thread."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.host_calls import host_call
from tests.support.paths import REPOSITORY
from tests.support.processes import printed_by

SCRIPT = REPOSITORY / "tests" / "support" / "on_few_threads.py"
ON_ONE_CORE = "import os, runpy, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); sys.argv.pop(0);"

binds_to_cores = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no system call for it here")


def shifted(x, by):
    return x + by[..., None]


def call(x, by):
    return host_call(shifted, x, by, shape=x.shape, dtype=x.dtype)


def test_a_batch_is_one_call_on_a_leading_axis():
    seen = []

    def sums(x):
        seen.append(x.shape)
        return x.sum(axis=-1)

    x = jnp.arange(12.0).reshape(3, 4)
    rows = jax.vmap(lambda row: host_call(sums, row, shape=(), dtype=row.dtype), in_axes=1)
    np.testing.assert_array_equal(jax.jit(rows)(x), x.sum(axis=0))
    assert seen == [(4, 3)]


def test_what_is_not_batched_is_repeated():
    x, by = jnp.arange(3.0), jnp.array([0.0, 10.0])
    np.testing.assert_array_equal(jax.jit(jax.vmap(call, in_axes=(None, 0)))(x, by), [[0, 1, 2], [10, 11, 12]])


def test_without_a_program_it_is_the_function():
    np.testing.assert_array_equal(call(jnp.arange(3.0), jnp.array(1.0)), [1.0, 2.0, 3.0])


def test_an_error_of_the_function_arrives():
    def refuse(x):
        raise ValueError("no numbers today")

    with pytest.raises(Exception, match="no numbers today"):
        jax.jit(lambda x: host_call(refuse, x, shape=(), dtype=x.dtype))(jnp.ones(3)).block_until_ready()


@pytest.mark.slow
@binds_to_cores
def test_one_core_is_enough():
    code = f"{ON_ONE_CORE} runpy.run_path(sys.argv[0], run_name='__main__')"
    assert printed_by("-c", code, SCRIPT, "on_one_core").split() == "ranked tau_a eigenvectors rdm returned".split()


@pytest.mark.slow
def test_more_devices_than_cores_return():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    assert "returned" in printed_by(SCRIPT, "on_devices", 2, XLA_FLAGS=flags)
