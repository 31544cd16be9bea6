"""A compiled function, made soon: what JAX's defaults take longer for than they must."""

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax.core import Tracer
from jax.extend.core import jaxprs_in_params

# On a CPU the older of XLA's two ways to write fused loops, optimised less, compiles these programs in half the time
# that the newer takes. They run no slower: most of what they do is in matrix products, which are compiled already.
# Cut in 32 parts to be compiled side by side, as by default, programs of some hundred loops take a sixth longer.
# What is in memory at a time is as little as XLA knows to make it; the order that it prefers lets more run side by
# side, which products on all cores gain nothing from.
_SOON_ON_CPU = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
    "xla_cpu_parallel_codegen_split_count": 8,
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
}
_NOT_AN_OPTION = "No such compile option"

# Measured on CPUs: what XLA's libraries for sums and products hold beside what XLA plans, which is up to two more
# arrays of the size of the arguments and a quarter of the temporary ones. NumPy within a program takes up to three
# times as much as it is given and gives back, besides that.
_ARGUMENTS, _TEMPORARY, _IN_NUMPY = 3, 1.25, 4
_HOST_CALL = "host_call"


class Program:
    """``jax.jit(function)``, compiled in less time; called while JAX traces something else, it becomes part of that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._within: Any = jax.jit(function)
        self._alone: Any = jax.jit(function, compiler_options=_SOON_ON_CPU)
        self._needed: dict[Any, int] = {}

    def __call__(self, *arrays: Any) -> Any:
        """``function(*arrays)``."""
        # JAX takes options from the outermost program alone.
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arrays)):
            with _garbage_waits():
                return self._within(*arrays)
        return self._with_options(lambda program: program(*arrays))

    def bytes_needed(self, *arrays: Any) -> int:
        """Bytes of memory that a call takes at most, beside the arrays that it is given.

        Nothing is computed, but the program is compiled; a call after it finds it so.

        Args:
            arrays: as for a call, or ``jax.ShapeDtypeStruct`` in the place of any.

        Example:
            >>> Program(lambda x: x @ x.T).bytes_needed(jax.ShapeDtypeStruct((1_000_000, 2), "float32")) > 4 * 10**12
            True
        """
        leaves, structure = jax.tree.flatten(arrays)
        key = structure, *((leaf.shape, leaf.dtype, _sharding(leaf)) for leaf in leaves)
        if key not in self._needed:
            self._needed[key] = self._with_options(lambda program: _needed(program.trace(*arrays)))
        return self._needed[key]

    def clear_cache(self) -> None:
        """Lets its programs go."""
        self._within.clear_cache()
        self._alone.clear_cache()

    def lower(self, *arrays: Any) -> Any:
        """As that of ``jax.jit``, for what the program needs of memory and operations."""
        return self._alone.lower(*arrays)

    def _with_options(self, use: Callable[[Any], Any]) -> Any:
        """What ``use`` makes of the program that compiles soon, where there is one."""
        with _garbage_waits():
            if jax.default_backend() != "cpu":  # elsewhere the options of a CPU mean nothing
                return use(self._within)
            try:
                return use(self._alone)
            except jax.errors.JaxRuntimeError as error:
                if _NOT_AN_OPTION not in str(error):
                    raise
            self._alone = self._within  # this release of XLA has one way only
            return use(self._within)


def _needed(traced: Any) -> int:
    plan = traced.lower().compile().memory_analysis()
    if jax.default_backend() != "cpu":
        return plan.argument_size_in_bytes + plan.temp_size_in_bytes + plan.output_size_in_bytes
    planned = _ARGUMENTS * plan.argument_size_in_bytes + _TEMPORARY * plan.temp_size_in_bytes
    in_numpy = _IN_NUMPY * max(_exchanged(traced.jaxpr.jaxpr), default=0)
    return math.ceil(planned + plan.output_size_in_bytes + in_numpy)


def _exchanged(jaxpr: Any) -> Iterator[int]:
    """Bytes that each call of NumPy within the program is given and gives back."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == _HOST_CALL:
            yield sum(v.aval.size * v.aval.dtype.itemsize for v in (*equation.invars, *equation.outvars))
        for inner in jaxprs_in_params(equation.params):
            yield from _exchanged(inner)


def _sharding(leaf: Any) -> Any:
    return leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) else None


@contextmanager
def _garbage_waits() -> Iterator[None]:
    """Keeps Python from looking for garbage: tracing makes objects enough to set off a search through all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
