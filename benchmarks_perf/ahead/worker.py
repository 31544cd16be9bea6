"""One program compiled in a process of its own: ``python -m benchmarks_perf.ahead.worker pls tpu 16``.

Writes what was counted as one line of JSON. It runs in the environment of the platform's compiler, which the device
itself need not have; the compiled text goes to the folder of a fourth argument.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from bsjax.engine.programs.compilation import options
from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.engine.programs.platforms import traced_for

from .counts import counted
from .devices import DEVICES, Device
from .programs import programs

_H100 = Path(__file__).with_name("h100.txtpb")

# Which of its own products are faster than those of the library, XLA can only try on the device; some of them do not
# compile untried.
_OPTIONS = {"gpu": {"xla_gpu_enable_triton_gemm": False}}


def topology(plugin: str) -> Any:
    """One chip, or a board of the fewest, to compile for."""
    if plugin == "tpu":
        return topologies.get_topology_desc("v5e:2x2", platform="tpu")
    return topologies.get_topology_desc("h100", platform="cuda", topology="1x1x1", target_config=_H100.read_text())


def compiled(function: Callable[..., Any], shapes: Mapping[str, Any], device: Device, chip: Any) -> tuple[Any, dict]:
    """A compiled function of arrays by name, and how long tracing and compiling took."""
    here = SingleDeviceSharding(chip)
    start = time.perf_counter()
    with traced_for(device.platform):
        traced = jax.jit(without_fallbacks(function), in_shardings=here, out_shardings=here).trace(shapes)
        lowered = traced.lower(lowering_platforms=(device.lowered_as,))
        traced_at = time.perf_counter()
        busy = time.process_time()
        made = lowered.compile(compiler_options=(options(device.platform) or {}) | _OPTIONS.get(device.platform, {}))
    seconds = {
        "trace_s": traced_at - start,
        "compile_s": time.perf_counter() - traced_at,
        "compile_cpu_s": time.process_time() - busy,
    }
    return made, seconds


def measured(function: Callable[..., Any], shapes: Mapping[str, Any], plugin: str) -> tuple[dict[str, Any], str]:
    """Everything that is kept of a program, and its text."""
    device = DEVICES[plugin]
    made, seconds = compiled(function, shapes, device, topology(plugin).devices[0])
    memory, text = made.memory_analysis(), made.as_text()
    sizes = {
        "code_bytes": memory.generated_code_size_in_bytes or None,  # CUDA's compiler does not say
        "text_bytes": len(text),
        "argument_bytes": memory.argument_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
    }
    compiler = f"{device.compiler} {version(device.compiler)}"
    return {**seconds, **sizes, **counted(text, device), "compiler": compiler}, text


def main(name: str, plugin: str, layers: str, folder: str = "") -> None:
    """Compiles one program and writes what was found."""
    function, shapes = programs()[name].at(int(layers))
    found, text = measured(function, shapes, plugin)
    if folder:
        Path(folder, f"{name.replace(' ', '_')}.{plugin}.{layers}.hlo").write_text(text)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
