"""Meanings of coordinates, and advice for labels that do not match."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bsjax.core.messages import some

MEANINGS = {
    "stimulus_id": "identifier of the stimulus that was shown, as in the stimulus set",
    "repetition": "number of the repetition of the stimulus, e.g. from 0",
    "neuroid_id": "unique identifier of each neuron, site or voxel",
    "region": "brain region of the recording, e.g. V1, V2, V4 or IT",
    "time_bin_start": "start of each time bin, in ms after stimulus onset",
    "time_bin_end": "end of each time bin, in ms after stimulus onset; for responses without a dimension time_bin, "
    "assembly.assign_coords(time_bin_start=70, time_bin_end=170)",
    "object_name": "object or category that the stimulus shows",
    "subject": "identifier of the subject who answered or was recorded",
    "truth": "correct answer for the stimulus",
    "condition": "experimental condition within which answers are compared, e.g. the contrast; or one value for all",
    "sample_obj": "of the two choices, the object that was shown",
    "dist_obj": "of the two choices, the distractor",
    "image_label": "true label of the image, named as one of the choices",
    "prediction": "the subject's answer",
    "choice": "the available choices",
    "image_type": "manipulation of the image, one of the image_types of the metric",
    "task": "task of the trial",
}
"""Coordinates of assemblies and their meanings. Their values must come from the data: from the log of the experiment,
or, if they are the same in all trials of a stimulus, from the columns of the stimulus set."""


def require_columns(table: Any, names: Iterable[str], what: str) -> None:
    """Check that a table has columns of these names.

    Raises:
        ValueError: it lacks some; the message names them, and the columns that it has.

    Example:
        >>> require_columns({"stimulus_id": ["a"]}, ["stimulus_id", "truth"], "the table")
        Traceback (most recent call last):
        ...
        ValueError: the table has no column truth (columns present: stimulus_id)
    """
    lacking = [name for name in names if name not in table]
    if lacking:
        raise ValueError(
            f"{what} has no column {', '.join(lacking)} (columns present: {some(list(table), 10) or 'none'})"
        )


def meanings(names: Iterable[str]) -> str:
    """Describe the known ones of some coordinates.

    Example:
        >>> meanings(["truth", "mood"])
        'truth: correct answer for the stimulus'
    """
    return "; ".join(f"{name}: {MEANINGS[name]}" for name in names if name in MEANINGS)


def remedy(one: Iterable[object], other: Iterable[object], names: Sequence[str], coord: str = "stimulus_id") -> str:
    """Give advice on labels that do not match: some may differ only in type (1 and "1") or in Unicode form.

    Args:
        one, other: the labels of two sides.
        names: names of the sides in messages.
        coord: name of the coordinate.

    Example:
        >>> remedy([1, 2], ["1", "2"], ("source", "target"))[:66]
        'Their ids differ in type, int in source and str in target: convert'
    """
    left, right = (set(np.asarray(labels).tolist()) for labels in (one, other))
    texts = [{_as_text(label): label for label in side} for side in (left - right, right - left)]
    same = sorted(texts[0].keys() & texts[1].keys())
    if same:
        types = [type(side[same[0]]).__name__ for side in texts]
        return (
            f"Their ids differ in type, {types[0]} in {names[0]} and {types[1]} in {names[1]}: convert those of one, "
            f'e.g. {names[0]}["{coord}"] = {names[0]}["{coord}"].astype(str).'
        )
    composed = [{unicodedata.normalize("NFC", text): text for text in side} for side in texts]
    same = sorted(composed[0].keys() & composed[1].keys())
    if same:
        return (
            f"Values of {coord} such as {same[0]!r} differ in their Unicode form alone (NFC or NFD, an accent with its "
            'letter or behind it): put those of both through unicodedata.normalize("NFC", ...).'
        )
    return "Select those that both hold."


def _as_text(label: object) -> str:
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
