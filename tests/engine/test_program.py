import gc

import jax
import jax.numpy as jnp
import pytest

from bsjax.engine import compilation as program
from bsjax.engine.compilation import Program


@pytest.fixture
def summed():
    return Program(lambda x: jnp.sum(x**2))


def test_within_other_transformations_it_is_a_function_like_any_other(summed):
    x = jnp.arange(3.0)
    assert summed(x) == 5.0
    assert jax.jit(lambda x: 2 * summed(x))(x) == 10.0
    assert jnp.array_equal(jax.grad(summed)(x), 2 * x)
    assert jnp.array_equal(jax.vmap(summed)(x[:, None]), x**2)


def test_an_option_that_xla_does_not_have_is_done_without(monkeypatch):
    monkeypatch.setattr(program, "_SOON_ON_CPU", {"xla_cpu_of_another_release": True})
    doubled = Program(lambda x: 2 * x)
    assert doubled(1.0) == 2.0
    assert doubled.lower(1.0).compile()(1.0) == 2.0


def test_an_error_of_the_program_is_not_taken_for_one_of_its_options():
    def refuse(x):
        raise jax.errors.JaxRuntimeError("out of memory")

    calls = Program(lambda x: jax.pure_callback(refuse, jax.ShapeDtypeStruct((), jnp.float32), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="out of memory"):
        calls(jnp.float32(1.0)).block_until_ready()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_afterwards_as_before(enabled):
    seen = []
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        Program(lambda x: seen.append(gc.isenabled()) or x)(1.0)
        assert seen == [False]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
