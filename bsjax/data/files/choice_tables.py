"""Tables of choices as CSV files, with the object that each image was named as.

Two layouts are supported; further columns are allowed:

====================  ==============================================================================================
model-vs-human's      ``subj, session, trial, rt, object_response, category, condition, imagename``; a file is called
                      ``<experiment>_<who>_session-<n>.csv``, and may be with others in a folder of its experiment
plain                 ``stimulus_id, choice``, and ``condition`` if a stimulus was shown in several; the file name is
                      the name of the model
====================  ==============================================================================================
"""

import warnings
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pandas as pd

from bsjax.core.file_reading import reading_as
from bsjax.core.left_behind import is_left_behind
from bsjax.core.messages import some

_VS_HUMAN = {"imagename": "stimulus_id", "object_response": "choice", "condition": "condition", "subj": "subject"}
_PLAIN = {"stimulus_id": "stimulus_id", "choice": "choice"}
_PERSON = "subject-"

Tables = dict[str, dict[str, pd.DataFrame]]
"""Model -> experiment (``""`` for a plain table) -> columns stimulus_id, choice, and optionally condition."""


def image_name(name: str) -> str:
    """The part of an image name that people's and models' trials share, without the extension.

    For an ImageNet image this is its ImageNet name (``n0..._number``), otherwise the part after the last underscore.
    The preceding parts identify the trial, subject, condition and category.

    Example:
        >>> image_name("0001_cl_s01_cr_oven_40_n04111531_14126.png"), image_name("cr_oven_40_n04111531_14126")
        ('n04111531_14126', 'n04111531_14126')
        >>> image_name("0001_s5n_s01_0_bird_00_bird3-bird2.png")
        'bird3-bird2'
    """
    path = PurePosixPath(str(name))
    parts = (path.stem if path.suffix.lower() in (".png", ".jpg", ".jpeg") else path.name).split("_")
    known = len(parts) > 1 and parts[-2].startswith("n0")
    return "_".join(parts[-2:]) if known else parts[-1]


def read_choices(*paths: str | Path) -> Tables:
    """Read the choices of models from CSV files, and from folders of them, including nested ones.

    Trials of people, whose ``subj`` begins with "subject-", are left out. Files in folders that are not tables of
    choices are left out with a warning that names them. Every cell is text: "na" and "NaN" are answers.

    Args:
        *paths: CSV files or folders.

    Returns:
        Model -> experiment -> table; see ``Tables``.

    Raises:
        FileNotFoundError: a file is missing, or a folder has no CSV file.
        ValueError: a named file has neither layout, a table lacks a value, there is no trial of a model, or two folders
            hold choices of one model in one experiment. The message names the files.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "mine.csv").write_text("stimulus_id,choice\\na,dog\\nb,car\\n")
        ...     read_choices(folder)["mine"][""]["choice"].tolist()
        ['dog', 'car']
    """
    parts: dict[tuple[str, str], list[pd.DataFrame]] = {}
    origins: dict[tuple[str, str], Path] = {}
    strangers: dict[Path, _NoChoices] = {}
    people = 0
    for file, named in {file.resolve(): (file, named) for path in paths for file, named in _files(path)}.values():
        if f"_{_PERSON}" in file.name:
            people += 1
            continue
        try:
            tables = _read(file)
        except _NoChoices as error:
            if named:
                raise
            strangers[file] = error
            continue
        for key, table in tables.items():
            _refuse_two_folders(*key, origins.setdefault(key, file), file)
            parts.setdefault(key, []).append(table)
    models: Tables = {}
    for (model, experiment), tables in parts.items():
        if model.startswith(_PERSON):
            people += 1
        else:
            models.setdefault(model, {})[experiment] = pd.concat(tables, ignore_index=True)
    if not models and strangers and not people:
        raise next(iter(strangers.values()))
    if not models:
        where = " and ".join(map(str, paths))
        raise ValueError(f"{where} has the trials of people only ({people} of them), none of a model")
    if strangers:
        warnings.warn(f"left out, being no tables of choices: {some(strangers)}", stacklevel=2)
    return models


class _NoChoices(ValueError):
    """A file is not a table of choices, as opposed to a damaged table."""


def _files(path: str | Path) -> list[tuple[Path, bool]]:
    """The CSV files at a path, each with whether the path names it directly."""
    root = Path(path).expanduser()
    files = [(file, False) for file in sorted(root.rglob("*.csv")) if not is_left_behind(file.relative_to(root))]
    files = files if root.is_dir() else [(root, True)]
    if not files or not root.exists():
        raise FileNotFoundError(
            f"no {'CSV file in the folder' if root.is_dir() else 'file'} {path} to read choices from"
        )
    return files


def _refuse_two_folders(model: str, experiment: str, first: Path, file: Path) -> None:
    """Raise an error if two folders hold files of one experiment, because these may be two models of one name."""
    if first.parent.resolve() != file.parent.resolve():
        raise ValueError(
            f"two folders hold choices of the model {model!r}{experiment and f' in {experiment}'}: {first} and {file}; "
            "give one of them, or give one of the models another name"
        )


def _read(file: Path) -> Mapping[tuple[str, str], pd.DataFrame]:
    """(Model, experiment) -> the rows of a file."""
    if not file.is_file():  # opening a pipe would wait for its other end
        raise _NoChoices(f"{file} is no table of choices, and no regular file either")
    with reading_as("a table of choices", file, ""):
        table = pd.read_csv(file, dtype=str, keep_default_na=False, skipinitialspace=True)
    table.columns = table.columns.str.strip()  # hand-written tables: "stimulus_id, choice"
    columns = next((known for known in (_VS_HUMAN, _PLAIN) if set(known) <= set(table)), None)
    if columns is None:
        raise _NoChoices(
            f"{file} is no table of choices: it needs the columns {', '.join(_VS_HUMAN)}, or {', '.join(_PLAIN)}; it "
            f"has {some(list(table.columns), 10) or 'none'}"
        )
    names = {**columns, "condition": "condition"} if "condition" in table else columns
    table = table.loc[:, list(names)].rename(columns=names)
    empty = (table == "").any(axis=1)
    if empty.any() or not len(table):
        raise ValueError(f"{file} is cut short: {int(empty.sum())} of {len(table)} rows lack a value")
    if "subject" not in table:
        return {(file.stem, ""): table}
    experiment = file.stem.partition("_")[0] if "_" in file.stem else file.stem
    return {(str(who), experiment): rows.drop(columns="subject") for who, rows in table.groupby("subject", sort=False)}
