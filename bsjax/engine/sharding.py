"""Shares of a kernel for many devices, cut along what it repeats over: targets, folds, subsets.

Every device runs the same program on its share, with the other arrays whole, so that devices have nothing to tell each
other and results are those of one device.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bsjax.engine.compilation import Program, compiled

_AXIS = "devices"
_MESH: ContextVar[Mesh | None] = ContextVar("devices of metrics", default=None)


@contextmanager
def over(devices: Sequence[Any] | None = None) -> Iterator[None]:
    """A block in which metrics are computed on several devices.

    Which axis is dealt out depends on the metric: target neuroids where each is predicted by itself, else folds; the
    neuroids of a ceiling; the subsets of a cross-validated similarity, and the draws of a bootstrap; the stimuli of
    CKA. What has none of these (a fixed split of PLS, one RDM with another) stays on one device.

    A comparison of usual size takes less than a second on one device, and more time to bring to several: this is for
    those that are larger, and never done unasked.

    With ``jax.distributed`` initialised the devices are those of all processes, each of which must hold the same data,
    enter the block, make the same calls in the same order, and then has all results.

    Args:
        devices: all that JAX has if None.

    Raises:
        ValueError: no devices.

    Example:
        >>> with over(jax.devices()[:1]):  # score = metric(source, target)
        ...     print(several_devices())
        False
    """
    chosen = jax.devices() if devices is None else list(devices)
    if not chosen:
        raise ValueError("no devices to compute on: give some of jax.devices(), or None for all of them")
    token = _MESH.set(Mesh(np.asarray(chosen), (_AXIS,)))
    try:
        yield
    finally:
        _MESH.reset(token)


def local_devices() -> list[Any]:
    """The devices of this process that metrics are computed on."""
    mesh = _MESH.get()
    ours = [] if mesh is None else [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    return ours or jax.local_devices()[:1]


def several_devices() -> bool:
    """Whether more than one device is in use."""
    mesh = _MESH.get()
    return mesh is not None and mesh.size > 1


def dealt_out(kernel: Callable[..., Any], arrays: Sequence[Any], axes: Sequence[int | None], out_axis: int) -> Any:
    """``kernel(*arrays)`` as NumPy arrays, each device computing a share of one axis.

    Args:
        kernel: repeats the same over that axis of its arrays and of all its results; always the same object for the
            same computation (see ``compiled``).
        arrays: what it takes, arrays or tuples of arrays, on the host.
        axes: of each which axis (not negative) is dealt out, None for one that every device has whole.
        out_axis: that axis of the results.

    Example:
        >>> double = jax.jit(lambda x: x * jnp.asarray(2.0))
        >>> with over():
        ...     print(dealt_out(double, [np.arange(3.0, dtype="float32")], [0], 0))
        [0. 2. 4.]
    """
    mesh = _MESH.get()
    if mesh is None or mesh.size == 1:
        return jax.device_get(kernel(*arrays))
    size = next(_length(array, axis) for array, axis in zip(arrays, axes, strict=True) if axis is not None)
    placed = [_placed(array, mesh, axis) for array, axis in zip(arrays, axes, strict=True)]
    made = _on_shares(kernel, mesh, tuple(axes), out_axis)(*placed)
    return jax.tree.map(lambda result: np.moveaxis(_gathered(result)[:size], 0, out_axis), made)


def bytes_needed(
    kernel: Program, arrays: Sequence[Any], axes: Sequence[int | None] | None = None, out_axis: int = 0
) -> int:
    """Bytes that ``dealt_out`` takes at most: of this process's memory, or of that of each accelerator.

    Args:
        kernel: what ``compiled`` gives.
        arrays: as for ``dealt_out``, or ``jax.ShapeDtypeStruct`` in the place of any.
        axes, out_axis: as for ``dealt_out``; no axes for a plain call, which stays on one device.
    """
    mesh = _MESH.get()
    if axes is None or mesh is None or mesh.size == 1:
        return kernel.bytes_needed(*arrays)
    shapes = [_placed_shapes(array, mesh, axis) for array, axis in zip(arrays, axes, strict=True)]
    each = _on_shares(kernel, mesh, tuple(axes), out_axis).bytes_needed(*shapes)
    return each * (len(local_devices()) if jax.default_backend() == "cpu" else 1)


def with_stimuli_dealt_out(kernel: Callable[..., Any], x: Any, y: Any) -> Any:
    """``kernel(x, y, where=...)`` as a NumPy array, with the rows of both, and so of their stimuli x stimuli matrices,
    dealt out over the devices.

    Here devices have much to tell each other, which XLA arranges.

    Args:
        kernel: takes responses ``(stimuli, units)`` and which stimuli count, e.g. ``cka``.
        x, y: on the host, in one order.

    Example:
        >>> from bsjax.metrics import cka
        >>> x = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]], "float32")
        >>> with over():
        ...     print(with_stimuli_dealt_out(cka, x, 2 * x).round(3))
        1.0
    """
    mesh, where = _MESH.get(), np.ones(len(x), bool)
    if mesh is not None:
        x, y, where = (_placed(array, mesh, 0, filled=False) for array in (x, y, where))
    return _gathered(compiled(_where, of=kernel)(x, y, where))


def _where(x: Any, y: Any, where: Any, *, of: Callable[..., Any]) -> Any:
    return of(x, y, where=where)


def _length(array: Any, axis: int) -> int:
    return jax.tree.leaves(array)[0].shape[axis]


def _placed(array: Any, mesh: Mesh, axis: int | None, filled: bool = True) -> Any:
    """On the devices: whole on each, or a share of ``axis``; shares are made equal by more of the last (or zeros)."""

    def place(values: Any) -> jax.Array:
        values = np.asarray(values)
        if axis is not None and values.shape[axis] % mesh.size:
            widths = [(0, -values.shape[axis] % mesh.size if dim == axis else 0) for dim in range(values.ndim)]
            values = np.pad(values, widths, mode="edge") if filled else np.pad(values, widths)
        return jax.make_array_from_callback(values.shape, NamedSharding(mesh, _spec(axis)), values.__getitem__)

    return jax.tree.map(place, array)


def _placed_shapes(array: Any, mesh: Mesh, axis: int | None) -> Any:
    """Of what ``_placed`` gives."""

    def shape_of(values: Any) -> jax.ShapeDtypeStruct:
        shape = [n + (-n % mesh.size if dim == axis else 0) for dim, n in enumerate(values.shape)]
        return jax.ShapeDtypeStruct(shape, values.dtype, sharding=NamedSharding(mesh, _spec(axis)))

    return jax.tree.map(shape_of, array)


def _spec(axis: int | None) -> PartitionSpec:
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, _AXIS)


@cache
def _on_shares(kernel: Callable[..., Any], mesh: Mesh, axes: tuple[int | None, ...], out_axis: int) -> Program:
    def call(*shares: Any) -> Any:
        return jax.tree.map(lambda result: jnp.moveaxis(result, out_axis, 0), kernel(*shares))

    specs = tuple(_spec(axis) for axis in axes)
    return Program(jax.shard_map(call, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(_AXIS), check_vma=False))


def _gathered(result: jax.Array) -> np.ndarray:
    """A result of all processes, in each of them."""
    if result.is_fully_addressable:
        return np.asarray(result)
    if result.is_fully_replicated:
        return np.asarray(result.addressable_data(0))
    return np.asarray(multihost_utils.process_allgather(result, tiled=True))
