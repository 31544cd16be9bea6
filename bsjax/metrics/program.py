"""A compiled function, made soon: what JAX's defaults take longer for than they must."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax.core import Tracer

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


class Program:
    """``jax.jit(function)``, compiled in less time; called while JAX traces something else, it becomes part of that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._within: Any = jax.jit(function)
        self._alone: Any = jax.jit(function, compiler_options=_SOON_ON_CPU)

    def __call__(self, *arrays: Any) -> Any:
        """``function(*arrays)``."""
        with _garbage_waits():
            # JAX takes options from the outermost program alone, and those of a CPU mean nothing elsewhere.
            if jax.default_backend() != "cpu" or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(arrays)):
                return self._within(*arrays)
            try:
                return self._alone(*arrays)
            except jax.errors.JaxRuntimeError as error:
                if _NOT_AN_OPTION not in str(error):
                    raise
            self._alone = self._within  # this release of XLA has one way only
            return self._within(*arrays)

    def clear_cache(self) -> None:
        """Lets its programs go."""
        self._within.clear_cache()
        self._alone.clear_cache()

    def lower(self, *arrays: Any) -> Any:
        """As that of ``jax.jit``, for what the program needs of memory and operations."""
        return self._alone.lower(*arrays)


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
