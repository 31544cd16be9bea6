"""Tables of choices: which object each image was taken for, as CSV files.

Two layouts are read, with further columns or without:

====================  ==============================================================================================
model-vs-human's      ``subj, session, trial, rt, object_response, category, condition, imagename``; a file is called
                      ``<experiment>_<who>_session-<n>.csv``, and may be with others in a folder of its experiment
plain                 ``stimulus_id, choice``, and ``condition`` where one stimulus was shown in several; the name of
                      the file is the name of the model
====================  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pandas as pd

from bsjax.data.reading import reading_as
from bsjax.data.wording import some

_VS_HUMAN = {"imagename": "stimulus_id", "object_response": "choice", "condition": "condition", "subj": "subject"}
_PLAIN = {"stimulus_id": "stimulus_id", "choice": "choice"}
_PERSON = "subject-"

Tables = dict[str, dict[str, pd.DataFrame]]
"""Model -> experiment (``""`` for a plain table) -> columns stimulus_id, choice, and condition if there is one."""


def image_name(name: str) -> str:
    """The part of the name of an image that people's and models' trials have in common, without its ending.

    That is the name of the ImageNet image (``n0..._number``) where it is one, else what follows the last underscore:
    what stands before tells the trial, the subject, the condition and the category.

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


def read_choices(path: str | Path) -> Tables:
    """Choices of models from one file, or from all CSV files in a folder and the folders in it.

    Trials of people, whose ``subj`` begins with "subject-", are left out. Every cell is text: "na" and "NaN" are
    answers, and count as such.

    Args:
        path: a CSV file or a folder.

    Returns:
        Model -> experiment -> table; see ``Tables``.

    Raises:
        FileNotFoundError: no such file, or no CSV file in the folder.
        ValueError: a file is none of the two layouts or lacks a value, or there is no model's trial. The message names
            the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "mine.csv").write_text("stimulus_id,choice\\na,dog\\nb,car\\n")
        ...     read_choices(folder)["mine"][""]["choice"].tolist()
        ['dog', 'car']
    """
    root = Path(path).expanduser()
    files = sorted(root.rglob("*.csv")) if root.is_dir() else [root]
    if not files or not files[0].is_file():
        raise FileNotFoundError(
            f"no {'CSV file in the folder' if root.is_dir() else 'file'} {path} to read choices from"
        )
    parts: dict[tuple[str, str], list[pd.DataFrame]] = {}
    people = 0
    for file in files:
        if f"_{_PERSON}" in file.name:
            people += 1
            continue
        for key, table in _read(file).items():
            parts.setdefault(key, []).append(table)
    models: Tables = {}
    for (model, experiment), tables in parts.items():
        if model.startswith(_PERSON):
            people += 1
        else:
            models.setdefault(model, {})[experiment] = pd.concat(tables, ignore_index=True)
    if not models:
        raise ValueError(f"{path} has the trials of people only ({people} of them), none of a model")
    return models


def _read(file: Path) -> Mapping[tuple[str, str], pd.DataFrame]:
    """(Model, experiment) -> the rows of a file."""
    with reading_as("a table of choices", file, ""):
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    columns = next((known for known in (_VS_HUMAN, _PLAIN) if set(known) <= set(table)), None)
    if columns is None:
        raise ValueError(
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
