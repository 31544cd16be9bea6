"""Classes of ImageNet's challenge of 2012, and those that a simpler label stands for."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from bsjax.core.registry import nearest


@cache
def synsets() -> tuple[str, ...]:
    """The WordNet ids of the 1000 classes, in the order of the units of networks that were trained on them.

    Example:
        >>> synsets()[0], len(synsets())
        ('n01440764', 1000)
    """
    return tuple((files("bsjax.models.tasks") / "imagenet_synsets.txt").read_text().split())


@cache
def label_indices() -> Mapping[str, tuple[int, ...]]:
    """Label -> the classes that count as it, by their number from 0.

    The 16 classes of Geirhos et al. 2021 (model-vs-human), and those that Baker et al. 2022 (bunny, frog, lizard,
    tiger, turtle, wolf), Zhu et al. 2019 (aeroplane, bus, motorbike) and Scialom et al. 2024 (banana to shovel) add.
    Class 286, the cougar, counts as a cat and as a tiger, as it does there.

    Example:
        >>> label_indices()["elephant"]
        (385, 386)
    """
    table = json.loads((files("bsjax.models.tasks") / "imagenet_labels.json").read_text())
    return {label: tuple(indices) for label, indices in table.items()}


def indices_of(label: str) -> tuple[int, ...]:
    """The classes that count as a label; upper case and spaces in it do not matter.

    Raises:
        ValueError: it is none of those known.

    Example:
        >>> indices_of("Sewing machine")
        (786,)
    """
    known = label_indices()
    name = str(label).lower().replace(" ", "")
    if name not in known:
        near = ", ".join(nearest(name, known))
        raise ValueError(
            f"which classes of ImageNet are {label!r} is not known{f'; nearest: {near}' if near else ''}; "
            f"known are {', '.join(known)}; give others as a mapping, label -> numbers of its classes"
        )
    return known[name]
