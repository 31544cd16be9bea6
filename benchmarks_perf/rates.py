"""What the machine can do at best: rates of matrix products and of memory, which the floors divide by.

``python -m benchmarks_perf.rates`` measures them and writes a line of JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.precision import precision
from bsjax.engine.rates import fastest, memory_rate

ON_A_SHARED_DEVICE = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Environment variables with which a process takes no more of an accelerator's memory than it needs."""

_SIDE = 2048
_COPIED = 1 << 25

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
            seconds = {"jax": fastest(lambda y=on_device: _product(y, y))}
            if on_cpu:
                seconds["numpy"] = fastest(lambda y=x: y @ y)
            found["gemm_flops_s"][name] = {by: 2 * _SIDE**3 / s for by, s in seconds.items()}
    found["memory_bytes_s"] = {"jax": memory_rate(_COPIED)}
    if on_cpu:
        source, out = np.zeros(_COPIED, np.float32), np.zeros(_COPIED, np.float32)
        found["memory_bytes_s"]["numpy"] = 2 * 4 * _COPIED / fastest(lambda: np.add(source, 1, out=out))
    return found


if __name__ == "__main__":
    print(json.dumps(measure()))
