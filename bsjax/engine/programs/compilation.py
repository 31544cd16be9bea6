"""Compiled kernels, traced once for each shape, dtype and static setting, and the compiler options."""

from __future__ import annotations

import copy
import math
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from functools import cache, lru_cache
from itertools import count
from typing import Any
from weakref import WeakSet

import jax

from bsjax.core.memory import give_back_free_memory
from bsjax.engine.jax_names import get_opaque_trace_state, jaxprs_in_params
from bsjax.engine.programs.dry_runs import DryRun, hollow, running_dry
from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.engine.programs.forks import refuse_after_fork
from bsjax.engine.programs.operations import HOST_CALL, steps
from bsjax.engine.programs.platforms import Platform, platform, traced_for

# On a CPU, the older of XLA's two emitters of fused loops, at a lower optimisation level, compiles these programs in
# half the time. They run no slower, because most of their work is in precompiled matrix products.
# The default of 32 parts for parallel compilation makes programs of some hundred loops compile a sixth slower than 8.
# The memory-optimised scheduler minimises peak memory; the default order increases concurrency, from which products on
# all cores do not benefit.
# On a TPU, a lower effort compiles large full-precision products in a quarter of the time. By the compiler's estimate,
# CKA then runs a fifth longer, and PLS a third.
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

# Measured on CPUs: XLA's libraries for sums and products need up to twice the size of the arguments and a quarter of
# the temporary arrays in addition to XLA's plan. NumPy calls within a program need up to three times the size of their
# inputs and outputs in addition to these.
_ARGUMENTS, _TEMPORARY, _IN_NUMPY = 3, 1.25, 4
# Arrays of a program are laid out around those of its fallbacks. Half of what these add (0.44 to 0.57 in large ridge
# regressions) is never touched, and takes no memory, if no fallback runs. Small programs are not compiled again for it.
_UNTOUCHED, _LARGE = 0.5, 2**28

# Each program takes about 10 MB, and up to 400 of the 65,530 memory maps that Linux allows a process by default.
_MOST_KEPT = 40
MOST_KEPT = "BSJAX_COMPILED_PROGRAMS"
"""Environment variable for the number of compiled programs that a process keeps."""

_programs: WeakSet[Program] = WeakSet()
_counters: list[Counter[str]] = []
_calls = count()
_unchecked: list[str] = []
"""Kernels traced since the last check of the number of programs."""


def compiled(kernel: Callable[..., Any], **settings: Any) -> Program:
    """Compiles ``kernel`` with fixed ``settings``; returns the same object for the same kernel and settings.

    A process keeps 40 compiled programs, one per shape, or as many as ``$BSJAX_COMPILED_PROGRAMS`` says. If there are
    more, the programs of the least recently called kernels are dropped, and compiled again when needed.

    Args:
        kernel: a pure function of arrays.
        settings: hashable keyword arguments that are not arrays, e.g. ``mapping=Ridge()``. The leaves of registered
            dataclasses, such as a penalty, are passed to the program at each call, so other values need no new program.

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
    """Context manager that counts how often each kernel is traced, and therefore compiled, within the block.

    A kernel is traced for shapes, dtypes and settings that are new to the process. A count of zero on a second call
    means that the program of the first call was reused.

    Yields:
        Name of the kernel -> number of traces, updated until the end of the block.

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
    """Drops the programs of the least recently called kernels while there are too many."""
    most, kept = int(os.environ.get(MOST_KEPT, _MOST_KEPT)), sum(program.use.shapes for program in _programs)
    if kept <= most:
        return
    for program in sorted(_programs, key=lambda program: program.use.last_call):
        if kept <= most:
            break
        kept -= program.use.shapes
        program.clear_cache()
    give_back_free_memory()


def _of_settings(kernel: Callable[..., Any], **settings: Any) -> Program:
    with_leaves = {name: setting for name, setting in settings.items() if _has_leaves(setting)}
    leaves, structure = jax.tree.flatten(with_leaves)
    fixed = {name: setting for name, setting in settings.items() if name not in with_leaves}
    program = _jitted(kernel, structure, **fixed)
    return program.with_leaves(leaves) if leaves else program


# Enough for a parameter sweep; evicting an entry here drops no compiled program.
_known = lru_cache(1024)(_of_settings)


@cache
def _jitted(kernel: Callable[..., Any], structure: Any, **fixed: Any) -> Program:
    name = getattr(kernel, "__name__", type(kernel).__name__)

    def call(leaves: list[Any], *arrays: Any) -> Any:
        # Python runs this once per program, while JAX traces it.
        _unchecked.append(name)
        for counted in _counters:
            counted[name] += 1
        return kernel(*arrays, **fixed, **jax.tree.unflatten(structure, leaves))

    def call_without_leaves(*arrays: Any) -> Any:
        return call([], *arrays)

    function = call if structure.num_leaves else call_without_leaves
    function.__name__ = name  # shown in JAX's profiles and messages
    return Program(function)


def _has_leaves(setting: Any) -> bool:
    return is_dataclass(setting) and bool(jax.tree.leaves(setting)) and not jax.tree_util.all_leaves([setting])


@dataclass
class Use:
    """Use of a program and of its copies with leaves: the number of compiled shapes, and its place among all calls."""

    shapes: int = 0
    last_call: int = 0


class Program:
    """``jax.jit(function)`` with faster compilation; if called during the tracing of another program, a part of that.

    On an accelerator, a program with fallbacks (see ``engine.programs.fallbacks``) is first compiled without them. A
    flag read from the device after each call tells whether a fallback was needed; only then is the program compiled
    with fallbacks and run again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._within: Any = jax.jit(function)
        self._alone: dict[tuple[Platform, bool], Any] = {}
        self._needed: dict[Any, int] = {}
        self._leaves: tuple[Any, ...] = ()
        self.use = Use()
        _programs.add(self)

    def with_leaves(self, leaves: Any) -> Program:
        """The same program, with ``leaves`` passed to its function before the arrays of each call."""
        bound = copy.copy(self)
        bound._leaves = (leaves,)
        return bound

    def __call__(self, *arrays: Any) -> Any:
        """``function(*arrays)``."""
        if _is_traced():
            return self._within(*self._leaves, *arrays)  # JAX uses only the options of the outermost program
        if (noted := running_dry()) is not None:
            return self._run_dry(noted, arrays)
        if (on := platform()) != "cpu":
            error, result = self._use(operator.call, on, arrays, fallbacks=False)
            if error is None or jax.device_get(error).get() is None:
                return result
        return self._use(operator.call, on, arrays)

    def _run_dry(self, noted: DryRun, arrays: Sequence[Any]) -> Any:
        """Notes what a call would do, and returns hollow results."""
        takes, traced = self._use(_planned, on := platform(), arrays, fallbacks=on == "cpu")
        made = jax.tree.map(lambda result: hollow(result.shape, result.dtype), traced.out_info)
        if on == "cpu" and takes > _LARGE:
            less = self._use(_planned_without_fallbacks, on, arrays, fallbacks=False)
            takes -= 0 if less is None else math.ceil(_UNTOUCHED * (takes - less))
            del self._alone[on, False]
        noted.programs = max(noted.programs, takes)
        noted.steps += steps(traced.jaxpr.jaxpr)
        return made if on == "cpu" else made[1]

    def bytes_needed(self, *arrays: Any) -> int:
        """Upper bound of the bytes of memory that a call needs, in addition to the arrays passed to it.

        The program is compiled, but not run; a later call reuses it.

        Args:
            arrays: as for a call; any of them may be a ``jax.ShapeDtypeStruct``.

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
        """Drops its compiled programs."""
        self.use.shapes = 0
        for program in (self._within, *self._alone.values()):
            program.clear_cache()

    def lower(self, *arrays: Any) -> Any:
        """As ``jax.jit(...).lower``, to inspect the memory and operations that the program needs."""
        return self._use(lambda program, *arguments: program.lower(*arguments), platform(), arrays)

    def _use(self, use: Callable[..., Any], on: Platform, arrays: Sequence[Any], *, fallbacks: bool = True) -> Any:
        """Applies ``use`` to the program for a platform; one without fallbacks returns an error and a result."""
        # Arguments on the host, such as labels and settings, are transferred under any transfer guard of the user.
        key = on, fallbacks
        self.use.last_call = next(_calls)
        if key not in self._alone:
            self._alone[key] = self._compiled_with(options(on), fallbacks)
        with traced_for(on), jax.transfer_guard_host_to_device("allow"):
            try:
                return use(self._alone[key], *self._leaves, *arrays)
            except jax.errors.JaxRuntimeError as error:
                if _NOT_AN_OPTION not in str(error):
                    raise
            self._alone[key] = self._compiled_with(None, fallbacks)  # this release of XLA lacks the options
            return use(self._alone[key], *self._leaves, *arrays)

    def _compiled_with(self, options: dict[str, Any] | None, fallbacks: bool) -> Any:
        function = self._function if fallbacks else without_fallbacks(self._function)

        def counted(*arrays: Any) -> Any:
            self.use.shapes += 1  # while JAX traces it
            return function(*arrays)

        counted.__name__ = self._function.__name__
        return jax.jit(counted, compiler_options=options)


def _is_traced() -> bool:
    """Whether JAX is tracing, so that a called program becomes part of the trace, even with concrete arrays."""
    return get_opaque_trace_state(convention="nnx") != _NOTHING_IS_TRACED


with jax.ensure_compile_time_eval():  # this module may be imported during tracing
    _NOTHING_IS_TRACED = get_opaque_trace_state(convention="nnx")


def options(platform: Platform) -> dict[str, Any] | None:
    """Compiler options for a platform, without those that the user has set by ``XLA_FLAGS``; None if there are none."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in _OPTIONS.get(platform, {}).items() if f"--{name}=" not in flags} or None


def _needed(program: Any, *arguments: Any) -> int:
    traced = program.trace(*arguments)
    plan = traced.lower().compile().memory_analysis()
    if platform() != "cpu":
        return plan.argument_size_in_bytes + plan.temp_size_in_bytes + plan.output_size_in_bytes
    planned = _ARGUMENTS * plan.argument_size_in_bytes + _TEMPORARY * plan.temp_size_in_bytes
    in_numpy = _IN_NUMPY * max(_exchanged(traced.jaxpr.jaxpr), default=0)
    return math.ceil(planned + plan.output_size_in_bytes + in_numpy)


def _planned(program: Any, *arguments: Any) -> tuple[int, Any]:
    """The bytes that a call is planned to take, and the traced program."""
    traced = program.trace(*arguments)
    plan = traced.lower().compile().memory_analysis()
    takes = plan.argument_size_in_bytes + plan.temp_size_in_bytes + plan.output_size_in_bytes
    return takes + max(_exchanged(traced.jaxpr.jaxpr), default=0), traced


def _planned_without_fallbacks(program: Any, *arguments: Any) -> int | None:
    """The bytes of a program that returns an error and a result; None if it has no fallbacks, so no error."""
    return None if program.trace(*arguments).out_info[0] is None else _planned(program, *arguments)[0]


def _exchanged(jaxpr: Any) -> Iterator[int]:
    """Bytes of the inputs and outputs of each NumPy call within a program."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == HOST_CALL:
            yield sum(v.aval.size * v.aval.dtype.itemsize for v in (*equation.invars, *equation.outvars))
        for inner in jaxprs_in_params(equation.params):
            yield from _exchanged(inner)
