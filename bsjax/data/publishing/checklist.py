"""The checklist for data that are to be published: each check, whether it passes, and what to do if not.

The checks are those of Brain-Score's submission tutorial and of its packaging, and those that its own validator leaves
out or gets wrong: files are decoded, identifiers are compared, and every problem is named at once.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.publishing import checks as find
from bsjax.data.types.assemblies import (
    MetadataAssembly,
    ModelFeaturesAssembly,
    NeuroidAssembly,
    PropertyAssembly,
    SpikeTimesAssembly,
    resolve_assembly_class,
)
from bsjax.data.types.stimuli import StimulusSet

CHECKS = (
    *("name", "table", "ids", "files", "store", "media", "requested"),  # of stimulus sets
    *("class", "coordinates", "nan", "repetition", "region", "aligned", "types"),  # of assemblies
)
"""The names of all checks, by which they are waived."""


@dataclass(frozen=True)
class Check:
    """One line of the checklist.

    Attributes:
        name: a word for it, by which it can be waived.
        asks: what has to hold.
        problems: what does not, and what to do; none if it passes.
    """

    name: str
    asks: str
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def check_stimulus_set(
    stimulus_set: pd.DataFrame, identifier: str | None = None, requested: bool = False
) -> list[Check]:
    """Check a stimulus set before it is packaged.

    Args:
        stimulus_set: the set; its files are decoded.
        identifier: the name that it is to have; not checked if None.
        requested: also check what Brain-Score asks of sets for requested experiments: numbered file names, and
            images in colour or grey.

    Example:
        >>> from bsjax.data import StimulusSet
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "a"], "size": [1, 2]})
        >>> for check in check_stimulus_set(stimuli):
        ...     print(check.name, check.passed, *check.problems)
        table True
        ids False stimulus_id repeats a: give each stimulus an id of its own
        files False stimulus_paths lacks a: map each id to the path of its file
        media True
    """
    checks = _check_name(identifier)
    checks.append(
        _check("table", "the table has a column stimulus_id, another one, and rows", find.table_problems(stimulus_set))
    )
    if list(stimulus_set.columns).count("stimulus_id") != 1:
        return checks
    ids = pd.Index(stimulus_set["stimulus_id"])
    known = getattr(stimulus_set, "stimulus_paths", {})
    paths = [Path(known[stimulus_id]) for stimulus_id in ids if stimulus_id in known]
    checks += [
        _check("ids", "each stimulus has an id of its own, which a CSV file keeps", find.id_problems(ids)),
        _check("files", "each stimulus has a file, and it can be decoded", find.file_problems(ids, known, paths)),
        _check("media", "all files are of one media type", find.media_type_problems(paths)),
    ]
    if len(paths) == len(ids):
        stored = find.store_problems(StimulusSet(stimulus_set, stimulus_paths=known))
        checks.append(_check("store", "a CSV and a zip file can hold it", stored))
    if requested:
        asks = "files are numbered, as for requested experiments"
        checks.append(_check("requested", asks, find.requested_problems(paths)))
    return checks


def check_assembly(
    assembly: xr.DataArray,
    identifier: str | None = None,
    assembly_class_name: str = "NeuroidAssembly",
    stimulus_set: pd.DataFrame | None = None,
) -> list[Check]:
    """Check an assembly before it is packaged, and whether it fits its stimulus set.

    Args:
        assembly: the assembly.
        identifier: the name that it is to have; not checked if None.
        assembly_class_name: the class that it is to have.
        stimulus_set: its stimuli; default: its attribute ``stimulus_set``, if it has one. Without any, it is not
            checked against them.

    Raises:
        ValueError: there is no such class.

    Example:
        >>> responses = xr.DataArray([[1.0], [float("nan")]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "repetition": ("presentation", [0, 0]),
        ...     "neuroid_id": ("neuroid", ["n1"]), "animal": ("neuroid", ["Chabo"])})
        >>> for check in check_assembly(responses):
        ...     print(check.name, check.passed, *check.problems)
        class True
        coordinates True
        nan False 1 of 2 values is NaN, first at stimulus_id b, neuroid_id n1: fill it in, or leave out its row
        repetition True
        region False no coordinate 'region' on neuroid: say where each neuroid is, e.g. ('neuroid', ['IT', ...])
    """
    cls = resolve_assembly_class(assembly_class_name)
    # What the class asks of dimensions and coordinates; the values, which may be many, are looked at apart.
    bare = cls(assembly.copy(data=_placeholder(assembly)))
    bare.attrs = {}
    checks = [
        *_check_name(identifier),
        _check("class", f"dimensions, coordinates and values are those of a {cls.__name__}", bare.problems()),
        _check("coordinates", "coordinates are those that the standard asks for", find.coordinate_problems(assembly)),
    ]
    if not issubclass(cls, (PropertyAssembly, MetadataAssembly)):  # a property may be unknown
        checks.append(_check("nan", "no value is missing", find.nan_problems(assembly)))
    if issubclass(cls, NeuroidAssembly) and not issubclass(cls, SpikeTimesAssembly):
        if not issubclass(cls, ModelFeaturesAssembly):
            advice = "number the presentations of each stimulus, e.g. ('presentation', [0, 1, ...])"
            problems = find.presence_problems(assembly, "repetition", "presentation", advice)
            checks.append(_check("repetition", "presentations say which repetition they are", problems))
        advice = "say where each neuroid is, e.g. ('neuroid', ['IT', ...])"
        problems = find.presence_problems(assembly, "region", "neuroid", advice)
        checks.append(_check("region", "neuroids say which region they are in", problems))
    stimuli = assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
    if isinstance(stimuli, pd.DataFrame) and "stimulus_id" in assembly.coords and "stimulus_id" in stimuli:
        problems = find.alignment_problems(assembly, stimuli)
        checks.append(_check("aligned", "every stimulus id is in the stimulus set", problems))
        problems = find.type_problems(assembly, stimuli)
        checks.append(_check("types", "coordinates and columns of one name are of one type", problems))
    return checks


def known_checks(names: Iterable[str]) -> list[str]:
    """The names, if all are those of checks.

    Raises:
        ValueError: some are not; the message lists those there are.

    Example:
        >>> known_checks(["nan", "region"])
        ['nan', 'region']
    """
    names = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(f"no check is called {', '.join(map(repr, unknown))}; there are: {', '.join(CHECKS)}")
    return names


def failures(checks: Iterable[Check], allow: Collection[str] = ()) -> list[str]:
    """The problems of the checks that fail and are not waived, each with the name of its check.

    Example:
        >>> failures([Check("nan", "no value is missing", ("all are NaN",)), Check("ids", "ids are unique")])
        ['nan: all are NaN']
    """
    allow = known_checks(allow)
    return [f"{check.name}: {problem}" for check in checks if check.name not in allow for problem in check.problems]


def refuse(problems: list[str], what: str) -> None:
    """Raise one error that lists every problem, if there is any.

    Raises:
        ValueError: there are problems.

    Example:
        >>> refuse(["nan: 1 of 2 values is NaN"], "the assembly A2024")
        Traceback (most recent call last):
        ...
        ValueError: cannot package the assembly A2024, 1 problem: nan: 1 of 2 values is NaN
    """
    if problems:
        number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ValueError(f"cannot package {what}, {number}: " + "; ".join(problems))


def _check(name: str, asks: str, problems: list[str]) -> Check:
    return Check(name, asks, tuple(problems))


def _check_name(identifier: str | None) -> list[Check]:
    if identifier is None:
        return []
    return [_check("name", "the identifier is of the form [lab.]AuthorYear[.part]", find.name_problems(identifier))]


def _placeholder(assembly: xr.DataArray) -> Any:
    zero = np.asarray("") if assembly.dtype.kind in "OUT" else np.zeros((), assembly.dtype)
    return np.broadcast_to(zero, assembly.shape)
