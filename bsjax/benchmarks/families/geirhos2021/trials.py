"""Data of Geirhos et al. (2021), from Brain-Score's publication or from a clone of the authors' repository."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.left_behind import files_in
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset
from bsjax.data.files.choice_tables import image_name
from bsjax.data.importers.importing import imported_folder
from bsjax.models.stored_behaviour import plain_condition

Loaded = TypeVar("Loaded")

_SUFFIXES = (".png", ".jpg", ".jpeg", ".JPEG")


def people(row: BenchmarkRow, data: str | Path | None = None) -> BehavioralAssembly:
    """People's choices in the included conditions, one row per trial, with their stimuli.

    Args:
        row: the row of a benchmark, which names the experiment and the excluded conditions of its published data.
        data: a clone of https://github.com/bethgelab/model-vs-human, or the folder of its trials.

    Returns:
        Choices (presentation) with ``stimulus_id``, ``truth``, ``condition`` (text) and ``subject``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: the data are not available.
        ValueError: a condition to be excluded is missing from the data.
    """
    return published_or_imported(partial(_published, row), partial(_imported, row.settings["experiment"]), data)


def published_or_imported(
    load_published: Callable[[], Loaded],
    load_imported: Callable[[str | Path], Loaded],
    data: str | Path | None,
) -> Loaded:
    """Brain-Score's published data, or a clone's data if ``data`` is given or the former are not available.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError: neither is available.
    """
    if data is not None:
        return load_imported(data)
    try:
        return load_published()
    except (FileNotFoundError, PermissionError, ConnectionError) as error:
        try:
            folder = imported_folder("Geirhos2021")
        except FileNotFoundError:
            kinds = FileNotFoundError, PermissionError, ConnectionError
            kind = next(kind for kind in kinds if isinstance(error, kind))
            raise kind(
                f"{error} People's trials are also public: `bsjax data import Geirhos2021`, or data=DIR with a clone "
                "of https://github.com/bethgelab/model-vs-human"
            ) from error
        return load_imported(folder)


def trial_stimuli(trials: BehavioralAssembly, experiment: str, data: str | Path) -> StimulusSet:
    """The unique stimuli of trials from a clone, with the paths of the images that exist."""
    columns = {name: trials[name].values for name in ("stimulus_id", "truth", "condition")}
    rows = pd.DataFrame(columns).drop_duplicates("stimulus_id").reset_index(drop=True)
    folder = Path(data).expanduser() / "datasets" / experiment
    images = (path for path in files_in(folder, "**/*") if path.suffix in _SUFFIXES)
    files = {image_name(path.name): path for path in images}
    names = {one: image_name(one) for one in rows["stimulus_id"]}
    paths = {one: files[name] for one, name in names.items() if name in files}
    return StimulusSet(rows, identifier=f"Geirhos2021_{experiment}", stimulus_paths=paths)


def labelled_by(stimuli: StimulusSet, answers: Any) -> Any:
    """Answers with the true label and the condition of the stimuli, replacing those a model may have set.

    Objects that are not assemblies, and answers to other stimuli, are returned unchanged; the metric reports the error.

    Example:
        >>> shown = {"stimulus_id": ("presentation", ["b"])}
        >>> answers = BehavioralAssembly(["dog"], coords=shown, dims=["presentation"])
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "truth": ["cat", "dog"]})
        >>> labelled_by(stimuli, answers)["truth"].values.tolist()
        ['dog']
    """
    ids = getattr(answers, "coords", {}).get("stimulus_id")
    if ids is None or ids.dims != ("presentation",):
        return answers
    rows = pd.Index(stimuli["stimulus_id"]).get_indexer(pd.Index(ids.values))
    if (rows < 0).any():
        return answers
    names = [name for name in ("truth", "condition") if name in stimuli.columns]
    return answers.assign_coords({name: ("presentation", np.asarray(stimuli[name], object)[rows]) for name in names})


def _imported(experiment: str, data: str | Path) -> BehavioralAssembly:
    trials = BehavioralAssembly(load_dataset("Geirhos2021.human", folder=data, experiment=experiment))
    return trials.assign_attrs(stimulus_set=trial_stimuli(trials, experiment, data))


def _published(row: BenchmarkRow) -> BehavioralAssembly:
    name = row.data[0]
    trials = BehavioralAssembly(load_dataset(name))
    stimuli = trials.attrs["stimulus_set"]
    # Conditions are numbers in some sets and text in others; as text they can be matched.
    stimuli = stimuli.assign(condition=[str(condition) for condition in stimuli["condition"]])
    condition = dict(zip(stimuli["stimulus_id"], stimuli["condition"], strict=True))
    of_trials = np.array([condition[one] for one in trials["stimulus_id"].values], object)
    left_out, values = (list(map(plain_condition, each)) for each in (row.settings["left_out"], of_trials))
    lost = set(left_out) - set(values)
    if lost:
        raise ValueError(
            f"{name}: no trial has the condition {some(sorted(lost))}, which is to be left out; "
            f"there are: {some(sorted(set(of_trials)), 10)}"
        )
    kept = np.flatnonzero(~np.isin(values, left_out))
    trials = trials.assign_coords(condition=("presentation", of_trials)).isel(presentation=kept)
    shown = stimuli["stimulus_id"].isin(np.unique(trials["stimulus_id"].values))
    return trials.assign_attrs(stimulus_set=stimuli[shown].reset_index(drop=True))
