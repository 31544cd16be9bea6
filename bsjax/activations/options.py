"""Options of an extraction, independent of the network, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from bsjax.activations.cache import ActivationCache, default_cache
from bsjax.activations.reducers import Reducer
from bsjax.core.memory import parse_bytes


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


Cache = ActivationCache | Literal["default"] | None


class ExtractionOptions(TypedDict, total=False):
    """Keyword arguments that every adapter passes on to :class:`~bsjax.activations.ExtractedActivations`.

    Example:
        >>> from bsjax.adapters import from_jax
        >>> options: ExtractionOptions = {"batch_size": 32, "memory": "2GB", "cache": None}
        >>> from_jax(lambda images: images.mean((1, 2)), "colour", **options).identifier
        'colour'
    """

    batch_size: int
    cache: Cache
    reducer: Reducer | None
    memory: int | str | None
    progress: Callable[[Progress], None] | None
    keep_on_device: bool | None
    ahead: tuple[str, ...]
    version: str | None


@dataclass(frozen=True)
class Options:
    """The options of an extraction with their defaults."""

    batch_size: int = 64
    cache: Cache = "default"
    reducer: Reducer | None = None
    memory: int | None = None
    progress: Callable[[Progress], None] | None = None
    keep_on_device: bool | None = None
    ahead: tuple[str, ...] = ()
    version: str | None = None

    def changed(self, options: ExtractionOptions) -> Options:
        """A copy with some options changed.

        Raises:
            ValueError: a name is unknown, or a value is out of range.

        Example:
            >>> Options().changed({"memory": "2GB"}).memory
            2000000000
        """
        unknown = sorted(set(options) - set(self.__dataclass_fields__))
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise ValueError(f"unknown option {', '.join(map(repr, unknown))}; there are {known}")
        memory = options.get("memory", self.memory)
        made = replace(self, **{**options, "memory": None if memory is None else parse_bytes(memory)})
        if made.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {made.batch_size}")
        if made.cache is not None and made.cache != "default" and not isinstance(made.cache, ActivationCache):
            raise ValueError(f"cache must be an ActivationCache, 'default' or None, got {made.cache!r}")
        return made

    @property
    def the_cache(self) -> ActivationCache | None:
        """The cache for activations, None for no caching."""
        return default_cache() if self.cache == "default" else self.cache
