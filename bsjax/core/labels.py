"""Labels by which two sides are matched, and do not match."""

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np


def remedy(one: Iterable[object], other: Iterable[object], names: Sequence[str], coord: str = "stimulus_id") -> str:
    """What to do about labels that are not the same: some may differ in type (1 and "1") or in Unicode form alone.

    Args:
        one, other: the labels of two sides.
        names: of the sides, as they are called in messages.
        coord: what the labels are.

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
