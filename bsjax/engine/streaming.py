"""Choice of the sides of a comparison to read in blocks, from the numbers of stimuli and features."""

from collections.abc import Callable, Sequence
from typing import Literal

from bsjax.engine.memory_limit import features_in_memory, fits, refuse_unless_it_fits

DependsOn = Literal["inner products", "correlations", "features"]
"""Data that a metric depends on: inner products between stimuli, correlations over units, or features themselves."""

GRAM_MATRICES = 3  # memory, in Gram matrices: tiles and the whole matrix, or the whole matrix and its factor


def must_stream(n: int, width: int, depends_on: DependsOn) -> bool:
    """Whether the features of a side are too large for memory, but can be read in blocks.

    Args:
        n, width: numbers of stimuli and features of the side.
        depends_on: data that the metric depends on.

    Example:
        >>> from bsjax import memory_limit
        >>> with memory_limit("1MB"):
        ...     must_stream(100, 10_000, "inner products"), must_stream(100, 10_000, "features")
        (True, False)
    """
    return _may_stream(n, width, depends_on) and 8 * n * width > features_in_memory()


def sides_to_stream(
    n: int,
    widths: Sequence[int],
    depends_on: DependsOn,
    needed: Callable[..., int],
    what: str,
    advice: str,
    cut: Callable[..., None] | None = None,
) -> list[bool]:
    """Sides of a comparison to read in blocks so that it fits in memory, chosen from the widest on.

    Args:
        n: number of stimuli.
        widths: number of features of each side that may be streamed.
        depends_on: data that the metric depends on.
        needed: function from the numbers of features of these sides to the bytes that the comparison needs.
        what, advice: parts of the message, see ``refuse_unless_it_fits``.
        cut: function of the numbers of features, called if the comparison does not fit with these sides in blocks. It
            cuts the comparison in another way, or raises an error. None if there is no other way.

    Raises:
        ValueError: the comparison does not fit in memory.

    Example:
        >>> from bsjax import memory_limit
        >>> with memory_limit("400MB"):
        ...     sides_to_stream(200, [200_000, 50], "inner products", lambda x, y: 16_000 * (x + y), "pls", "less")
        [True, False]
    """
    widths, streams = list(widths), [False] * len(widths)
    while True:
        wide = [side for side, width in enumerate(widths) if _may_stream(n, width, depends_on)]
        # Estimating the memory compiles the program, which is useless if the features alone need too much.
        takes = 8 * n * sum(widths)
        if not wide or fits(takes):
            takes = needed(*widths)
        if any(streams):
            takes = max(takes, GRAM_MATRICES * 8 * n * n)
        if fits(takes) or not wide:
            if cut is None or fits(takes):
                refuse_unless_it_fits(takes, what, advice)
            else:
                cut(*widths)
            return streams
        widest = max(wide, key=lambda side: widths[side])
        widths[widest], streams[widest] = n + (depends_on == "correlations"), True


def _may_stream(n: int, width: int, depends_on: DependsOn) -> bool:
    return depends_on != "features" and width > n + 1
