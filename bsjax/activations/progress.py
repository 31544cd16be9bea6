"""Progress of an extraction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Argument of the function ``progress=``, which is called in another thread when a batch is stored.

    Attributes:
        identifier: the model's.
        done: number of processed images, including those of an interrupted run.
        total: number of all images.
        n_new: number of images processed in this run.
        seconds: since the first batch of this run was requested.

    Example:
        >>> progress = Progress("net", done=300, total=500, n_new=200, seconds=10.0)
        >>> progress.rate, progress.remaining
        (20.0, 10.0)
    """

    identifier: str
    done: int
    total: int
    n_new: int
    seconds: float

    @property
    def rate(self) -> float:
        """Images per second."""
        return self.n_new / max(self.seconds, 1e-9)

    @property
    def remaining(self) -> float:
        """Seconds left at this rate."""
        return (self.total - self.done) / max(self.rate, 1e-9)
