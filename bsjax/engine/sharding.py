"""Kernels on several devices, by sharding either repeats or arrays.

Repeats of a computation (folds, subsets, draws, layers) are divided into shares; each device computes its share
independently, with all other arrays replicated. Alternatively, the long axes of the arrays (features, targets, stimuli)
are sharded and XLA partitions the program, with sums reduced across devices.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bsjax.core.context import set_within
from bsjax.engine.programs.compilation import Program
from bsjax.engine.programs.platforms import default_device
from bsjax.engine.transfers import to_host

_AXIS = "devices"


@dataclass(frozen=True)
class Shards:
    """Sharding of a kernel's arrays over devices.

    Attributes:
        axes: for each array, or tree of arrays, the axis to shard (not negative); None to replicate it.
        repeats: axis of all results along which each device computes its share independently, for kernels that repeat a
            computation over the sharded axes. None to let XLA partition the program.
    """

    axes: tuple[int | None, ...]
    repeats: int | None = None


_MESH: ContextVar[Mesh | None] = ContextVar("devices of metrics", default=None)


def use_devices(devices: Sequence[Any] | None = None) -> AbstractContextManager[None]:
    """Context manager in which metrics are computed on several devices.

    What is sharded depends on the metric: features and target neuroids of a regression if columns of zeros have no
    effect, else its folds; neuroids of a ceiling; subsets of a cross-validated similarity; draws of a bootstrap;
    stimuli of CKA, and of RDM similarity with default settings; layers that are scored together. Other computations,
    such as RDMs with another dissimilarity, stay on one device.

    Comparisons of usual size take less than a second on one device, and distributing them takes longer. Several devices
    are for larger comparisons, and are never used by default.

    With ``jax.distributed`` initialised, the devices of all processes are used. Each process must then hold the same
    data, enter the block and make the same calls in the same order; each receives all results.

    Args:
        devices: devices to use; all devices of JAX if None.

    Raises:
        ValueError: ``devices`` is empty.

    Example:
        >>> with use_devices(jax.devices()[:1]):  # score = metric(source, target)
        ...     print(devices_in_use())
        1
    """
    chosen = jax.devices() if devices is None else list(devices)
    if not chosen:
        raise ValueError("no devices to compute on: give some of jax.devices(), or None for all of them")
    return set_within(_MESH, Mesh(np.asarray(chosen), (_AXIS,)))


def local_devices() -> list[Any]:
    """The devices of this process that metrics run on."""
    mesh = _MESH.get()
    ours = [] if mesh is None else [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    return ours or [default_device()]


def devices_in_use() -> int:
    """Number of devices that metrics run on."""
    mesh = _MESH.get()
    return 1 if mesh is None else mesh.size


def sharded(kernel: Program, arrays: Sequence[Any], shards: Shards) -> Any:
    """``kernel(*arrays)`` as NumPy arrays, computed on the devices in use.

    Sharded axes are padded to a multiple of the number of devices. Repeats are padded with copies of the last one,
    whose results are dropped. Other axes are padded with zeros (False), which must have no effect except additional
    results at the end of an axis.

    Args:
        kernel: compiled kernel, always the same object for the same computation (see ``compiled``).
        arrays: its arguments, arrays or trees of arrays, on the host or a device.
        shards: how they are sharded.

    Example:
        >>> double, total = Program(lambda x: x * jnp.asarray(2.0)), Program(lambda x: x.sum())
        >>> three = np.arange(3.0, dtype="float32")
        >>> with use_devices():
        ...     print(sharded(double, [three], Shards((0,), repeats=0)), sharded(total, [three], Shards((0,))))
        [0. 2. 4.] 3.0
    """
    mesh = _MESH.get()
    if mesh is None or mesh.size == 1:
        return to_host(kernel(*arrays))
    repeats = shards.repeats
    filled = "constant" if repeats is None else "edge"
    placed = [_placed(array, mesh, axis, filled) for array, axis in zip(arrays, shards.axes, strict=True)]
    made = jax.tree.map(_gathered, _on_devices(kernel, mesh, shards)(*placed))
    if repeats is None:
        return made
    size = next(_length(array, axis) for array, axis in zip(arrays, shards.axes, strict=True) if axis is not None)
    return jax.tree.map(lambda result: np.moveaxis(result[:size], 0, repeats), made)


def bytes_needed(kernel: Program, arrays: Sequence[Any], shards: Shards | None = None) -> int:
    """Upper bound of the bytes that ``sharded`` needs, of this process's memory or that of each accelerator.

    Args:
        kernel: a compiled kernel.
        arrays: as for ``sharded``; any of them may be a ``jax.ShapeDtypeStruct``.
        shards: as for ``sharded``; None for a plain call on one device.
    """
    mesh = _MESH.get()
    if shards is None or mesh is None or mesh.size == 1:
        return kernel.bytes_needed(*arrays)
    shapes = [_placed_shapes(array, mesh, axis) for array, axis in zip(arrays, shards.axes, strict=True)]
    each = _on_devices(kernel, mesh, shards).bytes_needed(*shapes)
    ours = local_devices()
    return each * (len(ours) if ours[0].platform == "cpu" else 1)


def _length(array: Any, axis: int) -> int:
    return jax.tree.leaves(array)[0].shape[axis]


def _placed(array: Any, mesh: Mesh, axis: int | None, filled: Literal["edge", "constant"]) -> Any:
    """Places arrays from the host or a device on all devices, replicated or sharded along ``axis``."""

    def place(values: Any) -> jax.Array:
        if not isinstance(values, jax.Array):
            values = np.asarray(values)
        if axis is not None and values.shape[axis] % mesh.size:
            widths = [(0, -values.shape[axis] % mesh.size if dim == axis else 0) for dim in range(values.ndim)]
            values = (jnp if isinstance(values, jax.Array) else np).pad(values, widths, mode=filled)
        placement = NamedSharding(mesh, _spec(axis))
        of_devices = placement.addressable_devices_indices_map(values.shape)
        shares = [jax.device_put(values[index], device) for device, index in of_devices.items()]
        return jax.make_array_from_single_device_arrays(values.shape, placement, shares)

    with jax.transfer_guard_host_to_device("allow"):  # for the start indices of shares
        return jax.tree.map(place, array)


def _placed_shapes(array: Any, mesh: Mesh, axis: int | None) -> Any:
    """Shapes and shardings of the arrays that ``_placed`` returns."""

    def shape_of(values: Any) -> jax.ShapeDtypeStruct:
        shape = [n + (-n % mesh.size if dim == axis else 0) for dim, n in enumerate(values.shape)]
        return jax.ShapeDtypeStruct(shape, values.dtype, sharding=NamedSharding(mesh, _spec(axis)))

    return jax.tree.map(shape_of, array)


def _spec(axis: int | None) -> PartitionSpec:
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, _AXIS)


def _on_devices(kernel: Program, mesh: Mesh, shards: Shards) -> Program:
    return kernel if shards.repeats is None else _of_shares(kernel, mesh, shards.axes, shards.repeats)


@cache
def _of_shares(kernel: Program, mesh: Mesh, axes: tuple[int | None, ...], repeats: int) -> Program:
    def call(*shares: Any) -> Any:
        return jax.tree.map(lambda result: jnp.moveaxis(result, repeats, 0), kernel(*shares))

    specs = tuple(_spec(axis) for axis in axes)
    return Program(jax.shard_map(call, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(_AXIS), check_vma=False))


def _gathered(result: jax.Array) -> np.ndarray:
    """The complete result, gathered from all processes."""
    if result.is_fully_addressable:
        return to_host(result)
    if result.is_fully_replicated:
        return to_host(result.addressable_data(0))
    return np.asarray(multihost_utils.process_allgather(result, tiled=True))
