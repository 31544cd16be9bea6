"""One computation of many sources, in one program where they have one shape."""

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
    """``kernel(source, *rest, **settings)`` of every source, as NumPy arrays.

    Sources of one shape that are on a device, one after the other, go into one program, as many as may be held at
    once. On several devices each then computes a share of them; fewer sources than devices, and those on the host, are
    computed one at a time.

    Args:
        kernel: a pure function of arrays.
        sources: ``(stimuli, units)`` each.
        rest: what all are compared with, arrays or trees of them.
        shards: what devices have of one source and the rest, if it is computed by itself.
        **settings: of the kernel, see ``compiled``.

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
    """Runs of sources that may go into one program."""
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
