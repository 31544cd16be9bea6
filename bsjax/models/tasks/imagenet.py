"""The classes of ImageNet (ILSVRC 2012), and the coarser labels that group them."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from bsjax.core.registry import hint


@cache
def synsets() -> tuple[str, ...]:
    """The WordNet ids of the 1000 classes, in the order of the output units of networks trained on them.

    Example:
        >>> synsets()[0], len(synsets())
        ('n01440764', 1000)
    """
    return tuple((files("bsjax.models.tasks") / "imagenet_synsets.txt").read_text().split())


@cache
def label_indices() -> Mapping[str, tuple[int, ...]]:
    """Label -> indices of its classes, from 0.

    Has the 16 labels of Geirhos et al. 2021 (model-vs-human), and those added by Baker et al. 2022 (bunny, frog,
    lizard, tiger, turtle, wolf), Zhu et al. 2019 (aeroplane, bus, motorbike) and Scialom et al. 2024 (banana to
    shovel). As there, class 286, the cougar, counts as a cat and as a tiger.

    Example:
        >>> label_indices()["elephant"]
        (385, 386)
    """
    table = json.loads((files("bsjax.models.tasks") / "imagenet_labels.json").read_text())
    return {label: tuple(indices) for label, indices in table.items()}


def indices_of(label: str) -> tuple[int, ...]:
    """The classes of a label; case and spaces are ignored.

    Raises:
        ValueError: the label is unknown.

    Example:
        >>> indices_of("Sewing machine")
        (786,)
    """
    known = label_indices()
    name = str(label).lower().replace(" ", "")
    if name not in known:
        raise ValueError(
            f"no class of ImageNet is known for the label {label!r}{hint(name, known)}; known are {', '.join(known)}; "
            "for others, start_task takes fitting_stimuli as a mapping, label -> numbers of its output units"
        )
    return known[name]
