"""The single checks of the checklist for data that are to be published; each returns what is wrong and what to do."""

import io
import re
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import some
from bsjax.data.files.media_types import media_problems, media_type
from bsjax.data.files.stimulus_files import stimulus_filenames
from bsjax.data.files.tables import table_as_csv
from bsjax.data.publishing.overview import count_missing
from bsjax.data.types.assembly_checks import missing_problems
from bsjax.data.types.stimuli import StimulusSet

_NAMES = re.compile(
    r"([A-Za-z][A-Za-z0-9]*\.)*"  # the lab
    r"[A-Z][A-Za-z'-]*(18|19|20)\d\d[a-z]?[A-Za-z0-9]*([._-][A-Za-z0-9._-]+)?"  # author, year, part
    r"|[a-z]+\.[bn]\.[mh]\.[A-Z][A-Za-z'-]*\.\d+"  # requested: behaviour or neurons, monkey or human, proposer, number
)
_REQUESTED_FILE = re.compile(r"(?:[a-zA-Z0-9]+_?)?(?!0)(\d+)\.(?:jpg|jpeg|png|mp4)")


def name_problems(identifier: str) -> list[str]:
    """An identifier that does not follow the naming convention.

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
    """A table of stimuli without the columns or rows that it needs.

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


def id_problems(ids: pd.Index) -> list[str]:
    """Stimulus ids that are missing, not unique, or others when Brain-Score reads them from a CSV file.

    Example:
        >>> id_problems(pd.Index(["001", "002"]))
        ["Brain-Score would read other ids from the CSV file than '001', '002', and not find those in the assembly: \
have each begin with a letter, e.g. 'im_1'"]
    """
    problems = []
    if ids.hasnans:
        problems.append(f"stimulus_id is missing in {int(ids.isna().sum())} of {len(ids)} rows: fill it in")
    ids = ids.dropna()
    repeated = ids[ids.duplicated()].unique()
    if len(repeated):
        problems.append(f"stimulus_id repeats {some(repeated)}: give each stimulus an id of its own")
    # Brain-Score reads the table with pandas' own idea of types: "001" becomes 1, and "NA" is missing.
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
    """Stimuli without a file, and files that are not there or cannot be decoded.

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
    """What keeps a set out of a CSV and a zip file.

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
        except FileNotFoundError:  # that is for another check to say
            pass
        except ValueError as error:
            problems.append(str(error))
    return problems


def media_type_problems(paths: Collection[Path]) -> list[str]:
    """Files of several media types.

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
    """File names that Brain-Score does not take for requested experiments.

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


def coordinate_problems(assembly: xr.DataArray) -> list[str]:
    """Coordinates that are not there, or that Brain-Score loses.

    Example:
        >>> coordinate_problems(xr.DataArray([0], {"stimulus_id": ("presentation", ["a"])}, ["presentation"]))
        ['Brain-Score loses the name of a coordinate that is alone on its dimension (stimulus_id on presentation): \
add another one']
    """
    on = {dim: [name for name, coord in assembly.coords.items() if coord.dims == (dim,)] for dim in assembly.dims}
    alone = [f"{names[0]} on {dim}" for dim, names in on.items() if len(names) == 1 and names[0] != dim]
    problems = []
    if alone:
        problems.append(
            f"Brain-Score loses the name of a coordinate that is alone on its dimension ({', '.join(alone)}): "
            "add another one"
        )
    lacking = [name for name in ("time_bin_start", "time_bin_end") if name not in assembly.coords]
    if "time_bin" in assembly.dims and lacking:
        problems.append(f"time_bin has no coordinate {' and '.join(lacking)}: add the limits in ms")
    return problems


def nan_problems(assembly: xr.DataArray) -> list[str]:
    """Values that are missing.

    Example:
        >>> nan_problems(xr.DataArray([1.0, float("nan")], dims=["presentation"]))
        ['1 of 2 values is NaN, first at presentation number 1: fill it in, or leave out its row']
    """
    if not count_missing(assembly):
        return []
    return [f"{problem}: fill it in, or leave out its row" for problem in missing_problems(assembly)]


def presence_problems(assembly: xr.DataArray, name: str, dim: str, advice: str) -> list[str]:
    """A coordinate that is not there, or has no value in places.

    Example:
        >>> presence_problems(xr.DataArray([0], dims=["neuroid"]), "region", "neuroid", "say where each is")
        ["no coordinate 'region' on neuroid: say where each is"]
    """
    coord = assembly.coords.get(name)
    if coord is None or coord.dims != (dim,):
        return [f"no coordinate {name!r} on {dim}: {advice}"]
    lost = int(pd.isna(coord.values).sum())
    return [f"{name} is missing in {lost} of {coord.size} places: {advice}"] if lost else []


def alignment_problems(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[str]:
    """Stimulus ids of the assembly that the stimulus set does not have.

    Example:
        >>> responses = xr.DataArray([0], {"stimulus_id": ("presentation", [1])}, ["presentation"])
        >>> alignment_problems(responses, pd.DataFrame({"stimulus_id": ["1"]}))
        ['1 of 1 stimulus ids are not in the stimulus set (1): they differ in type alone, numbers and text: use text \
in both']
    """
    # as objects, so that 1 is not "1"
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
    """Coordinates whose type is not that of the column of the same name.

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
    """What types are compatible: those that have the same name here."""
    if values.dtype.kind == "O":
        inferred = str(pd.api.types.infer_dtype(values[~np.asarray(pd.isna(values))]))
        return {"string": "text", "empty": "nothing", "floating": "float"}.get(inferred, inferred)
    families = {"U": "text", "T": "text", "i": "integer", "u": "integer", "f": "float", "b": "boolean"}
    return families.get(values.dtype.kind, str(values.dtype))
