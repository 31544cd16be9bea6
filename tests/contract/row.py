"""What every metric promises, as one row of a table. ``test_contract.py`` runs every check on every row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Change = Callable[[Arrays, np.random.Generator], Arrays]


@dataclass(frozen=True, eq=False)
class Row:
    """One kernel and the registered metrics that stand on it.

    Attributes:
        name: of the row.
        metrics: identifiers in the metric registry that this row speaks for.
        kernel: takes arrays by keyword, gives one array. Static settings are bound beforehand.
        arrays: a draw of its inputs, always of the same small shapes: float64 for numbers (checked in float32 as well),
            bool for masks, integers for codes and indices.
        large: inputs for the bound on memory.
        times_input: how many times the bytes of ``large`` its temporary memory may take.
        dims: of its result.
        bounds: least and greatest value of its result.
        ceiling: the registered ceiling that limits it; None for a ceiling, or where the data cannot give one.
        source: the paper that defines it.
        undefined: makes the inputs degenerate somewhere, and says where the result is NaN (an index into it); all else
            stays finite. Constant values are ones that no float holds exactly, such as 0.1.
        undefined_policy: what a user gets there, in words.
        padded: the same data among entries that do not count (masked out, or beyond the folds): an equal result.
        invariances: changes of the inputs that leave the result as it is, by name.
        identity: inputs that compare something with itself, where that has a known value (``identity_value``).
        smooth: whether gradients with respect to the floats exist that are not zero everywhere, or those that have one.
        atol: agreement of float64 results.
    """

    name: str
    metrics: tuple[str, ...]
    kernel: Callable[..., Any]
    arrays: Callable[[np.random.Generator], Arrays]
    large: Callable[[np.random.Generator], Arrays]
    dims: tuple[str, ...]
    bounds: tuple[float, float]
    source: str
    undefined: Callable[[Arrays], tuple[Arrays, Any]]
    undefined_policy: str
    padded: Change
    invariances: Mapping[str, Change]
    ceiling: str | None = None
    identity: Change | None = None
    identity_value: float = 1.0
    smooth: bool | tuple[str, ...] = True
    times_input: float = 4.0
    atol: float = 1e-9
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **arrays: Any) -> Any:
        return self.kernel(**arrays, **self.settings)
