"""What the machine can do at best: rates of matrix products and of memory, which the floors divide by.

``python -m benchmarks_perf.rates`` measures them and writes a line of JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.precision import precision

ON_A_SHARED_DEVICE = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Environment variables with which a process takes no more of an accelerator's memory than it needs."""

_SIDE = 2048
_COPIED = 1 << 25
_REPEATS = 4

_product = jax.jit(jnp.dot)


def apart() -> dict[str, Any]:
    """`measure` in a process of its own, which leaves the device to those that come after it."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, **ON_A_SHARED_DEVICE},
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure() -> dict[str, Any]:
    """Measures in a few seconds; the best of several repeats counts, as everything else that runs makes it slower.

    Products are square, of 2048 rows. Memory is measured by adding 1 to an array far beyond the caches: it is read and
    written once. NumPy is measured beside JAX on a CPU, where kernels may call it; on an accelerator JAX alone,
    in float32.

    Returns:
        ``{"gemm_flops_s": {dtype: {"jax", "numpy"}}, "memory_bytes_s": {"jax", "numpy"}}``.
    """
    on_cpu = jax.default_backend() == "cpu"
    found: dict[str, Any] = {"gemm_flops_s": {}, "memory_bytes_s": {}}
    for name in ("float64", "float32") if on_cpu else ("float32",):
        with precision(name) as dtype:
            x = np.random.default_rng(0).standard_normal((_SIDE, _SIDE)).astype(dtype)
            on_device = jnp.asarray(x)
            seconds = {"jax": _best(lambda y=on_device: _product(y, y))}
            if on_cpu:
                seconds["numpy"] = _best(lambda y=x: y @ y)
            found["gemm_flops_s"][name] = {by: 2 * _SIDE**3 / s for by, s in seconds.items()}
    with precision("float32"):
        # In place: an array that is new would cost the system's zeroing of its pages as well.
        held, add = [jnp.zeros(_COPIED, jnp.float32)], jax.jit(lambda a: a + 1, donate_argnums=0)

        def add_in_place() -> jax.Array:
            held.append(add(held.pop()))
            return held[0]

        seconds = {"jax": _best(add_in_place)}
        if on_cpu:
            source, out = np.zeros(_COPIED, np.float32), np.zeros(_COPIED, np.float32)
            seconds["numpy"] = _best(lambda: np.add(source, 1, out=out))
        found["memory_bytes_s"] = {by: 2 * 4 * _COPIED / s for by, s in seconds.items()}
    return found


def _best(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of several calls, after one that compiles."""
    seconds = []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


if __name__ == "__main__":
    print(json.dumps(measure()))
