"""The probabilities task: the probability of each label, learned from examples."""

from collections.abc import Sequence
from dataclasses import dataclass

from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.labelled.behaviour.readout import ProbabilityReadout
from bsjax.models.tasks.features import See

_LABEL = "image_label"


@dataclass(frozen=True)
class ProbabilitiesTask:
    """Gives the probability of every label, from a readout of some layers.

    Attributes:
        layers: the layers that are read.
        readout: fitted to their features.
    """

    layers: Sequence[str]
    readout: ProbabilityReadout

    def __call__(self, see: See, stimuli: StimulusSet) -> BehavioralAssembly:
        """Probabilities, dims ``(presentation, choice)``; labels in the order in which they were learned."""
        return self.readout(see(stimuli, self.layers))


def probabilities_task(see: See, layers: Sequence[str], fitting_stimuli: object) -> ProbabilitiesTask:
    """Train a readout on stimuli with the column ``image_label``; repeated stimuli count repeatedly.

    Raises:
        ValueError: they are not a stimulus set, lack the column, or have a single label.
    """
    if not isinstance(fitting_stimuli, StimulusSet):
        raise ValueError(
            "the task 'probabilities' needs a stimulus set to learn from, with a column 'image_label': "
            f"start_task('probabilities', stimuli); got {type(fitting_stimuli).__name__}"
        )
    return ProbabilitiesTask(layers, ProbabilityReadout(see(fitting_stimuli, layers), _LABEL))
