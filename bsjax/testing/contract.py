"""Properties, checks of them, and the errors that failed checks raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bsjax.core.watching import steps
from bsjax.scoring.display.bars import shown as progress_bars

# Inputs with more entries are not printed: the example gives their shapes.
_MOST_PRINTED = 240


class ContractError(AssertionError):
    """Raised by a check whose property does not hold, with the property in words, the values, and code to reproduce it.

    Attributes:
        property: name of the property, as listed by :func:`bsjax.testing.checks`.
        example: code with the smallest inputs that were found to violate it.

    Example:
        >>> raise ContractError("mine", "scale", "a score has no unit", "expected 0.5, got 0.7", "x = np.eye(2)")
        Traceback (most recent call last):
        ...
        bsjax.testing.contract.ContractError: mine fails 'scale': a score has no unit
        expected 0.5, got 0.7
        <BLANKLINE>
        x = np.eye(2)
    """

    def __init__(self, subject: str, name: str, words: str, said: str, example: str = "") -> None:
        self.property, self.example = name, example
        text = f"{subject} fails {name!r}: {words}\n{said}"
        super().__init__(f"{text}\n\n{example}" if example else text)


class Check(NamedTuple):
    """The check of one property. Calling it raises a :class:`ContractError` if the property does not hold.

    Attributes:
        name: name of the property.
        run: function that runs the check.

    Example:
        >>> from bsjax.testing import checks
        >>> [first, *_] = checks("cka")
        >>> first.name, first()
        ('range', None)
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Runs the check."""
        self.run()


class Violated(Exception):
    """Raised by a property that does not hold, with the finding and the inputs of the calls that show it."""

    def __init__(self, said: str, *calls: Any) -> None:
        super().__init__(said)
        self.calls = calls


class Size(NamedTuple):
    """Size of the standard data."""

    stimuli: int
    features: int
    neuroids: int


STANDARD = Size(40, 30, 4)
SMALLER = (Size(4, 2, 1), Size(6, 3, 2), Size(12, 6, 2), Size(24, 30, 2))


@dataclass(frozen=True, eq=False)
class Property:
    """A property: ``holds(rng, size)`` raises ``Violated`` if it does not hold.

    Attributes:
        name: name of the property in lists and errors.
        words: the property in words.
        holds: function of a random generator and a size, which it may ignore.
        seeds: number of random inputs to check.
        sized: whether a failure is searched for smaller inputs.
        size: size of the standard data.
    """

    name: str
    words: str
    holds: Callable[[np.random.Generator, Size], None]
    seeds: int = 1
    sized: bool = False
    size: Size = STANDARD

    def of(self, subject: str, show: Callable[[Any], str] = str) -> Check:
        """A check of this property for ``subject``; ``show`` turns the inputs of a call into code."""

        def run() -> None:
            for seed in range(self.seeds):
                failure = self._failure(seed, self.size)
                if failure is None:
                    continue
                if not isinstance(failure, Violated):
                    said = f"it raised {type(failure).__name__}: {failure}"
                    raise ContractError(subject, self.name, self.words, said) from failure
                # Of fewer stimuli, the value may be undefined, which raises other errors.
                smaller = (self._failure(seed, size) for size in SMALLER if self.sized)
                shortest = next((each for each in smaller if isinstance(each, Violated)), failure)
                code = "\n".join(map(show, shortest.calls))
                raise ContractError(subject, self.name, self.words, str(shortest), code) from shortest

        return Check(self.name, run)

    def _failure(self, seed: int, size: Size) -> Exception | None:
        try:
            self.holds(np.random.default_rng(seed), size)
        except Exception as failure:
            return failure
        return None


def run_all(checks: Sequence[Check]) -> None:
    """Runs the checks in order, with a progress bar; the first failure raises."""
    with progress_bars():
        for check in steps(checks, "checks", len(checks)):
            check()


def same(found: Any, expected: Any, atol: float, said: str, *calls: Any) -> None:
    """Raises ``Violated`` if values differ; NaN equals NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise Violated(f"{said}: shapes {expected.shape} and {found.shape}", *calls)
    if not np.allclose(found, expected, rtol=1e-7, atol=atol, equal_nan=True):
        with np.errstate(invalid="ignore"):
            distance = np.abs(found.astype(float) - expected.astype(float))
        raise Violated(
            f"{said}: {shown(expected)} and {shown(found)}, a difference of {np.nanmax(distance, initial=0.0):.3g} "
            f"(tolerance {atol:.0e})",
            *calls,
        )


def shown(values: Any) -> str:
    """Values as text of one line, shortened if there are many."""
    text = np.array2string(np.asarray(values), precision=6, threshold=12, edgeitems=3, separator=", ")
    return " ".join(text.split())


def as_code(inputs: Any, call: str) -> str:
    """Code that creates the inputs of a call, and the call."""
    named = inputs if isinstance(inputs, Mapping) else dict(zip(_names(inputs), inputs, strict=True))
    if sum(np.size(values) for values in named.values()) > _MOST_PRINTED:
        shapes = ", ".join(f"{name} {np.shape(values)}" for name, values in named.items())
        return f"# {call}({shapes}), drawn by inputs(np.random.default_rng(seed))"
    lines = [f"{name} = {_literal(values)}" for name, values in named.items()]
    given = ", ".join(f"{name}={name}" if isinstance(inputs, Mapping) else name for name in named)
    return "\n".join([*lines, f"{call}({given})"])


def _names(inputs: Sequence[Any]) -> list[str]:
    if len(inputs) == 2:
        return ["source", "target"]
    return [f"assembly{number}" for number in range(len(inputs))] if len(inputs) > 1 else ["assembly"]


def _literal(values: Any) -> str:
    if isinstance(values, xr.DataArray):
        ids = values["stimulus_id"].values.tolist() if "stimulus_id" in values.coords else None
        return f"assembly({_literal(values.values)}, stimulus_ids={ids})"
    array = np.asarray(values)
    kind = "" if array.dtype in (np.float64, np.int64, np.bool_) else f", {str(array.dtype)!r}"
    return f"np.array({array.tolist()}{kind})".replace("nan", "np.nan")
