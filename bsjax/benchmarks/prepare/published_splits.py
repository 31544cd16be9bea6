"""Published splits of stimuli into those that train and those that test."""

from importlib import import_module

import numpy as np

from bsjax.data import NeuroidAssembly
from bsjax.labelled.align import STIMULUS, coordinate, listed

_PARTS = {"train": ("train",), "test": ("test",), "both": ("train", "test")}
_PACKAGE = "laion_fmri"
_ADDRESS = "git+https://github.com/ViCCo-Group/LAION-fMRI.git"


def in_split(assembly: NeuroidAssembly, split: str, part: str, pool: str) -> np.ndarray:
    """Mask of the presentations that belong to a part of a published split.

    A coordinate ``split_<split>`` on presentation, with the values "train" and "test" (others are in neither part),
    defines the split. Without it, the lists of stimuli come from the publishers' own package ``laion_fmri``.

    Args:
        assembly: responses with ``stimulus_id``.
        split: name of the split, e.g. ``"tau"``.
        part: ``"train"``, ``"test"``, or ``"both"``.
        pool: the stimuli that were split: ``"shared"`` for those seen by all subjects, or those of one subject, e.g.
            ``"sub-01"``.

    Returns:
        One boolean per presentation.

    Raises:
        ImportError: both the coordinate and the package are missing; the message says how to get either.
        ValueError: the part is unknown, or the coordinate holds neither "train" nor "test".

    Example:
        >>> assembly = NeuroidAssembly([1.0, 2.0, 3.0], dims=["presentation"], coords={
        ...     "split_tau": ("presentation", ["train", "test", ""])})
        >>> in_split(assembly, "tau", "both", "shared").tolist()
        [True, True, False]
    """
    if part not in _PARTS:
        raise ValueError(f"part must be one of {', '.join(_PARTS)}, got {part!r}")
    name = f"split_{split}"
    if name in assembly.coords:
        labels = coordinate(assembly, name, "presentation", "the assembly").astype(str)
        if not np.isin(labels, _PARTS["both"]).any():
            raise ValueError(f"{name} must hold 'train' and 'test', it holds {listed(np.unique(labels), 'value(s)')}")
        return np.isin(labels, _PARTS[part])
    listed_ids = dict(zip(_PARTS["both"], _published_ids(split, pool, name, assembly), strict=True))
    ids = coordinate(assembly, STIMULUS, "presentation", "the assembly").astype(str)
    return np.isin(ids, [stimulus for each in _PARTS[part] for stimulus in listed_ids[each]])


def _published_ids(split: str, pool: str, name: str, assembly: NeuroidAssembly) -> tuple[list[str], list[str]]:
    """The ids of training and of test stimuli, from the publishers' package."""
    try:
        splits = import_module(f"{_PACKAGE}.splits")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != _PACKAGE:
            raise
        present = [str(coord) for coord in assembly.coords if assembly[coord].dims == ("presentation",)]
        raise ImportError(
            f"which stimuli of {pool!r} train and which test in the split {split!r} is in the package {_PACKAGE}, "
            f"which is not installed: pip install '{_ADDRESS}'. Or give the assembly a coordinate {name!r} on "
            f"presentation with the values 'train' and 'test' (it has {', '.join(present)})",
            name=_PACKAGE,
        ) from None
    return splits.get_train_test_ids(split, pool)
