"""Rates of this machine, measured once and kept, by which the time of a program is predicted from its steps."""

import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.core.files import as_json, cache_dir, write_atomically
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.programs.operations import Step, steps
from bsjax.engine.programs.platforms import default_device, default_platform

Rates = Mapping[str, float]
"""Operations per second by kind of step and dtype, such as ``"product float64"``, and ``"memory"``, bytes per second"""

_SIDE, _SORTED, _COPIED = 768, 1 << 18, 1 << 24
_REPEATS = 4
FILE = "rates.json"
"""Where rates are kept, in ``$BSJAX_HOME``."""


def machine_rates() -> Rates:
    """The rates of this machine and device, from ``rates.json`` in ``$BSJAX_HOME``.

    They are measured, within about two seconds, and kept there if the file has none for this processor, number of
    cores, device and release of JAX. Other work on the machine during the measurement makes them too low.

    Raises:
        OSError: the file cannot be written.
    """
    path, key = cache_dir() / FILE, machine_name()
    known = json.loads(path.read_bytes()) if path.exists() else {}
    if key not in known:
        known[key] = measured_rates()
        write_atomically(path, as_json(known, indent=1))
    return known[key]


def seconds_of(taken: Iterable[Step], rates: Rates) -> float:
    """The seconds of steps: each takes as long as its operations or its memory traffic, whichever is longer.

    Example:
        >>> product = Step("product", "float32", operations=2e9, moved=1e6, times=3)
        >>> seconds_of([product], {"product float32": 1e9, "memory": 1e9})
        6.0
    """
    return sum(
        step.times * max(step.operations / rates.get(f"{step.kind} {step.dtype}", np.inf), step.moved / rates["memory"])
        for step in taken
    )


def measured_rates() -> dict[str, float]:
    """Measures the rates: the best of four calls each, on square matrices of 768 rows and arrays of 64 MB."""
    rates = {}
    rng = np.random.default_rng(0)
    for name in ("float32",) if default_platform() == "tpu" else ("float64", "float32"):
        with precision(name) as dtype:
            x = jnp.asarray(rng.standard_normal((_SIDE, _SIDE)), dtype)
            matrix, line = x @ x.T + _SIDE * jnp.eye(_SIDE, dtype=dtype), jnp.asarray(rng.random(_SORTED), dtype)
            for kernel, given in (
                (jnp.dot, (x, x)), (jnp.linalg.cholesky, (matrix,)), (jnp.linalg.eigh, (matrix,)), (jnp.sort, (line,))
            ):  # fmt: skip
                program = compiled(kernel)
                [step] = [each for each in steps(jax.make_jaxpr(kernel)(*given).jaxpr) if each.kind]
                rates[f"{step.kind} {name}"] = step.operations / fastest(lambda p=program, a=given: p(*a))
            host = np.asarray(line)
            rates["host sort int32"] = _SORTED * np.log2(_SORTED) / fastest(lambda a=host: np.argsort(a))
    rates["memory"] = memory_rate()
    return {name: float(rate) for name, rate in rates.items()}


def memory_rate(n: int = _COPIED) -> float:
    """Bytes per second that JAX reads and writes in adding 1 to ``n`` numbers of float32, in place.

    A new array would cost the system's zeroing of its pages as well.
    """
    with precision("float32"):
        held, add = [jnp.zeros(n)], jax.jit(lambda a: a + 1, donate_argnums=0)

        def add_in_place() -> jax.Array:
            held.append(add(held.pop()))
            return held[0]

        return 2 * 4 * n / fastest(add_in_place)


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of a few calls, after one that compiles."""
    seconds = []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def machine_name() -> str:
    """What the rates depend on, in words: processor, cores, device and release of JAX."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {default_device().device_kind}, JAX {jax.__version__}"


def _processor() -> str:
    """The name of the processor."""
    told = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", told.read_text(), re.MULTILINE) if told.exists() else None
    return found[1] if found else platform.processor()
