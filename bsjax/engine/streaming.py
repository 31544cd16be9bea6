"""Choice of the sides of a comparison that are read in blocks, from the numbers of stimuli and features alone."""

from collections.abc import Callable, Sequence
from typing import Literal

from bsjax.engine.memory_limit import features_in_memory, fits, refuse_unless_it_fits

DependsOn = Literal["inner products", "correlations", "features"]
"""What a metric depends on: inner products between stimuli, correlations over units, or the features themselves."""

_GRAM_MATRICES = 3  # a Gram matrix as tiles and whole, or whole with its factor


def must_stream(n: int, width: int, depends_on: DependsOn) -> bool:
    """Whether a side alone is too large to be held, and what a metric depends on is not.

    Args:
        n, width: stimuli and features of the side.
        depends_on: what the metric depends on.

    Example:
        >>> from bsjax import memory_limit
        >>> with memory_limit("1MB"):
        ...     must_stream(100, 10_000, "inner products"), must_stream(100, 10_000, "features")
        (True, False)
    """
    return _may_stream(n, width, depends_on) and 8 * n * width > features_in_memory()


def sides_to_stream(
    n: int, widths: Sequence[int], depends_on: DependsOn, needed: Callable[..., int], what: str, advice: str
) -> list[bool]:
    """Which sides of a comparison are to be read by ``compress``, so that it fits in memory: the widest first.

    Args:
        n: stimuli, in all.
        widths: how many features each side has that may be streamed.
        depends_on: what the metric depends on.
        needed: bytes that the comparison takes with so many features on each of these sides.
        what, advice: for the message, see ``refuse_unless_it_fits``.

    Raises:
        ValueError: it does not fit.

    Example:
        >>> from bsjax import memory_limit
        >>> with memory_limit("400MB"):
        ...     sides_to_stream(200, [200_000, 50], "inner products", lambda x, y: 16_000 * (x + y), "pls", "less")
        [True, False]
    """
    widths, streams = list(widths), [False] * len(widths)
    while True:
        wide = [side for side, width in enumerate(widths) if _may_stream(n, width, depends_on)]
        # A program is compiled to know what it takes, which is for nothing where its features alone take too much.
        takes = 8 * n * sum(widths)
        if not wide or fits(takes):
            takes = needed(*widths)
        if any(streams):
            takes = max(takes, _GRAM_MATRICES * 8 * n * n)
        if fits(takes) or not wide:
            refuse_unless_it_fits(takes, what, advice)
            return streams
        widest = max(wide, key=lambda side: widths[side])
        widths[widest], streams[widest] = n + (depends_on == "correlations"), True


def _may_stream(n: int, width: int, depends_on: DependsOn) -> bool:
    return depends_on != "features" and width > n + 1
