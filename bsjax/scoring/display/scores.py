"""Scores of several pairs, printed as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsjax.scoring.display.report import table
from bsjax.scoring.job import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.labelled import Score


class Scores(dict[tuple[str, str], "Score"]):
    """A dict of scores by model and benchmark. It prints as a table, and shows as a heat map in a notebook.

    Example:
        >>> from bsjax import Score
        >>> Scores({("pixels", "My.V1-ridge"): Score(0.5, error=0.01)})
        model   benchmark      raw  ceiling  score  ± error  95 % interval  units    s
        pixels  My.V1-ridge  0.500        -  0.500    0.010              -      -  0.0
    """

    def frame(self) -> pd.DataFrame:
        """A table with one row for each pair.

        Returns:
            Columns ``model``, ``benchmark``, ``state`` ("scored", "undefined", "resolved"), ``score``, ``error``,
            ``low``, ``high``, ``interval`` (ends and kind of the 95 % interval), ``ceiling``, ``reason`` (why it is
            undefined) and ``seconds``.

        Example:
            >>> from bsjax import Score
            >>> Scores({("pixels", "My.V1-ridge"): Score(0.5, error=0.01)}).frame()[["model", "score"]].values.tolist()
            [['pixels', 0.5]]
        """
        import pandas as pd

        from bsjax.results.store import columns_of

        rows = [
            {"model": model, "benchmark": benchmark, **columns_of(score), "reason": score.provenance.reason or ""}
            for (model, benchmark), score in self.items()
        ]
        columns = "model benchmark state score error low high interval ceiling reason seconds".split()
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        if not self:
            return "no scores"
        return table([Outcome(*pair, score, seconds=score.provenance.seconds or 0.0) for pair, score in self.items()])

    def _repr_html_(self) -> str:
        from bsjax.scoring.display.heat_map import heat_map

        return heat_map(self.frame())
