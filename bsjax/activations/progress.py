"""Progress of an extraction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Given to the function ``progress=`` after every batch.

    Attributes:
        identifier: the model's.
        done: images that have been through the model, those of an interrupted run included.
        total: images in all.
        n_new: images of this run.
        seconds: since the first batch of this run was asked for.

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
        """Images a second."""
        return self.n_new / max(self.seconds, 1e-9)

    @property
    def remaining(self) -> float:
        """Seconds left, at this rate."""
        return (self.total - self.done) / max(self.rate, 1e-9)
