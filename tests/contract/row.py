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
        undefined: makes the inputs degenerate somewhere, and says where the result is NaN (an index into it); all else
            stays finite. Constant values are ones that no float holds exactly, such as 0.1.
        padded: the same data among entries that do not count (masked out, or beyond the folds): an equal result.
        invariances: changes of the inputs that leave the result as it is, by name.
        bounds: least and greatest value of its result.
        identity: inputs that compare something with itself, where that has a known value (``identity_value``).
        smooth: whether gradients with respect to the floats exist that are not zero everywhere, or those that have one.
        atol: agreement of float64 results.
        variant_of: the row whose kernel this one calls with other settings, of which how it is compiled is checked.
    """

    name: str
    metrics: tuple[str, ...]
    kernel: Callable[..., Any]
    arrays: Callable[[np.random.Generator], Arrays]
    large: Callable[[np.random.Generator], Arrays]
    undefined: Callable[[Arrays], tuple[Arrays, Any]]
    padded: Change
    invariances: Mapping[str, Change]
    bounds: tuple[float, float] = (-1.0, 1.0)
    identity: Change | None = None
    identity_value: float = 1.0
    smooth: bool | tuple[str, ...] = True
    times_input: float = 4.0
    atol: float = 1e-9
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant_of: str = ""

    def __call__(self, **arrays: Any) -> Any:
        return self.kernel(**arrays, **self.settings)
