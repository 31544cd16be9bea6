"""Reader of the choices of people and models in the 17 experiments of Geirhos et al. (2021).

The public repository (https://github.com/bethgelab/model-vs-human) has one CSV file for each experiment and each person
or model (``raw-data/<experiment>/<experiment>_<who>_session....csv``), with the object that each image was named as.
Its code has the MIT licence; no licence is stated for these files. bsjax does not include them:
``bsjax data import Geirhos2021`` fetches the files of people and of ResNet-50.
"""

from pathlib import Path

import pandas as pd

from bsjax.benchmarks.rows.publications import publication
from bsjax.benchmarks.rows.tables import read_rows
from bsjax.core.file_reading import reading_as
from bsjax.core.labels import require_columns
from bsjax.core.left_behind import files_in
from bsjax.core.messages import some
from bsjax.core.registry import hint
from bsjax.data.types.assemblies import BehavioralAssembly

SOURCE = "https://github.com/bethgelab/model-vs-human"

# The conditions that the paper excludes: those without a manipulation, and those in which people's accuracy is below
# 0.2. Spelled as in the files; the published data have the same spelling, with one exception.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    row.settings["experiment"]: row.settings["left_out"]
    for row in read_rows(Path(__file__).with_name("rows.toml"), __name__.rpartition(".")[0])
} | {"false-colour": ("true",)}
EXPERIMENTS = tuple(LEFT_OUT)

_PERSON = "subject-"
_COLUMNS = ["subj", "object_response", "category", "condition", "imagename"]
# People's and models' names of an image differ before this part: the name of the ImageNet image, or of the file if the
# image is not from ImageNet.
_IMAGE = r"(?:^|_)((?:n0[^_]*_)?[^_]*)$"


def load_people(folder: str | Path, experiment: str, all_conditions: bool = False) -> BehavioralAssembly:
    """The choices of all people in one experiment.

    Args:
        folder: a clone of the repository, its ``raw-data``, or a folder with the experiments' folders.
        experiment: one of ``EXPERIMENTS``, e.g. "sketch".
        all_conditions: whether to keep the conditions that the paper excludes (``LEFT_OUT``): those without a
            manipulation, and those in which people are close to chance.

    Returns:
        Choices (presentation), one row per trial; "na" marks a trial that was not answered in time and counts as an
        error. Coordinates on presentation: ``stimulus_id`` (the same for the same image in people's and models'
        data), ``truth``, ``condition`` and ``subject``. Attributes: ``identifier``, ``bibtex``, ``source``.

    Raises:
        FileNotFoundError: the folder, or the experiment in it, is missing; the message says what was looked for.
        ValueError: the experiment is unknown, or a file is not as expected; the message names it.

    Source:
        Geirhos et al. (2021), Partial success in closing the gap between human and machine vision, NeurIPS.

    Example:
        >>> load_people("no/such/folder", "sketch")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        FileNotFoundError: experiment sketch not found in no/such/folder: looked for ...
    """
    files = _files(folder, experiment)
    people = [path for path in files if _who(path).startswith(_PERSON)]
    if not people:
        raise FileNotFoundError(f"no person's choices ({experiment}_{_PERSON}*.csv) in {files[0].parent}")
    return _assembly(people, experiment, "human", all_conditions)


def load_model(
    folder: str | Path, experiment: str, model: str = "resnet50", all_conditions: bool = False
) -> BehavioralAssembly:
    """The choices of one model in one experiment.

    Args:
        folder: as for ``load_people``.
        experiment: as for ``load_people``.
        model: the model's name in the files, e.g. "resnet50".
        all_conditions: as for ``load_people``.

    Returns:
        As ``load_people``, with the model as ``subject``.

    Raises:
        FileNotFoundError: as ``load_people``, or the model has no file; the message lists the available models.
        ValueError: as ``load_people``.

    Example:
        >>> load_model("no/such/folder", "sketches")
        Traceback (most recent call last):
        ...
        ValueError: unknown experiment 'sketches'; nearest: sketch; there are: colour, contrast, cue-conflict, edge,
            eidolonI, eidolonII, eidolonIII, false-colour, high-pass, low-pass, phase-scrambling, power-equalisation,
            rotation, silhouette, sketch, stylized, uniform-noise
    """
    files = _files(folder, experiment)
    chosen = [path for path in files if _who(path) == model]
    if not chosen:
        models = sorted({_who(path) for path in files if not _who(path).startswith(_PERSON)})
        raise FileNotFoundError(
            f"no choices of {model!r} in {files[0].parent}; models there: {some(models, 20) or 'none'}"
        )
    return _assembly(chosen, experiment, model, all_conditions)


def _files(folder: str | Path, experiment: str) -> list[Path]:
    if experiment not in EXPERIMENTS:
        near = hint(experiment, EXPERIMENTS)
        raise ValueError(f"unknown experiment {experiment!r}{near}; there are: {', '.join(EXPERIMENTS)}")
    root = Path(folder).expanduser()
    candidates = [root / "raw-data" / experiment, root / experiment]
    for candidate in candidates:
        files = files_in(candidate, f"{experiment}_*.csv")
        if files:
            return files
    raise FileNotFoundError(
        f"experiment {experiment} not found in {folder}: looked for {experiment}_*.csv in "
        f"{' and '.join(map(str, candidates))}; get it with "
        f"`bsjax data import Geirhos2021`, or with `git clone {SOURCE}` and pass the folder of the clone"
    )


def _who(path: Path) -> str:
    """ "resnet50" for ``sketch_resnet50_session-1.csv``."""
    return path.stem.split("_", 1)[1].rsplit("_session", 1)[0]


def _assembly(paths: list[Path], experiment: str, who: str, all_conditions: bool) -> BehavioralAssembly:
    trials = pd.concat([_read(path) for path in paths], ignore_index=True)
    # An experiment with a single condition names it "0" for people and "NaN" for models.
    trials["condition"] = trials["condition"].replace("NaN", "0")
    if not all_conditions:
        lost = set(LEFT_OUT[experiment]) - set(trials["condition"])
        if lost:
            raise ValueError(
                f"{paths[0].parent}: no trial has the condition {', '.join(sorted(lost))}, which is to be left out; "
                f"there are: {some(sorted(set(trials['condition'])), 10)}"
            )
        trials = trials.loc[~trials["condition"].isin(LEFT_OUT[experiment])]
    trials = trials.assign(stimulus_id=trials["imagename"].str.extract(_IMAGE, expand=False))
    coords = {"stimulus_id": "stimulus_id", "truth": "category", "condition": "condition", "subject": "subj"}
    return BehavioralAssembly(
        trials["object_response"].to_numpy(object),
        coords={name: ("presentation", trials[column].to_numpy(object)) for name, column in coords.items()},
        dims=["presentation"],
        attrs={
            "identifier": f"Geirhos2021.{experiment}.{who}",
            "bibtex": publication("geirhos2021partial"),
            "source": SOURCE,
        },
    )


def _read(path: Path) -> pd.DataFrame:
    with reading_as("a table of trials", path):
        # "na" and "NaN" are answers and conditions here, not missing values.
        trials = pd.read_csv(path, dtype=str, keep_default_na=False)
    require_columns(trials, _COLUMNS, str(path))
    trials = trials.loc[:, _COLUMNS]
    empty = (trials == "").any(axis=1)
    if empty.any() or not len(trials):
        raise ValueError(
            f"{path} is cut short: {int(empty.sum())} of {len(trials)} trials lack a value; fetch it again"
        )
    return trials
