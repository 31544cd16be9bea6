"""Post-processing of published data after reading, by functions that the catalogue names.

Brain-Score has separate code for this next to each registration.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from bsjax.core.labels import require_columns
from bsjax.core.messages import some
from bsjax.data.types.assemblies import DataAssembly
from bsjax.data.types.stimuli import StimulusSet

Assembly = TypeVar("Assembly", bound=DataAssembly)


def apply(steps: Iterable[Sequence[str]], data: Any) -> Any:
    """Apply post-processing to an assembly or stimulus set; each step is a function name followed by its arguments.

    Raises:
        ValueError: a step does not fit the data.

    Example:
        >>> stimuli = StimulusSet([{"stimulus_id": "a", "percentage_elements": 12}])
        >>> apply([("as_text", "percentage_elements")], stimuli)["percentage_elements"].tolist()
        ['12']
    """
    for name, *arguments in steps:
        data = STEPS[name](data, *arguments)
    return data


def name_neuroids(assembly: Assembly, region: str) -> Assembly:
    """Use the only label of the neuroids as ``neuroid_id``, and add the region.

    Needed for Cadena2017, whose file was written by an xarray version that lost the label's name. Other coordinates
    of the neuroids are dropped, as in Brain-Score.

    Raises:
        ValueError: the neuroids have no label.

    Example:
        >>> assembly = DataAssembly([[1., 2.]], dims=["presentation", "neuroid"], coords={"neuroid": [7, 8]})
        >>> named = name_neuroids(assembly, "V1")
        >>> named["neuroid_id"].values.tolist(), named["region"].values.tolist(), list(named.coords)
        ([7, 8], ['V1', 'V1'], ['neuroid_id', 'region'])
    """
    known = [name for name in ("neuroid_id", "neuroid") if name in assembly.coords]
    if not known:
        present = some(list(assembly.coords), 10) or "none"
        raise ValueError(f"the neuroids have no label to be their neuroid_id (coordinates present: {present})")
    ids = assembly.coords[known[0]].values
    bare = assembly.drop_vars([name for name, coord in assembly.coords.items() if "neuroid" in coord.dims])
    return bare.assign_coords(neuroid_id=("neuroid", ids), region=("neuroid", [region] * len(ids)))


def label_subject(assembly: Assembly, subject: str) -> Assembly:
    """Set the subject of all presentations, and drop coordinates that separate repetitions across sessions.

    Needed for the single-subject recordings of Zerbe2026. Drops ``session``, ``run``, ``beta_index``, and unnamed
    presentation coordinates; adds ``subject_id_pres``.

    Example:
        >>> assembly = DataAssembly([1., 2.], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "run": ("presentation", [1, 2])})
        >>> labelled = label_subject(assembly, "sub-01")
        >>> list(labelled.coords), labelled["subject_id_pres"].values.tolist()
        (['stimulus_id', 'subject_id_pres'], ['sub-01', 'sub-01'])
    """
    dropped = ("session", "run", "beta_index", "presentation", "presentation_level_0")
    there = [name for name in dropped if name in assembly.coords and assembly.coords[name].dims == ("presentation",)]
    subjects = [subject] * assembly.sizes["presentation"]
    return assembly.drop_vars(there).assign_coords(subject_id_pres=("presentation", subjects))


def as_text(stimuli: StimulusSet, *columns: str) -> StimulusSet:
    """Convert columns to text, e.g. 12 to "12"; missing values become "nan", as in Brain-Score.

    Needed for Scialom2024, whose conditions are numbers in some sets and words in others.

    Raises:
        ValueError: a column is missing.

    Example:
        >>> as_text(StimulusSet([{"stimulus_id": "a", "condition": 12}]), "condition")["condition"].tolist()
        ['12']
    """
    require_columns(stimuli, columns, f"stimulus set {stimuli.identifier!r}")
    changed = stimuli.copy()
    for column in columns:
        changed[column] = [str(value) for value in stimuli[column]]
    return changed


def drop_columns(stimuli: StimulusSet, *columns: str) -> StimulusSet:
    """Drop columns; missing ones are ignored.

    Needed for Zerbe2026, whose ``path`` is the location of a file on another machine.

    Example:
        >>> list(drop_columns(StimulusSet([{"stimulus_id": "a", "path": "/there/a.png"}]), "path").columns)
        ['stimulus_id']
    """
    return cast(StimulusSet, stimuli.drop(columns=[column for column in columns if column in stimuli.columns]))


STEPS = {step.__name__: step for step in (name_neuroids, label_subject, as_text, drop_columns)}
