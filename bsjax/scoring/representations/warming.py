"""``warm_up``: compiles the programs of metrics before they are needed."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from bsjax.engine.programs.compilation import traces
from bsjax.engine.programs.program_cache import enable_compilation_cache
from bsjax.scoring.arrays import score_arrays


def warm_up(metrics: Iterable[str], sizes: Iterable[tuple[int, int, int]], *, dtype: str | None = None) -> int:
    """Compile the programs of metrics for some sizes, and keep them on disk for later processes.

    A first comparison of a new size takes about a second, most of it compilation. After this call, comparisons of these
    sizes start at once in this process, and in a fraction of the time in later processes that call
    :func:`bsjax.enable_compilation_cache`, as the command line does. Widths that are padded alike share a program.
    Programs that call Python, as RDMs on a CPU do, serve this process only.

    Args:
        metrics: names of metrics that compare two arrays, as for :func:`bsjax.score_arrays`.
        sizes: numbers of stimuli, features and neuroids.
        dtype: the precision of the metrics; the default of the device if None.

    Returns:
        The number of programs that were new to this process.

    Raises:
        KeyError: a metric is unknown.
        ValueError: a metric cannot be computed for a size, such as too few stimuli for its splits.

    Example:
        >>> import bsjax
        >>> bsjax.warm_up(["ridge"], [(30, 17, 5)]), bsjax.warm_up(["ridge"], [(30, 18, 5)])
        (1, 0)
    """
    enable_compilation_cache()
    names, rng = [metrics] if isinstance(metrics, str) else list(metrics), np.random.default_rng(0)
    settings: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    with traces() as compiled, warnings.catch_warnings(action="ignore"):  # about the random responses
        for stimuli, *widths in sizes:
            x, y = (rng.standard_normal((stimuli, width)) for width in widths)
            for metric in names:
                score_arrays(x, y, metric, **settings)
    return compiled.total()
