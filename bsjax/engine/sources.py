"""A kernel applied to many sources, with sources of the same shape in one program."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from bsjax.engine.batches import batched_map
from bsjax.engine.memory_limit import features_in_memory
from bsjax.engine.programs.compilation import compiled
from bsjax.engine.sharding import Shards, devices_in_use, sharded


def of_sources(
    kernel: Callable[..., Any], sources: Sequence[Any], rest: Sequence[Any], shards: Shards, **settings: Any
) -> list[Any]:
    """``kernel(source, *rest, **settings)`` for every source, as NumPy arrays.

    Consecutive sources of the same shape that are on a device run in one program, as many as fit in memory. Several
    devices then share the sources. Sources on the host, and fewer sources than devices, are computed one at a time.

    Args:
        kernel: a pure function of arrays.
        sources: arrays ``(stimuli, units)``.
        rest: what all sources are compared with, arrays or trees of arrays.
        shards: how a source and the rest are sharded over devices, for sources computed one at a time.
        **settings: settings of the kernel, see ``compiled``.

    Example:
        >>> def products(x, y):
        ...     return x @ y
        >>> sources = [jnp.ones((1, 2)), jnp.zeros((1, 2))]
        >>> of_sources(products, sources, [jnp.ones(2)], Shards((None, None)))
        [array([2.], dtype=float32), array([0.], dtype=float32)]
    """
    made: list[Any] = []
    for group in _together(sources):
        if len(group) == 1 or len(group) < devices_in_use():
            alone = compiled(kernel, **settings)
            made += [sharded(alone, (source, *rest), shards) for source in group]
            continue
        program = compiled(_of_each_source, of=kernel, **settings)
        results = sharded(program, (jnp.stack(group), *rest), Shards((0, *[None] * len(rest)), repeats=0))
        made += [jax.tree.map(lambda values, i=i: values[i], results) for i in range(len(group))]
    return made


def _of_each_source(sources: Any, *rest: Any, of: Callable[..., Any], **settings: Any) -> Any:
    return batched_map(lambda source: of(source, *rest, **settings), sources)


def _together(sources: Sequence[Any]) -> Iterator[list[Any]]:
    """Groups of consecutive sources that can run in one program."""
    group: list[Any] = []
    for source in sources:
        fits = group and (len(group) + 1) * source.nbytes <= features_in_memory()
        if fits and isinstance(source, jax.Array) and _kind(source) == _kind(group[-1]):
            group.append(source)
            continue
        if group:
            yield group
        group = [source]
    if group:
        yield group


def _kind(source: Any) -> tuple[Any, ...]:
    return type(source), source.shape, source.dtype
