"""Requests for analyses in addition to a score: bootstrap draws, permutations and baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bsjax.labelled.resampling.draws import Factor, Resampling
    from bsjax.labelled.resampling.permutations import Permutations


@dataclass(frozen=True)
class Beside:
    """Requested analyses in addition to a score, as plain data.

    Attributes:
        resampling: bootstrap draws of stimuli, neuroids or subjects for which the score is recomputed; None for none.
        null: permutations of the stimuli for which the score is recomputed; None for none.
        baselines: identifiers of the baselines to score on the same benchmark.

    Example:
        >>> bool(Beside()), Beside.of("stimuli", baselines=["pixels"]).baselines
        (False, ('pixels',))
    """

    resampling: Resampling | None = None
    null: Permutations | None = None
    baselines: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        resampling: Resampling | Factor | Sequence[Factor] | None = None,
        null: Permutations | int | None = None,
        baselines: bool | str | Iterable[str] = False,
    ) -> Beside:
        """Build the request from the arguments of :func:`bsjax.score`.

        Raises:
            KeyError: a baseline is unknown.
            ValueError: the factor cannot be resampled, or the number of permutations is invalid.
        """
        if resampling is None and null is None and not baselines:
            return cls()
        from bsjax.labelled.resampling.draws import Resampling
        from bsjax.labelled.resampling.permutations import Permutations
        from bsjax.scoring.baselines import baseline_names

        return cls(Resampling.of(resampling), Permutations.of(null), tuple(baseline_names(baselines)))

    def __bool__(self) -> bool:
        return any(self.parts())

    def parts(self) -> list[str]:
        """A unique text for each requested analysis."""
        return [repr(part) for part in (self.resampling, self.null, self.baselines) if part]

    def to_plain(self) -> dict[str, Any]:
        """Convert to values that JSON can hold; ``from_plain`` reads them.

        Example:
            >>> asked = Beside.of(["stimuli", "neuroids"], null=99)
            >>> Beside.from_plain(asked.to_plain()) == asked
            True
        """
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Beside:
        """Read the values from ``to_plain``, also after a round trip through JSON."""
        from bsjax.labelled.resampling.draws import Resampling
        from bsjax.labelled.resampling.permutations import Permutations

        drawn, null = plain["resampling"], plain["null"]
        return cls(
            None if drawn is None else Resampling(**{**drawn, "over": tuple(drawn["over"])}),
            None if null is None else Permutations(**null),
            tuple(plain["baselines"]),
        )
