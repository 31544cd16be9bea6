"""The type of a task's view of a model: features of stimuli in some layers."""

from collections.abc import Callable, Sequence

from bsjax.data import NeuroidAssembly, StimulusSet

See = Callable[[StimulusSet, Sequence[str]], NeuroidAssembly]
"""(stimuli, layers) -> features, dims ``(presentation, neuroid)``; on several trials, those of a stimulus follow each
other."""
