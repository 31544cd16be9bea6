"""What the machine can do at best: rates of matrix products and of memory, which the floors divide by.

``python -m benchmarks_perf.rates`` measures them and writes a line of JSON.
"""

import json
import os
import subprocess
import sys
from functools import partial
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
    command, env = [sys.executable, "-m", __spec__.name], {**os.environ, **ON_A_SHARED_DEVICE}
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=env)
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
    products = {}
    for name in ("float64", "float32") if on_cpu else ("float32",):
        with precision(name) as dtype:
            x = np.random.default_rng(0).standard_normal((_SIDE, _SIDE)).astype(dtype)
            seconds = {"jax": fastest(partial(_product, *[jnp.asarray(x)] * 2))}
            seconds |= {"numpy": fastest(partial(np.dot, x, x))} if on_cpu else {}
            products[name] = {by: 2 * _SIDE**3 / s for by, s in seconds.items()}
    memory = {"jax": memory_rate(_COPIED)}
    if on_cpu:
        source, out = np.zeros((2, _COPIED), np.float32)
        memory["numpy"] = 2 * source.nbytes / fastest(partial(np.add, source, 1, out=out))
    return {"gemm_flops_s": products, "memory_bytes_s": memory}


if __name__ == "__main__":
    print(json.dumps(measure()))
