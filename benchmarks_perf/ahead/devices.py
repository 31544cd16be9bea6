"""The accelerators that programs are compiled for, and what they can do at best."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """Rates of one chip, for products in float32 at the highest precision.

    Attributes:
        name: as people know it.
        platform: what JAX calls its kind: ``"gpu"`` or ``"tpu"``.
        lowered_as: what JAX's lowering calls it.
        compiler: the package on PyPI that compiles for it.
        product_flops_s: multiplications and additions of matrix products.
        element_flops_s: operations on single numbers.
        memory_bytes_s: of the memory that arrays lie in.
        launch_s: what a kernel takes at the least.
        read_s: the time for which the device stands still where the host reads a value to decide what comes next; 0
            where the device decides by itself.
        memory_bytes: of the chip.
        by_digits_from: of how many numbers on XLA leaves the sort of one vector to a library that sorts by digits;
            None where there is none.
        source: of these numbers.
    """

    name: str
    platform: str
    lowered_as: str
    compiler: str
    product_flops_s: float
    element_flops_s: float
    memory_bytes_s: float
    launch_s: float
    read_s: float
    memory_bytes: float
    by_digits_from: int | None
    source: str

    @property
    def rates(self) -> Mapping[str, Mapping[str, object]]:
        """As `benchmarks_perf.rates.measure` gives those of a machine that is here."""
        return {
            "gemm_flops_s": {"float32": {"jax": self.product_flops_s}},
            "memory_bytes_s": {"jax": self.memory_bytes_s},
        }


DEVICES: Mapping[str, Device] = {
    "cuda": Device(
        name="NVIDIA H100 SXM",
        platform="gpu",
        lowered_as="cuda",
        compiler="jax-cuda12-plugin",
        product_flops_s=67e12,
        element_flops_s=33.5e12,
        memory_bytes_s=3.35e12,
        launch_s=2.5e-6,
        read_s=10e-6,
        memory_bytes=80e9,
        by_digits_from=22_000,
        source="NVIDIA H100 datasheet (67 TFLOP/s in FP32, a multiplication with its addition counted as two; 3.35 "
        "TB/s); 2.5 µs a launch and 10 µs a read are usual values, not measured here; sorts by digits: XLA's own rule "
        "for this device",
    ),
    "tpu": Device(
        name="TPU v5e",
        platform="tpu",
        lowered_as="tpu",
        compiler="libtpu",
        # A product in float32 at highest precision is six in bfloat16.
        product_flops_s=197e12 / 6,
        # Four units of 8 x 128 lanes at 1.5 GHz.
        element_flops_s=6.1e12,
        memory_bytes_s=819e9,
        launch_s=1e-6,
        read_s=0.0,
        memory_bytes=16e9,
        by_digits_from=None,
        source="Google Cloud's TPU v5e page (197 TFLOP/s in bfloat16, 819 GB/s); 1 µs an operation is a usual value, "
        "not measured here",
    ),
}
"""By the name of the plugin that compiles for it."""
