"""The protocol of networks: what an adapter gives the extraction to run one framework's network."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Batch = Any
"""What a preprocessing made: an array, or a tuple or dict of arrays. The first axis of each is the image."""


class Network(Protocol):
    """One framework's way to run a batch.

    Example:
        >>> sorted(name for name in vars(Network) if not name.startswith("_"))  # what a new one defines
        ['digest', 'look_again', 'on_device', 'run', 'shapes']
    """

    channels_last: bool
    """Whether the last axis of an image-like output is the channel, as in JAX; in torch it is the first."""

    is_pure: bool
    """Whether :meth:`run` always gives the same for the same batch, without anyone having tried."""

    @property
    def on_device(self) -> bool:
        """Whether :meth:`run` gives JAX arrays, on the device where JAX computes."""
        ...

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shape of the output of every layer for this batch, in the order in which they are computed."""
        ...

    def run(self, batch: Batch, layers: Sequence[str]) -> Mapping[str, Any]:
        """Outputs of those of ``layers`` that exist, all from one pass: NumPy arrays, or JAX arrays where they are."""
        ...

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of all that decides the outputs for batches like this one: weights, code, framework, device.

        Args:
            batch: such a batch.
            version: by which somebody vouches for the code; else it is looked at.

        Raises:
            Undigestible: nothing can vouch for a part of it.
        """
        ...

    def look_again(self) -> None:
        """Have what the code reads count as it is now, where a program of it was kept."""
        ...
