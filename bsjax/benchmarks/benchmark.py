"""What every benchmark offers."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bsjax.labelled import Score
    from bsjax.models import BrainModel


class Benchmark(Protocol):
    """Anything that scores a brain model.

    Any object with these members is a benchmark; there is nothing to inherit from and nothing to register.

    Attributes:
        identifier: unique name, e.g. ``"Cowley2026.V4-ridge"``.
        version: raised by one whenever a change of the benchmark changes its scores.
        parent: the benchmark or region under which this one is averaged, e.g. ``"V4"``.
        bibtex: the publication of the data, ``""`` if there is none.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Simulated.V1-ridge")
        >>> benchmark.identifier, benchmark.version, benchmark.parent
        ('Simulated.V1-ridge', 2, 'V1')
    """

    identifier: str
    version: int
    parent: str
    bibtex: str

    @property
    def ceiling(self) -> "Score":
        """The best score that the noise in the data allows, computed when first asked for."""
        ...

    def __call__(self, candidate: "BrainModel") -> "Score":
        """Score ``candidate``; the result holds the raw score and the ceiling it was divided by."""
        ...
