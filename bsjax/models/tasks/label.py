"""The labelling task: naming a stimulus in the classes that a network was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.models.tasks.features import See
from bsjax.models.tasks.imagenet import indices_of, synsets

_LOGITS = "logits"
_AGGREGATIONS = {"mean": np.mean, "max": np.max}

Labels = str | Sequence[str] | Mapping[Any, Sequence[int]]


@dataclass(frozen=True)
class LabelTask:
    """Names each stimulus.

    Attributes:
        layer: the layer whose units are the classes.
        indices: label -> its classes; None to return ImageNet's own class.
        aggregation: ``"mean"`` or ``"max"`` of the probabilities of a label's classes.
    """

    layer: str
    indices: Mapping[Any, Sequence[int]] | None
    aggregation: str = "mean"

    @property
    def layers(self) -> list[str]:
        """The layer as a list, as in other tasks."""
        return [self.layer]

    def __call__(self, see: See, stimuli: StimulusSet) -> BehavioralAssembly:
        """The label of each presentation.

        For ImageNet, the class with the largest logit. For a list of labels, probabilities are the softmax over all
        classes, aggregated over the classes of each label by mean or maximum, and the label with the largest value is
        chosen; the first in case of ties.

        Returns:
            Labels as they were given, dims ``(presentation, choice)`` with one choice; coordinate ``label`` in addition
            to those of the presentations, unless they have one, and for ImageNet also ``synset`` and ``logit``, the
            index of the class.
        """
        logits = see(stimuli, [self.layer])
        values = np.asarray(logits.transpose("presentation", "neuroid").values, float)
        coords = {str(name): coord.variable for name, coord in logits.coords.items() if coord.dims == ("presentation",)}
        if self.indices is None:
            best = values.argmax(axis=1)
            chosen = np.array(synsets())[best]
            coords |= {"synset": ("presentation", chosen), "logit": ("presentation", best)}
        else:
            probabilities = scipy.special.softmax(values, axis=1)
            pool = _AGGREGATIONS[self.aggregation]
            of_labels = [pool(probabilities[:, list(classes)], axis=1) for classes in self.indices.values()]
            chosen = np.array(list(self.indices))[np.argmax(of_labels, axis=0)]
        coords.setdefault("label", ("presentation", chosen))  # a column of the stimuli may hold their true label
        return BehavioralAssembly(chosen[:, None], coords=coords, dims=["presentation", "choice"])


def label_task(
    identifier: str, layers: Mapping[str, tuple[int, ...]], labels: Labels, aggregation: str = "mean"
) -> LabelTask:
    """Build the labelling task.

    Args:
        identifier: the model's, for messages.
        layers: the model's layers -> their shapes. The classes are the units of ``logits``, or else of the last layer.
        labels: ``"imagenet"``, a list of labels with known ImageNet classes, or label -> indices of its classes, which
            need not be ImageNet's.
        aggregation: of the probabilities of a label's classes.

    Raises:
        ValueError: the layer lacks ImageNet's 1000 classes if these are needed, or the given indices; or a label is
            unknown, has no classes, or repeats.

    Example:
        >>> label_task("net", {"conv": (8, 8, 4), "logits": (1000,)}, ["dog", "cat"]).layer
        'logits'
    """
    if aggregation not in _AGGREGATIONS:
        raise ValueError(f"aggregation must be one of {', '.join(_AGGREGATIONS)}, got {aggregation!r}")
    if isinstance(labels, Mapping):
        indices = {label: [int(index) for index in classes] for label, classes in labels.items()}
    elif isinstance(labels, str):
        if labels != "imagenet":
            raise ValueError(f"labels must be 'imagenet', a list of labels, or a mapping, got {labels!r}")
        indices = None
    elif labels is None or isinstance(labels, StimulusSet):
        raise ValueError(
            "the task 'label' needs its labels: start_task('label', 'imagenet'), or a list such as ['dog', 'cat']"
        )
    else:
        repeated = [label for label in dict.fromkeys(labels) if list(labels).count(label) > 1]
        if repeated:
            raise ValueError(f"labels repeat {some(repeated)}")
        indices = {str(label): indices_of(label) for label in labels}
    if indices is not None and (not indices or not all(len(classes) for classes in indices.values())):
        raise ValueError(f"each label needs a class, and there must be a label, got {indices!r}")
    if not layers:
        raise ValueError(f"model {identifier!r} lists no layers, and naming needs one with a unit for each class")
    layer, n_classes = _classes(layers)
    wanted = len(synsets())
    if not isinstance(labels, Mapping) and n_classes != wanted:
        fit = [name for name, shape in layers.items() if int(np.prod(shape)) == wanted]
        raise ValueError(
            f"naming with ImageNet's classes needs a layer 'logits' of {wanted} units, one for each class, or a last "
            f"layer of {wanted}; of model {identifier!r}, {layer!r} has {n_classes}; layers with {wanted}: "
            f"{some(fit) or 'none'}. For other classes give a mapping, label -> numbers of its classes"
        )
    beyond = {label: i for label, classes in (indices or {}).items() for i in classes if not 0 <= i < n_classes}
    if beyond:
        shown = some([f"{label} {i}" for label, i in beyond.items()])
        raise ValueError(f"layer {layer!r} of model {identifier!r} has classes 0 to {n_classes - 1}, not {shown}")
    return LabelTask(layer, indices, aggregation)


def _classes(layers: Mapping[str, tuple[int, ...]]) -> tuple[str, int]:
    layer = _LOGITS if _LOGITS in layers else list(layers)[-1]
    return layer, int(np.prod(layers[layer]))
