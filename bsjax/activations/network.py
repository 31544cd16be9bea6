"""The protocol of networks, through which the extraction runs networks of all frameworks."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Batch = Any
"""Output of a preprocessing: an array, or a tuple or dict of arrays, with images on the first axis of each."""


class Network(Protocol):
    """A network of one framework, which can run a batch.

    Example:
        >>> sorted(name for name in vars(Network) if not name.startswith("_"))  # what a new one defines
        ['digest', 'look_again', 'on_device', 'run', 'shapes']
    """

    channels_last: bool
    """Whether image-like outputs have the channel on the last axis, as in JAX; in torch it is the first."""

    is_compiled: bool
    """Whether a batch of another size may take a compilation, so that the last batch is padded."""

    is_pure: bool
    """Whether :meth:`run` is known to be deterministic, so that it need not be tested."""

    @property
    def on_device(self) -> bool:
        """Whether :meth:`run` returns JAX arrays on JAX's device."""
        ...

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shape of the output of every layer for this batch, in order of computation."""
        ...

    def run(self, batch: Batch, layers: Sequence[str]) -> Mapping[str, Any]:
        """Outputs of the existing ``layers`` from one pass, as NumPy arrays or as JAX arrays on their device.

        Later passes must not change them, since they are stored while the next batch runs.
        """
        ...

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """The identity of everything that determines the outputs for similar batches: weights, code, framework, device.

        Args:
            batch: an example batch.
            version: vouches for the code; by default the code itself is identified.

        Raises:
            Undigestible: a part of it cannot be identified.
        """
        ...

    def look_again(self) -> None:
        """Update compiled programs if what the code reads has changed."""
        ...
