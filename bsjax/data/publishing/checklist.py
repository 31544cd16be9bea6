"""The checklist for data to be published: each check, whether it passes, and how to fix it.

The checks are those of Brain-Score's submission tutorial and of its packaging, plus those that its validator omits or
gets wrong: files are decoded, identifiers are compared, and all problems are reported at once.
"""

import io
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import counted, some
from bsjax.data.files.media_types import media_problems, media_type
from bsjax.data.files.stimulus_files import stimulus_filenames
from bsjax.data.files.tables import table_as_csv
from bsjax.data.publishing.overview import count_missing
from bsjax.data.types.assemblies import (
    DataAssembly,
    MetadataAssembly,
    ModelFeaturesAssembly,
    NeuroidAssembly,
    PropertyAssembly,
    RDMAssembly,
    SpikeTimesAssembly,
    resolve_assembly_class,
)
from bsjax.data.types.assembly_checks import missing_problems
from bsjax.data.types.stimuli import StimulusSet, id_problems

_NAMES = re.compile(
    r"([A-Za-z][A-Za-z0-9]*\.)*"  # the lab
    r"[A-Z][A-Za-z'-]*(18|19|20)\d\d[a-z]?[A-Za-z0-9]*([._-][A-Za-z0-9._-]+)?"  # author, year, part
    r"|[a-z]+\.[bn]\.[mh]\.[A-Z][A-Za-z'-]*\.\d+"  # requested: behaviour/neurons, monkey/human, proposer, number
)
_TIMES = ("time_bin_start", "time_bin_end")
_SECONDS = 10  # bins shorter than 1 that end before this number are taken to be in seconds
_REPEATED = "coordinate 'neuroid_id' repeats"
_REQUESTED_FILE = re.compile(r"(?:[a-zA-Z0-9]+_?)?(?!0)(\d+)\.(?:jpg|jpeg|png|mp4)")

CHECKS = {
    "name": "the identifier is of the form [lab.]AuthorYear[.part]",
    "table": "the table has rows, a column stimulus_id and at least one other column",
    "ids": "each stimulus has a unique id that survives storage as CSV",
    "files": "each stimulus has a file that can be decoded",
    "media": "all files are of one media type",
    "store": "it can be stored as CSV and zip files",
    "requested": "files are numbered, as for requested experiments",
    "class": "dimensions, coordinates and values match its class",
    "neuroids": "each neuroid has an id of its own",
    "coordinates": "coordinates follow the standard",
    "nan": "there are no missing values",
    "repetition": "each presentation has a repetition number",
    "region": "each neuroid has a region",
    "time": "recordings have time bins in ms",
    "aligned": "every stimulus id is in the stimulus set",
    "types": "coordinates and columns with the same name have the same type",
}
"""The requirement of each check, by its name, by which it can be waived."""


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: short name, by which the check can be waived.
        asks: the requirement.
        problems: the violations, and how to fix them; empty if the check passes.
        skipped: why the check could not run, and what to do; "" if it ran.
    """

    name: str
    asks: str
    problems: tuple[str, ...] = ()
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def check_stimulus_set(
    stimulus_set: pd.DataFrame, identifier: str | None = None, requested: bool = False
) -> list[Check]:
    """Check a stimulus set before it is packaged.

    Args:
        stimulus_set: the set; its files are decoded.
        identifier: the intended name; not checked if None.
        requested: whether to check Brain-Score's further requirements for requested experiments: numbered file names,
            and images in colour or grey.

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
    found = {"name": name_problems(identifier)} if identifier is not None else {}
    found["table"] = table_problems(stimulus_set)
    if list(stimulus_set.columns).count("stimulus_id") != 1:  # the other checks need the ids
        return _checks(found)
    ids = pd.Index(stimulus_set["stimulus_id"])
    known = getattr(stimulus_set, "stimulus_paths", {})
    paths = [Path(known[key]) for key in ids if key in known]
    found |= {"ids": stored_id_problems(ids), "files": file_problems(ids, known, paths)}
    found["media"] = media_type_problems(paths)
    if len(paths) == len(ids):
        found["store"] = store_problems(StimulusSet(stimulus_set, stimulus_paths=known))
    if requested:
        found["requested"] = requested_problems(paths)
    return _checks(found)


def check_assembly(
    assembly: xr.DataArray,
    identifier: str | None = None,
    assembly_class_name: str = "NeuroidAssembly",
    stimulus_set: pd.DataFrame | None = None,
) -> list[Check]:
    """Check an assembly before it is packaged, and its agreement with its stimulus set.

    Args:
        assembly: the assembly.
        identifier: the intended name; not checked if None.
        assembly_class_name: the intended class.
        stimulus_set: its stimuli; by default its attribute ``stimulus_set``. Without stimuli, their agreement is not
            checked.

    Raises:
        ValueError: the class is unknown.

    Example:
        >>> responses = xr.DataArray([[1.0], [float("nan")]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "repetition": ("presentation", [0, 0]),
        ...     "neuroid_id": ("neuroid", ["n1"]), "animal": ("neuroid", ["Chabo"]),
        ...     "time_bin_start": 70, "time_bin_end": 170})
        >>> for check in check_assembly(responses):
        ...     print(check.name, check.passed, *check.problems)
        class True
        coordinates True
        neuroids True
        nan False 1 of 2 values is NaN, first at stimulus_id b, neuroid_id n1: fill it in, or leave out its row
        repetition True
        region False no coordinate 'region' on neuroid: say where each neuroid is, e.g. ('neuroid', ['IT', ...])
        time True
    """
    cls = resolve_assembly_class(assembly_class_name)
    stimuli = assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
    found = {"name": name_problems(identifier)} if identifier is not None else {}
    found |= {"class": class_problems(assembly, cls), "coordinates": coordinate_problems(assembly, cls)}
    of_neuroids = issubclass(cls, NeuroidAssembly) and not issubclass(cls, SpikeTimesAssembly)
    if of_neuroids:
        found["neuroids"] = [problem for problem in found["class"] if problem.startswith(_REPEATED)]
        found["class"] = [problem for problem in found["class"] if problem not in found["neuroids"]]
    if not issubclass(cls, (PropertyAssembly, MetadataAssembly)):  # of which values may be unknown
        found["nan"] = nan_problems(assembly)
    recorded = of_neuroids and not issubclass(cls, ModelFeaturesAssembly)
    if recorded:
        advice = "number the presentations of each stimulus, e.g. ('presentation', [0, 1, ...])"
        found["repetition"] = presence_problems(assembly, "repetition", "presentation", advice)
    if of_neuroids:
        advice = "say where each neuroid is, e.g. ('neuroid', ['IT', ...])"
        found["region"] = presence_problems(assembly, "region", "neuroid", advice)
    if recorded:
        found["time"] = time_problems(assembly)
    if isinstance(stimuli, pd.DataFrame) and "stimulus_id" in assembly.coords and "stimulus_id" in stimuli:
        found |= {"aligned": alignment_problems(assembly, stimuli), "types": type_problems(assembly, stimuli)}
    return _checks(found)


def _checks(found: Mapping[str, Sequence[str]]) -> list[Check]:
    """The results of checks, from the problems that each has found."""
    return [Check(name, CHECKS[name], tuple(problems)) for name, problems in found.items()]


def known_checks(names: Iterable[str]) -> list[str]:
    """Return the names after verifying that each is the name of a check.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.

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
    """The problems of failed checks that are not waived, each prefixed with the name of its check.

    Example:
        >>> failures([Check("nan", "there are no missing values", ("all are NaN",)), Check("ids", "ids are unique")])
        ['nan: all are NaN']
    """
    allow = known_checks(allow)
    return [f"{check.name}: {problem}" for check in checks if check.name not in allow for problem in check.problems]


def refuse(problems: list[str], what: str) -> None:
    """Raise one error that lists all problems, if there are any.

    Raises:
        ValueError: there are problems.

    Example:
        >>> refuse(["nan: 1 of 2 values is NaN"], "the assembly A2024")
        Traceback (most recent call last):
        ...
        ValueError: cannot package the assembly A2024, 1 problem: nan: 1 of 2 values is NaN
    """
    if problems:
        raise ValueError(f"cannot package {what}, {counted(len(problems), 'problem')}: " + "; ".join(problems))


def name_problems(identifier: str) -> list[str]:
    """Problems of an identifier that does not follow the naming convention.

    Example:
        >>> name_problems("dicarlo.MajajHong2015.public")
        []
    """
    if isinstance(identifier, str) and _NAMES.fullmatch(identifier):
        return []
    return [
        f"{identifier!r} is not like [lab.]AuthorYear[.part]: name it after the first author and the year, "
        "e.g. 'MajajHong2015', 'dicarlo.MajajHong2015.public' or 'Geirhos2021_sketch'"
    ]


def table_problems(stimulus_set: pd.DataFrame) -> list[str]:
    """Problems of a stimulus table that lacks required columns or rows.

    Example:
        >>> table_problems(pd.DataFrame({"stimulus_id": ["a"]}))
        ['nothing but stimulus_id is known of the stimuli: add a column, e.g. their category']
    """
    problems = []
    if "stimulus_id" not in stimulus_set:
        also = "rename image_id" if "image_id" in stimulus_set else "add one"
        problems.append(f"no column 'stimulus_id' (columns present: {some(stimulus_set.columns) or 'none'}): {also}")
    if not set(stimulus_set.columns) - {"stimulus_id", "filename"}:
        problems.append("nothing but stimulus_id is known of the stimuli: add a column, e.g. their category")
    repeated = stimulus_set.columns[stimulus_set.columns.duplicated()]
    if len(repeated):
        problems.append(f"columns that occur twice: {some(repeated)}: rename or drop them")
    if not len(stimulus_set):
        problems.append("it has no rows")
    return problems


def stored_id_problems(ids: pd.Index) -> list[str]:
    """Problems of stimulus ids that are missing, repeated, or misread by Brain-Score from a CSV file.

    Example:
        >>> stored_id_problems(pd.Index(["001", "002"]))
        ["Brain-Score would read other ids from the CSV file than '001', '002', and not find those in the assembly: \
have each begin with a letter, e.g. 'im_1'"]
    """
    problems = id_problems(ids)
    ids = ids.dropna()
    # Brain-Score reads the table with pandas' type inference: "001" becomes 1, and "NA" is missing.
    table = pd.DataFrame({"stimulus_id": ids}).to_csv(index=False)
    read = pd.read_csv(io.StringIO(table), skip_blank_lines=False)["stimulus_id"]
    lost = [_plain(given) for given, got in zip(ids, read, strict=True) if not _same(given, got)]
    if lost:
        problems.append(
            f"Brain-Score would read other ids from the CSV file than {some(list(map(repr, lost)))}, and not find "
            "those in the assembly: have each begin with a letter, e.g. 'im_1'"
        )
    return problems


def file_problems(ids: pd.Index, known: Mapping[Hashable, Any], paths: Collection[Path]) -> list[str]:
    """Problems of stimuli without a file, and of files that are missing or cannot be decoded.

    Example:
        >>> file_problems(pd.Index(["a"]), {}, [])
        ['stimulus_paths lacks a: map each id to the path of its file']
    """
    lacking = [stimulus_id for stimulus_id in ids.dropna().unique() if stimulus_id not in known]
    problems = [f"stimulus_paths lacks {some(lacking)}: map each id to the path of its file"] if lacking else []
    broken = media_problems(paths)
    if broken:
        listed = "; ".join(broken[:5]) + (f"; ... ({len(broken)} files in all)" if len(broken) > 5 else "")
        problems.append(f"{listed}: replace {'it' if len(broken) == 1 else 'them'}, or leave out the rows")
    return problems


def store_problems(stimulus_set: StimulusSet) -> list[str]:
    """Problems that prevent writing a set to a CSV and a zip file.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
        ...     store_problems(StimulusSet({"stimulus_id": ["a/b"]}, stimulus_paths={"a/b": file.name}))
        ["cannot name the files of this stimulus set: 'a/b.png' is not a plain file name, and Brain-Score reads no \
folders in a zip: give another one in the column stimulus_path_within_store"]
    """
    problems = []
    for write in (stimulus_filenames, table_as_csv):
        try:
            write(stimulus_set)
        except FileNotFoundError:  # reported by another check
            pass
        except ValueError as error:
            problems.append(str(error))
    return problems


def media_type_problems(paths: Collection[Path]) -> list[str]:
    """Problem of files with several media types.

    Example:
        >>> media_type_problems([Path("a.png"), Path("b.png"), Path("c.mp4")])
        ['files of several types, image/png (2), video/mp4 (1): convert them to one']
    """
    types = pd.Series([media_type(path) for path in paths], dtype=object).value_counts()
    if len(types) <= 1:
        return []
    listed = ", ".join(f"{kind} ({count})" for kind, count in types.items())
    return [f"files of several types, {listed}: convert them to one"]


def requested_problems(paths: Collection[Path]) -> list[str]:
    """Problems of file names that Brain-Score rejects for requested experiments.

    Example:
        >>> requested_problems([Path("image_1.png"), Path("image_3.png")])
        ['numbers of files do not follow each other at 3: number them without gaps']
    """
    matches = {path.name: _REQUESTED_FILE.fullmatch(path.name) for path in paths}
    wrong = [name for name, match in matches.items() if match is None]
    problems = [f"file names are not like 'image_12.png': {some(wrong)}: rename them"] if wrong else []
    numbers = sorted(int(match[1]) for match in matches.values() if match)
    gaps = [after for before, after in zip(numbers, numbers[1:], strict=False) if after != before + 1]
    if gaps:
        problems.append(f"numbers of files do not follow each other at {some(gaps)}: number them without gaps")
    return problems


def class_problems(assembly: xr.DataArray, cls: type[DataAssembly]) -> list[str]:
    """Violations of the class's dimensions and coordinates; the values, possibly large, are checked separately.

    Example:
        >>> class_problems(xr.DataArray([0], dims=["neuroid"]), SpikeTimesAssembly)[0]
        'expected the dimensions event, got neuroid'
    """
    zero = np.asarray("") if assembly.dtype.kind in "OUT" else np.zeros((), assembly.dtype)
    bare = cls(assembly.copy(data=np.broadcast_to(zero, assembly.shape)))
    bare.attrs = {}
    return bare.problems()


def coordinate_problems(assembly: xr.DataArray, cls: type[DataAssembly] = DataAssembly) -> list[str]:
    """Problems of coordinates that are missing, or that Brain-Score loses.

    Args:
        assembly: the assembly.
        cls: its class. Brain-Score has no ``RDMAssembly``, so it loses nothing of one.

    Example:
        >>> coordinate_problems(xr.DataArray([0], {"stimulus_id": ("presentation", ["a"])}, ["presentation"]))
        ['Brain-Score loses the name of a coordinate that is alone on its dimension (stimulus_id on presentation): \
add another one']
    """
    on = {dim: [name for name, coord in assembly.coords.items() if coord.dims == (dim,)] for dim in assembly.dims}
    alone = [f"{names[0]} on {dim}" for dim, names in on.items() if len(names) == 1 and names[0] != dim]
    problems = []
    if alone and not issubclass(cls, RDMAssembly):
        problems.append(
            f"Brain-Score loses the name of a coordinate that is alone on its dimension ({', '.join(alone)}): "
            "add another one"
        )
    lacking = [name for name in _TIMES if name not in assembly.coords or assembly[name].dims != ("time_bin",)]
    if "time_bin" in assembly.dims and lacking:
        problems.append(f"time_bin has no coordinate {' and '.join(lacking)}: add the limits in ms")
    return problems


def nan_problems(assembly: xr.DataArray) -> list[str]:
    """Problems of missing values.

    Example:
        >>> nan_problems(xr.DataArray([1.0, float("nan")], dims=["presentation"]))
        ['1 of 2 values is NaN, first at presentation number 1: fill it in, or leave out its row']
    """
    if not count_missing(assembly):
        return []
    return [f"{problem}: fill it in, or leave out its row" for problem in missing_problems(assembly)]


def presence_problems(assembly: xr.DataArray, name: str, dim: str, advice: str) -> list[str]:
    """Problems of a coordinate that is missing or has missing values.

    Example:
        >>> presence_problems(xr.DataArray([0], dims=["neuroid"]), "region", "neuroid", "say where each is")
        ["no coordinate 'region' on neuroid: say where each is"]
    """
    coord = assembly.coords.get(name)
    if coord is None or coord.dims != (dim,):
        return [f"no coordinate {name!r} on {dim}: {advice}"]
    lost = int(pd.isna(coord.values).sum())
    return [f"{name} is missing in {lost} of {coord.size} places: {advice}"] if lost else []


def time_problems(assembly: xr.DataArray) -> list[str]:
    """Problem of a recording that does not say when it was made, or says it in seconds instead of ms.

    Example:
        >>> time_problems(xr.DataArray([0], {"time_bin_start": 70, "time_bin_end": 170}, ["neuroid"]))
        []
        >>> time_problems(xr.DataArray([0], {"time_bin_start": 0.07, "time_bin_end": 0.17}, ["neuroid"]))
        ['time bins are up to 0.1 ms long and end by 0.17 ms, as if in seconds: give time_bin_start and time_bin_end \
in ms']
    """
    if set(_TIMES) <= set(assembly.coords):
        start, end = (np.ravel(assembly.coords[name].values) for name in _TIMES)
        if start.dtype.kind not in "iuf" or end.dtype.kind not in "iuf" or not start.size:
            return []
        long, last = (end - start).max(), max(abs(start).max(), abs(end).max())
        said = f"time bins are up to {long:.3g} ms long and end by {end.max():.3g} ms, as if in seconds"
        return [f"{said}: give time_bin_start and time_bin_end in ms"] if long < 1 and last < _SECONDS else []
    if "time_bin" in assembly.dims:
        return []  # what is missing is a problem of the coordinates
    advice = "say it in ms after stimulus onset, e.g. assembly.assign_coords(time_bin_start=70, time_bin_end=170)"
    return [f"no time_bin_start and time_bin_end, which benchmarks record a model at: {advice}"]


def alignment_problems(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[str]:
    """Problem of stimulus ids in the assembly that are missing in the stimulus set.

    Example:
        >>> responses = xr.DataArray([0], {"stimulus_id": ("presentation", [1])}, ["presentation"])
        >>> alignment_problems(responses, pd.DataFrame({"stimulus_id": ["1"]}))
        ['1 of 1 stimulus ids are not in the stimulus set (1): they differ in type alone, numbers and text: use text \
in both']
    """
    # compare as objects, so that 1 differs from "1"
    shown = pd.Index(np.ravel(assembly.coords["stimulus_id"].values), dtype=object).dropna().unique()
    there = pd.Index(stimulus_set["stimulus_id"], dtype=object)
    absent = shown[~shown.isin(there)]
    if not len(absent):
        return []
    if absent.map(str).isin(there.map(str)).all():
        advice = "they differ in type alone, numbers and text: use text in both"
    else:
        advice = "add them to the set, or leave out their rows"
    return [f"{len(absent)} of {len(shown)} stimulus ids are not in the stimulus set ({some(absent)}): {advice}"]


def type_problems(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[str]:
    """Problems of coordinates whose type differs from that of the column of the same name.

    Example:
        >>> responses = xr.DataArray([0], {"size": ("presentation", [1])}, ["presentation"])
        >>> type_problems(responses, pd.DataFrame({"size": ["1"]}))
        ['size is integer in the assembly and text in the stimulus set: use one type']
    """
    problems = []
    for name, coord in assembly.coords.items():
        if name in stimulus_set.columns and coord.ndim == 1:
            here, there = _family(coord.values), _family(stimulus_set[name].to_numpy())
            if here != there and "nothing" not in (here, there):
                problems.append(f"{name} is {here} in the assembly and {there} in the stimulus set: use one type")
    return problems


def _same(given: Any, got: Any) -> bool:
    return isinstance(given, str) == isinstance(got, str) and bool(given == got)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _family(values: np.ndarray) -> str:
    """Name of the family of compatible types that the values belong to."""
    if values.dtype.kind == "O":
        inferred = str(pd.api.types.infer_dtype(values[~np.asarray(pd.isna(values))]))
        return {"string": "text", "empty": "nothing", "floating": "float"}.get(inferred, inferred)
    families = {"U": "text", "T": "text", "i": "integer", "u": "integer", "f": "float", "b": "boolean"}
    return families.get(values.dtype.kind, str(values.dtype))
