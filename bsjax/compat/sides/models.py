"""Conversions of brain models between bsjax and plugins."""

from typing import Any

from bsjax.compat.assemblies import for_bsjax, for_plugins
from bsjax.compat.helpers import accepts
from bsjax.compat.models.answers import in_order_of_bsjax, in_order_of_plugins
from bsjax.compat.models.commitment import ModelCommitment as CommitmentOfPlugins
from bsjax.compat.sides.held import Holding
from bsjax.models.commitment import ModelCommitment


class ModelForPlugins(Holding):
    """A brain model with responses in the form known to plugins: their classes, and choices before presentations.

    Args:
        model: any model of bsjax.
    """

    _holds = "bsjax"

    def look_at(self, stimuli: Any, *args: Any, **kwargs: Any) -> Any:
        """Responses or answers."""
        return in_order_of_plugins(for_plugins(self.bsjax.look_at(stimuli, *args, **kwargs)))

    def __repr__(self) -> str:
        return repr(self.bsjax)


class ModelForBsjax(Holding):
    """A plugin's brain model with responses in the form that bsjax's benchmarks expect.

    Args:
        model: the plugin's model. It may lack methods that it never needs; arguments it does not accept are left out.
    """

    _holds = "plugin"

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """Responses or answers."""
        asked = {"number_of_trials": number_of_trials, "require_variance": require_variance}
        known = {name: value for name, value in asked.items() if accepts(self.plugin.look_at, name)}
        return in_order_of_bsjax(for_bsjax(self.plugin.look_at(stimuli, **known)))

    def start_task(self, task: Any, fitting_stimuli: Any = None, **settings: Any) -> Any:
        """Start a task."""
        given = (task,) if fitting_stimuli is None else (task, fitting_stimuli)
        return self.plugin.start_task(*given, **settings)

    def start_recording(self, recording_target: Any, time_bins: Any) -> Any:
        """Record from a region."""
        return self.plugin.start_recording(recording_target, time_bins=time_bins)

    def __repr__(self) -> str:
        return repr(self.plugin)


def model_for_plugins(model: Any) -> Any:
    """A model in the form known to plugins."""
    if isinstance(model, ModelForBsjax):
        return model.plugin
    return model if isinstance(model, ModelForPlugins | CommitmentOfPlugins) else ModelForPlugins(model)


def model_for_bsjax(model: Any) -> Any:
    """A model in the form known to bsjax."""
    if isinstance(model, ModelForPlugins):
        return model.bsjax
    return model if isinstance(model, ModelCommitment | ModelForBsjax) else ModelForBsjax(model)
