"""Compiled kernels: each is traced once for each shape, dtype and setting, and reused. The compiler's settings."""

from __future__ import annotations

import copy
import math
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import cache, lru_cache, partial
from itertools import count
from typing import Any
from weakref import WeakSet

import jax

from bsjax.core.memory import give_back_free_memory
from bsjax.engine.jax_names import get_opaque_trace_state, jaxprs_in_params
from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.engine.programs.forks import refuse_after_fork
from bsjax.engine.programs.platforms import LOWERED_AS, Platform, platform, traced_for

# On a CPU the older of XLA's two ways to write fused loops, optimised less, compiles these programs in half the time
# that the newer takes. They run no slower: most of what they do is in matrix products, which are compiled already.
# Cut in 32 parts to be compiled side by side, as by default, programs of some hundred loops take a sixth longer.
# What is in memory at a time is as little as XLA knows to make it; the order that it prefers lets more run side by
# side, which products on all cores gain nothing from.
# On a TPU a lesser effort compiles large products of all digits in a quarter of the time. By the compiler's own count
# CKA takes a fifth longer then, and PLS a third.
_OPTIONS: dict[str, dict[str, Any]] = {
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 1,
        "xla_cpu_parallel_codegen_split_count": 8,
        "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
    },
    "tpu": {"exec_time_optimization_effort": -0.5},
}
_NOT_AN_OPTION = "No such compile option"

# Measured on CPUs: what XLA's libraries for sums and products hold beside what XLA plans, which is up to two more
# arrays of the size of the arguments and a quarter of the temporary ones. NumPy within a program takes up to three
# times as much as it is given and gives back, besides that.
_ARGUMENTS, _TEMPORARY, _IN_NUMPY = 3, 1.25, 4
_HOST_CALL = "host_call"

# Each takes some 10 MB, and up to 400 memory maps of the 65,530 that Linux allows a process by default.
_MOST_KEPT = 40
MOST_KEPT = "BSJAX_COMPILED_PROGRAMS"
"""Variable of how many compiled programs a process keeps."""

_programs: WeakSet[Program] = WeakSet()
_counters: list[Counter[str]] = []
_calls = count()
_unchecked: list[str] = []
"""Kernels traced since the programs were counted."""


def compiled(kernel: Callable[..., Any], **settings: Any) -> Program:
    """``kernel`` with its ``settings`` fixed, compiled; the same object for the same kernel and settings.

    A process keeps 40 compiled programs, one for each shape, or as many as ``$BSJAX_COMPILED_PROGRAMS`` says. Beyond
    that the kernels that were called least recently lose theirs, which are compiled again when they are needed.

    Args:
        kernel: a pure function of arrays.
        settings: keyword arguments that are not arrays, e.g. ``mapping=Ridge()``; hashable. The leaves of those that
            are registered dataclasses, such as a penalty, are given to the program when it is called: other numbers
            take no other program.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import Ridge, pearson, train_test
        >>> compiled(pearson) is compiled(pearson)
        True
        >>> x = jnp.arange(12.0).reshape(6, 2) ** 2
        >>> with traces() as counted:
        ...     for alpha in (1.0, 10.0):
        ...         r = compiled(train_test, mapping=Ridge(alpha))(x, x, x, x)
        >>> counted["train_test"]
        1
    """
    refuse_after_fork()
    if _unchecked:
        _unchecked.clear()
        _evict()
    try:
        return _known(kernel, **settings)
    except TypeError:  # traced numbers cannot be looked up
        return _of_settings(kernel, **settings)


@contextmanager
def traces() -> Iterator[Counter[str]]:
    """Counts how often each kernel is traced within a block, which is how often it is compiled.

    A kernel is traced for shapes, dtypes and settings that are new to the process. Where the count stays at zero on a
    second call, the first one's program was used again.

    Returns:
        Name of the kernel -> number of traces; it counts on until the end of the block.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import pearson
        >>> with traces() as counted:
        ...     for _ in range(2):
        ...         r = compiled(pearson)(jnp.ones((7, 3)), jnp.ones((7, 3)))
        >>> counted["pearson"]
        1
    """
    counted: Counter[str] = Counter()
    _counters.append(counted)
    try:
        yield counted
    finally:
        _counters[:] = [other for other in _counters if other is not counted]


def _evict() -> None:
    """Lets the programs of the kernels that were called least recently go, while there are too many."""
    most, kept = int(os.environ.get(MOST_KEPT, _MOST_KEPT)), sum(program.shapes for program in _programs)
    if kept <= most:
        return
    for program in sorted(_programs, key=lambda program: program.last_call):
        if kept <= most:
            break
        kept -= program.shapes
        program.clear_cache()
    give_back_free_memory()


def _of_settings(kernel: Callable[..., Any], **settings: Any) -> Program:
    with_leaves = {name: setting for name, setting in settings.items() if _has_leaves(setting)}
    leaves, structure = jax.tree.flatten(with_leaves)
    fixed = {name: setting for name, setting in settings.items() if name not in with_leaves}
    program = _jitted(kernel, structure, **fixed)
    return program.with_leaves(leaves) if leaves else program


# As many as a sweep may have; programs themselves are never forgotten here.
_known = lru_cache(1024)(_of_settings)


@cache
def _jitted(kernel: Callable[..., Any], structure: Any, **fixed: Any) -> Program:
    name = getattr(kernel, "__name__", type(kernel).__name__)

    def call(leaves: list[Any], *arrays: Any) -> Any:
        # Python runs this once for each program: while JAX traces it.
        _unchecked.append(name)
        for counted in _counters:
            counted[name] += 1
        return kernel(*arrays, **fixed, **jax.tree.unflatten(structure, leaves))

    def call_without_leaves(*arrays: Any) -> Any:
        return call([], *arrays)

    function = call if structure.num_leaves else call_without_leaves
    function.__name__ = name  # what profiles and messages of JAX say
    return Program(function)


def _has_leaves(setting: Any) -> bool:
    return is_dataclass(setting) and bool(jax.tree.leaves(setting)) and not jax.tree_util.all_leaves([setting])


class Program:
    """``jax.jit(function)``, compiled in less time; called while JAX traces something else, it becomes part of that.

    On an accelerator one with fallbacks (see ``engine.fallbacks``) is compiled without them, and with them once they
    are needed: after each call a truth value is read from the device, which says so.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._within: Any = jax.jit(function)
        self._alone: dict[tuple[Platform, bool], Any] = {}
        self._needed: dict[Any, int] = {}
        self._leaves: tuple[Any, ...] = ()
        self._use_of = _Use()
        _programs.add(self)

    @property
    def shapes(self) -> int:
        """For how many shapes it is compiled."""
        return self._use_of.shapes

    @property
    def last_call(self) -> int:
        """The number of its last call among those of all programs."""
        return self._use_of.last_call

    def with_leaves(self, leaves: Any) -> Program:
        """The same program, whose function gets this before the arrays of each call."""
        bound = copy.copy(self)
        bound._leaves = (leaves,)
        return bound

    def __call__(self, *arrays: Any) -> Any:
        """``function(*arrays)``."""
        if _is_traced():
            return self._within(*self._leaves, *arrays)  # JAX takes options from the outermost program alone
        if (on := platform()) != "cpu":
            error, result = self._use(operator.call, on, arrays, fallbacks=False)
            if error is None or jax.device_get(error).get() is None:
                return result
        return self._use(operator.call, on, arrays)

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
        placements = [leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) else None for leaf in leaves]
        key = (on := platform()), structure, *[(leaf.shape, leaf.dtype) for leaf in leaves], *placements
        if key not in self._needed:
            self._needed[key] = self._use(_needed, on, arrays, fallbacks=on == "cpu")
        return self._needed[key]

    def clear_cache(self) -> None:
        """Lets its programs go."""
        self._use_of.shapes = 0
        for program in (self._within, *self._alone.values()):
            program.clear_cache()

    def lower(self, *arrays: Any) -> Any:
        """As that of ``jax.jit``, for what the program needs of memory and operations."""
        return self._use(_lowered, platform(), arrays)

    def lower_for(self, name: Platform, *arrays: Any, fallbacks: bool = False) -> Any:
        """``lower`` for a platform that need not be here.

        Args:
            name: what it is to run on.
            arrays: as for a call, or ``jax.ShapeDtypeStruct`` in the place of any.
            fallbacks: the program with its fallbacks, which an accelerator runs where the one without has failed.
        """
        return self._use(partial(_lowered, name=name), name, arrays, fallbacks=fallbacks)

    def _use(self, use: Callable[..., Any], on: Platform, arrays: Sequence[Any], *, fallbacks: bool = True) -> Any:
        """What ``use`` makes of the program for this platform; without fallbacks that gives an error and the result.

        What it is given from the host, such as labels and settings, is meant to go to the device, whatever the user's
        guard against transfers says.
        """
        key = on, fallbacks
        self._use_of.last_call = next(_calls)
        if key not in self._alone:
            self._alone[key] = self._compiled_with(options(on), fallbacks)
        with traced_for(on), jax.transfer_guard_host_to_device("allow"):
            try:
                return use(self._alone[key], *self._leaves, *arrays)
            except jax.errors.JaxRuntimeError as error:
                if _NOT_AN_OPTION not in str(error):
                    raise
            self._alone[key] = self._compiled_with(None, fallbacks)  # this release of XLA has one way only
            return use(self._alone[key], *self._leaves, *arrays)

    def _compiled_with(self, options: dict[str, Any] | None, fallbacks: bool) -> Any:
        function = self._function if fallbacks else without_fallbacks(self._function)

        def counted(*arrays: Any) -> Any:
            self._use_of.shapes += 1  # while JAX traces it
            return function(*arrays)

        counted.__name__ = self._function.__name__
        return jax.jit(counted, compiler_options=options)


@dataclass
class _Use:
    """What a program and those that are bound of it share: for how many shapes it is compiled, and its last call."""

    shapes: int = 0
    last_call: int = 0


def _is_traced() -> bool:
    """Whether JAX traces something now, so that what is called becomes part of it, on concrete arrays too."""
    return get_opaque_trace_state(convention="nnx") != _NOTHING_IS_TRACED


with jax.ensure_compile_time_eval():  # this module may be imported while something is traced
    _NOTHING_IS_TRACED = get_opaque_trace_state(convention="nnx")


def options(platform: Platform) -> dict[str, Any] | None:
    """The compiler's settings for a platform, less those that the user has set by ``XLA_FLAGS``."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in _OPTIONS.get(platform, {}).items() if f"--{name}=" not in flags} or None


def _lowered(program: Any, *arguments: Any, name: Platform | None = None) -> Any:
    platforms = None if name is None else LOWERED_AS[name][:1]
    return program.trace(*arguments).lower(lowering_platforms=platforms)


def _needed(program: Any, *arguments: Any) -> int:
    traced = program.trace(*arguments)
    plan = traced.lower().compile().memory_analysis()
    if platform() != "cpu":
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
