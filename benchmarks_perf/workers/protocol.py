"""The worker's side of the pipe: reads a JSON request a line, answers each with a line.

It runs in every contestant's own environment, and so needs nothing but NumPy.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Inputs = dict[str, dict[str, Any]]
"""Name -> ``{"values", "dims", "coords"}`` of a labelled array, with ``coords`` name -> (dimension, labels)."""

METRICS = (
    *("pls", "ridge", "linear_predictivity", "neuron_to_neuron", "cka", "rdm"),
    *("ridgecv_split", "internal_consistency", "i2n", "spantime_ridge"),
)
"""The metrics that bsjax and brainscore-vision both know by these names."""

Build = Callable[..., Callable[[], Any]]
"""``build(inputs, **options)`` prepares, off the clock, and returns the function that is timed."""


def read(path: str) -> Inputs:
    """The labelled arrays that `benchmarks_perf.data.write` wrote, in its order."""
    inputs: Inputs = {}
    with np.load(path) as stored:
        for key in stored.files:
            name, *rest = key.split("/")
            array = inputs.setdefault(name, {"coords": {}})
            if len(rest) == 2:
                array["coords"][rest[1]] = (rest[0], stored[key])
            else:
                array["dims" if rest else "values"] = stored[key].tolist() if rest else stored[key]
    return inputs


def serve(
    tasks: dict[str, Build],
    answer: Callable[[Any], dict[str, Any]],
    packages: Sequence[str],
    waited: Callable[[Any], Any] = lambda value: value,
    devices: Sequence[str] = (),
) -> None:
    """Answers until the pipe closes.

    Args:
        tasks: by name.
        answer: makes ``{"score": ..., "raw": ...}`` of what a task's function returned, off the clock.
        packages: whose versions are told.
        waited: waits for a result that is still being computed, on the clock.
        devices: the kinds of accelerators that it computes on.
    """
    # What the libraries print must not mix with the answers: they keep the pipe, everything else goes to the log.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    call: Callable[[], Any] = lambda: None  # noqa: E731 - until a task is built
    value = None
    for line in sys.stdin:
        request = json.loads(line)
        said: Any = {}
        if request["do"] == "versions":
            said = {package: version(package) for package in packages}
        elif request["do"] == "devices":
            said = list(devices)
        elif request["do"] == "build":
            call = tasks[request["task"]](read(request["path"]), **request["options"])
        elif request["do"] == "call":
            value = None  # not held during the next call, whose memory is measured
            value, said = measured(lambda call=call: waited(call()), request["trim"])
        elif request["do"] == "answer":
            np.savez(request["path"], **answer(value))
        print(json.dumps(said), file=pipe, flush=True)


def measured(call: Callable[[], Any], trim: bool) -> tuple[Any, dict[str, Any]]:
    """The value of ``call``, its wall time, and by how much the process's memory rose at most meanwhile.

    Args:
        call: what is measured.
        trim: first give back what earlier calls left in the allocator's pools, which would hide memory that this
            call needs. The pages must then be taken anew, so that small calls are slower: not for calls whose time
            counts.
    """
    if trim and sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
    before = _restart_peak()
    start = time.perf_counter()
    value = call()
    seconds = time.perf_counter() - start
    peak = None if before is None else max(_status("VmHWM") - before, 0)
    return value, {"seconds": seconds, "peak_bytes": peak}


def _restart_peak() -> int | None:
    """Makes the peak that Linux keeps what the process holds now, and returns that; None on other systems."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return None


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
