"""Programs: counted as they are made, used again, and evicted when there are many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.programs import compilation
from bsjax.engine.programs.compilation import MOST_KEPT, Program, traces
from bsjax.engine.programs.platforms import default_device, default_platform, platform, traced_for
from bsjax.metrics import compiled, pearson


def doubled(x, *, times=2):
    return x * jnp.asarray(times, x.dtype)


def test_a_kernel_is_traced_once_for_a_shape_dtype_and_setting():
    with traces() as counted:
        for shape in ((3,), (3,), (4,)):
            compiled(doubled)(jnp.ones(shape))
        assert counted == {"doubled": 2}
        compiled(doubled, times=3)(jnp.ones(3))
        with traces() as inner:
            compiled(doubled)(jnp.ones(3, jnp.int32))
    assert counted == {"doubled": 4} and inner == {"doubled": 1}
    compiled(doubled)(jnp.ones(5))
    assert counted == {"doubled": 4}


def test_programs_of_kernels_that_were_called_least_recently_are_evicted(monkeypatch):
    def shapes(kernel, *sizes):
        with traces() as counted:
            for n in sizes:
                compiled(kernel)(jnp.ones(n))
        return sum(counted.values())

    of_the_user = jax.jit(lambda x: x + 1)
    of_the_user(jnp.ones(3))
    kernels = [lambda x, k=k: x * k for k in range(3)]
    compiled(pearson)  # counts what was traced before
    monkeypatch.setenv(MOST_KEPT, "4")
    assert [shapes(kernel, 21, 22) for kernel in kernels[:2]] == [2, 2]
    assert shapes(kernels[0], 21, 22) == 0  # four are kept, and these are the latest
    assert shapes(kernels[2], 21) == 1
    assert shapes(kernels[0], 21, 22) == 0 and shapes(kernels[1], 21, 22) == 2
    assert of_the_user._cache_size() == 1


@pytest.mark.slow
def test_programs_of_one_kernel_are_let_go_and_made_again(monkeypatch):
    monkeypatch.setenv(MOST_KEPT, "4")
    for n in range(31, 40):
        assert compiled(doubled)(jnp.ones(n)).sum() == 2 * n
    assert compiled(doubled).use.shapes <= 5


def test_within_other_transformations_it_is_a_function_like_any_other_of_concrete_arrays_too():
    summed, x = Program(lambda x: jnp.sum(x**2)), jnp.arange(3.0)
    assert summed(x) == 5.0
    assert jax.jit(lambda x: 2 * summed(x))(x) == 10.0
    assert jnp.array_equal(jax.grad(summed)(x), 2 * x)
    assert jnp.array_equal(jax.vmap(summed)(x[:, None]), x**2)
    assert jax.jit(lambda scale: scale * summed(x))(2.0) == 10.0
    assert jax.grad(lambda scale: scale * summed(x))(2.0) == 5.0
    assert jnp.array_equal(jax.vmap(lambda scale: scale * summed(x))(x), 5 * x)
    assert jax.lax.scan(lambda total, _: (total + summed(x), None), 0.0, length=3)[0] == 15.0
    assert jax.jit(jax.checkpoint(lambda scale: scale * summed(np.arange(3.0, dtype=np.float32))))(2.0) == 10.0


def test_an_option_that_xla_does_not_have_is_done_without(monkeypatch):
    monkeypatch.setitem(compilation._OPTIONS, "cpu", {"xla_cpu_of_another_release": True})
    doubled = Program(lambda x: 2 * x)
    assert doubled(1.0) == 2.0
    assert doubled.lower(1.0).compile()(1.0) == 2.0


def test_an_error_of_the_program_is_not_taken_for_one_of_its_options():
    def refuse(x):
        raise jax.errors.JaxRuntimeError("out of memory")

    calls = Program(lambda x: jax.pure_callback(refuse, jax.ShapeDtypeStruct((), jnp.float32), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="out of memory"):
        calls(jnp.float32(1.0)).block_until_ready()


def test_a_program_is_of_the_device_that_the_user_has_chosen():
    for chosen in ("cpu", jax.devices("cpu")[0]):
        with jax.default_device(chosen):
            assert platform() == default_platform() == default_device().platform == "cpu"
    with traced_for("tpu"):
        assert platform() == "tpu"


def test_what_the_user_sets_by_flags_stays(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x --xla_backend_optimization_level=3")
    assert "xla_backend_optimization_level" not in compilation.options("cpu")
    assert set(compilation.options("cpu")) == set(compilation._OPTIONS["cpu"]) - {"xla_backend_optimization_level"}
