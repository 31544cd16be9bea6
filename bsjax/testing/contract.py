"""Properties as checks: what is checked, and what a failure says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

# Arrays of more entries are not printed: the example draws them again.
_MOST_PRINTED = 240


class ContractError(AssertionError):
    """What a check raises where a property does not hold: the property in words, the values, and code that shows it.

    Attributes:
        property: the name of the property, as :func:`bsjax.testing.checks` lists it.
        example: code of the smallest inputs that were found to violate it.

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
    """One property of one thing: calling it does nothing, or raises a :class:`ContractError`.

    Attributes:
        name: of the property.
        run: the check.

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
    """What a property raises within the kit: what was found, and the inputs of the calls that show it."""

    def __init__(self, said: str, *calls: Any) -> None:
        super().__init__(said)
        self.calls = calls


class Size(NamedTuple):
    """Of standard data."""

    stimuli: int
    features: int
    neuroids: int


STANDARD = Size(40, 30, 4)
SMALLER = (Size(4, 2, 1), Size(6, 3, 2), Size(12, 6, 2), Size(24, 30, 2))


@dataclass(frozen=True, eq=False)
class Property:
    """A property: ``holds(rng, size)`` raises ``Violated`` where it does not hold.

    Attributes:
        name: by which failures and lists know it.
        words: what it says.
        holds: of a generator of random numbers, and a size where inputs have one.
        seeds: how many draws it is tried on.
        sized: whether smaller inputs may be looked for.
        size: of standard data.
    """

    name: str
    words: str
    holds: Callable[[np.random.Generator, Size], None]
    seeds: int = 1
    sized: bool = False
    size: Size = STANDARD

    def of(self, subject: str, show: Callable[[Any], str] = str) -> Check:
        """This property as a check of what is called so; ``show`` makes code of the inputs of a call."""

        def run() -> None:
            for seed in range(self.seeds):
                failure = self._failure(seed, self.size, subject)
                if failure is None:
                    continue
                for size in SMALLER if self.sized else ():
                    smaller = self._smaller(seed, size)
                    if smaller is not None:
                        failure = smaller
                        break
                code = "\n".join(map(show, failure.calls))
                raise ContractError(subject, self.name, self.words, str(failure), code) from failure

        return Check(self.name, run)

    def _failure(self, seed: int, size: Size, subject: str) -> Violated | None:
        try:
            self.holds(np.random.default_rng(seed), size)
        except Violated as violated:
            return violated
        except Exception as error:
            said = f"it raised {type(error).__name__}: {error}"
            raise ContractError(subject, self.name, self.words, said) from error
        return None

    def _smaller(self, seed: int, size: Size) -> Violated | None:
        try:
            self.holds(np.random.default_rng(seed), size)
        except Violated as violated:
            return violated
        except Exception:  # of so few stimuli it may have no value
            return None
        return None


def run_all(checks: Iterable[Check]) -> None:
    """Every check in turn; the first that fails raises."""
    for check in checks:
        check()


def same(found: Any, expected: Any, atol: float, said: str, *calls: Any) -> None:
    """Refuses values that differ, NaN being equal to NaN."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        raise Violated(f"{said}: shapes {expected.shape} and {found.shape}", *calls)
    if not np.allclose(found, expected, rtol=1e-7, atol=atol, equal_nan=True):
        with np.errstate(invalid="ignore"):
            distance = np.abs(found.astype(float) - expected.astype(float))
        raise Violated(
            f"{said}: {shown(expected)} and {shown(found)}, which differ by {np.nanmax(distance, initial=0.0):.3g} "
            f"where {atol:.0e} is allowed",
            *calls,
        )


def shown(values: Any) -> str:
    """A few values as text."""
    text = np.array2string(np.asarray(values), precision=6, threshold=12, edgeitems=3, separator=", ")
    return " ".join(text.split())


def as_code(inputs: Any, call: str) -> str:
    """Code that makes the inputs of one call, and the call."""
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
