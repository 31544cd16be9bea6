"""Requests beside a score: its values in draws and after permutations, and the scores of baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bsjax.labelled.resampling.draws import Factor, Resampling, plan_of
from bsjax.labelled.resampling.permutations import Permutations, permutations_of
from bsjax.scoring.baselines import baseline_names


@dataclass(frozen=True)
class Beside:
    """What is asked for beside a score, as plain data.

    Attributes:
        resampling: in which draws of stimuli, neuroids or subjects the score is computed as well; None for none.
        null: after which permutations of the stimuli; None for none.
        baselines: identifiers of models whose scores stand beside it.

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
        """What the arguments of :func:`bsjax.score` ask for.

        Raises:
            KeyError: an unknown baseline.
            ValueError: nothing that can be drawn, or no number of permutations.
        """
        return cls(plan_of(resampling), permutations_of(null), tuple(baseline_names(baselines)))

    def __bool__(self) -> bool:
        return any(self.parts())

    def parts(self) -> list[str]:
        """What is asked for, each as a text that no other has."""
        return [repr(part) for part in (self.resampling, self.null, self.baselines) if part]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it; ``from_plain`` reads it.

        Example:
            >>> asked = Beside.of(["stimuli", "neuroids"], null=99)
            >>> Beside.from_plain(asked.to_plain()) == asked
            True
        """
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Beside:
        """What ``to_plain`` has written, also after JSON."""
        drawn, null = plain["resampling"], plain["null"]
        return cls(
            None if drawn is None else Resampling(**{**drawn, "over": tuple(drawn["over"])}),
            None if null is None else Permutations(**null),
            tuple(plain["baselines"]),
        )
