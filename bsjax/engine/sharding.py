"""Kernels on several devices: sharded arrays, or the repeats of a computation.

There are two ways. What a kernel repeats over (folds, subsets, draws, layers) is cut into shares, of which every device
computes one by itself, with the other arrays whole. The long axes of its arrays (features, targets, stimuli) are
sharded, and XLA partitions the program: devices then add up what each has of a sum.
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
    """What devices have of the arrays of a kernel.

    Attributes:
        axes: of each array, or tree of arrays, which axis (not negative) is sharded; None where every device has all.
        repeats: the axis of all results along which each device computes its share by itself, for what the kernel does
            for each element of the sharded axes alike. None where XLA partitions the program.
    """

    axes: tuple[int | None, ...]
    repeats: int | None = None


_MESH: ContextVar[Mesh | None] = ContextVar("devices of metrics", default=None)


def use_devices(devices: Sequence[Any] | None = None) -> AbstractContextManager[None]:
    """A block in which metrics are computed on several devices.

    What is sharded depends on the metric: features and target neuroids of a regression, where columns of zeros change
    nothing, else its folds; the neuroids of a ceiling; the subsets of a cross-validated similarity, and the draws of a
    bootstrap; the stimuli of CKA and of RDMs by their defaults; layers that are scored together. What has none of these
    (an RDM by another dissimilarity) stays on one device.

    A comparison of usual size takes less than a second on one device, and more time to bring to several: this is for
    those that are larger, and never done unasked.

    With ``jax.distributed`` initialised the devices are those of all processes, each of which must hold the same data,
    enter the block, make the same calls in the same order, and then has all results.

    Args:
        devices: all that JAX has if None.

    Raises:
        ValueError: no devices.

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
    """The devices of this process that metrics are computed on."""
    mesh = _MESH.get()
    ours = [] if mesh is None else [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    return ours or [default_device()]


def devices_in_use() -> int:
    """How many devices metrics are computed on."""
    mesh = _MESH.get()
    return 1 if mesh is None else mesh.size


def sharded(kernel: Program, arrays: Sequence[Any], shards: Shards) -> Any:
    """``kernel(*arrays)`` as NumPy arrays, computed on the devices in use.

    Axes are filled up to as many as can be shared equally: repeats by more of the last, which are dropped; other axes
    by zeros (False), which are to change nothing but further results at the end of an axis.

    Args:
        kernel: always the same object for the same computation (see ``compiled``).
        arrays: what it takes, arrays or trees of arrays, of the host or a device.
        shards: what devices have of them.

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
    """Bytes that ``sharded`` takes at most: of this process's memory, or of that of each accelerator.

    Args:
        kernel: what ``compiled`` gives.
        arrays: as for ``sharded``, or ``jax.ShapeDtypeStruct`` in the place of any.
        shards: as for ``sharded``; None for a plain call, which stays on one device.
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
    """On the devices: whole on each, or a share of ``axis``, from wherever it is."""

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

    with jax.transfer_guard_host_to_device("allow"):  # where shares begin
        return jax.tree.map(place, array)


def _placed_shapes(array: Any, mesh: Mesh, axis: int | None) -> Any:
    """Of what ``_placed`` gives."""

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
    """A result of all processes, in each of them."""
    if result.is_fully_addressable:
        return to_host(result)
    if result.is_fully_replicated:
        return to_host(result.addressable_data(0))
    return np.asarray(multihost_utils.process_allgather(result, tiled=True))
