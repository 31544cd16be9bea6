"""The type of the function through which a task reads a model's features."""

from collections.abc import Callable, Sequence

from bsjax.data import NeuroidAssembly, StimulusSet

See = Callable[[StimulusSet, Sequence[str]], NeuroidAssembly]
"""(stimuli, layers) -> features, dims ``(presentation, neuroid)``; trials of a stimulus are consecutive rows."""
