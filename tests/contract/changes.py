"""Changes of the inputs of kernels, for whatever axes their arrays have."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.contract.row import Arrays, Change


def reordered(*, places: Sequence[str] = (), **axes: int) -> Change:
    """Entries along these axes in another order, the same for each array; ``places`` point at the entries."""

    def change(arrays: Arrays, rng: np.random.Generator) -> Arrays:
        there = {name: axis for name, axis in axes.items() if name in arrays}
        if not there:
            return arrays
        name, axis = next(iter(there.items()))
        order = rng.permutation(arrays[name].shape[axis])
        moved = {name: np.take(arrays[name], order, axis) for name, axis in there.items()}
        pointed = {name: np.argsort(order)[arrays[name]] for name in places if name in arrays}
        return arrays | moved | {name: values.astype(arrays[name].dtype) for name, values in pointed.items()}

    return change


def in_turn(*changes: Change) -> Change:
    """One change after the other."""

    def change(arrays: Arrays, rng: np.random.Generator) -> Arrays:
        for each in changes:
            arrays = each(arrays, rng)
        return arrays

    return change


def padded(*, nan: bool = False, **axes: int | tuple[int, ...]) -> Change:
    """Two more entries along these axes that do not count: flags are False, and numbers ones that would, or NaN."""

    def change(arrays: Arrays, rng: np.random.Generator) -> Arrays:
        made = dict(arrays)
        for name in filter(arrays.__contains__, axes):
            for axis in np.atleast_1d(axes[name]):
                values = made[name]
                shape = np.array(values.shape)
                shape[axis] = 2
                number = np.full(shape, np.nan) if nan else 50.0 + rng.normal(size=shape)
                more = number if values.dtype.kind == "f" else np.zeros(shape)
                made[name] = np.concatenate([values, more.astype(values.dtype)], axis)
        return made

    return change


def constant(name: str, entries: Any, where: Any, value: Any = 0.1) -> Callable[[Arrays], tuple[Arrays, Any]]:
    """Entries of an array that do not vary, and where the result is undefined then."""

    def undefined(arrays: Arrays) -> tuple[Arrays, Any]:
        arrays[name][entries] = value
        return arrays, where

    return undefined


def units(side: str, function: Callable[..., np.ndarray], axis: int = -1) -> Change:
    """The same change of the units of all arrays of a side, which are along this axis, and last for the function."""

    def change(arrays: Arrays, rng: np.random.Generator) -> Arrays:
        seed = rng.integers(2**31)

        def changed(values: np.ndarray) -> np.ndarray:
            found = function(np.moveaxis(values, axis, -1), np.random.default_rng(seed))
            return np.moveaxis(found, -1, axis)

        return arrays | {name: changed(values) for name, values in arrays.items() if name.startswith(side)}

    return change


def permute(x, rng):
    return x[..., rng.permutation(x.shape[-1])]


def rotate(x, rng):
    return x @ np.linalg.qr(rng.normal(size=(x.shape[-1], x.shape[-1])))[0]


def shift(x, rng):
    return x + rng.normal(size=x.shape[-1])


def stretch(x, rng):
    return x * rng.uniform(0.1, 10.0)


def stretch_each(x, rng):
    return x * rng.uniform(0.1, 10.0, x.shape[-1])


def stretch_and_shift_each(x, rng):
    return shift(stretch_each(x, rng), rng)


def shift_patterns(x, rng):
    return x + rng.normal(size=(x.shape[-2], 1))


def stretch_patterns(x, rng):
    return x * rng.uniform(0.1, 10.0, (x.shape[-2], 1))
