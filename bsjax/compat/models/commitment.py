"""Commitment of layers to regions, with the arguments and attributes known to plugins."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from bsjax.compat.assemblies import for_plugins
from bsjax.compat.models.answers import in_order_of_plugins
from bsjax.compat.models.tasks import BehaviorArbiter, LabelBehavior, OddOneOut, ProbabilitiesMapping
from bsjax.core.discovery import Plugin, brainscore_plugins
from bsjax.models.brain_model import Task
from bsjax.models.commitment import ModelCommitment as _ModelCommitment
from bsjax.models.region_layers import Layers, layers_by_region
from bsjax.models.registry import model_registry


class ModelCommitment(_ModelCommitment):
    """bsjax's class, which also finds the map from regions to layers next to a plugin.

    Args:
        identifier: name of the model.
        activations_model: a wrapper, or any activations model.
        layers: candidate layers.
        behavioral_readout_layer: layer read by behavioural tasks; by default the last of ``layers``.
        region_layer_map: region -> layers. The default is ``region_layer_map/<identifier>.json`` next to the plugin;
            without that file, the layer of a region is selected among ``layers`` when it is first recorded.
        visual_degrees: width of the field of view.
    """

    def __init__(
        self,
        identifier: str,
        activations_model: Any,
        layers: Sequence[str],
        behavioral_readout_layer: Layers | None = None,
        region_layer_map: Mapping[str, Layers] | None = None,
        visual_degrees: float = 8,
    ) -> None:
        if region_layer_map is None:
            region_layer_map = self.load_region_layer_map_json(identifier)
        super().__init__(
            identifier, activations_model, layers, behavioral_readout_layer, region_layer_map, visual_degrees
        )
        if hasattr(activations_model, "set_visual_degrees"):
            activations_model.set_visual_degrees(visual_degrees)

    def start_task(self, task: Any, fitting_stimuli: Any = None, **settings: Any) -> None:
        """Start a task, see :meth:`bsjax.ModelCommitment.start_task`."""
        super().start_task(task, fitting_stimuli, **settings)
        self._started = partial(
            BehaviorArbiter.start_task, task=Task(task), fitting_stimuli=fitting_stimuli, **settings
        )
        if self.do_behavior and self._has_parts:
            self._started(self.behavior_model)

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """Responses or answers, in the classes and order of dimensions known to plugins."""
        if self.do_behavior and self._has_parts:
            trials = {"number_of_trials": number_of_trials, "require_variance": require_variance}
            return self.behavior_model.look_at(stimuli, **trials)
        return in_order_of_plugins(for_plugins(super().look_at(stimuli, number_of_trials, require_variance)))

    def load_region_layer_map_json(self, identifier: str) -> Mapping[str, Layers] | None:
        """The map next to the plugin that registers this model; None if there is none.

        Raises:
            ValueError: the file does not hold a map.
        """
        return published_layers(identifier)

    @property
    def do_behavior(self) -> bool:
        """Whether :meth:`look_at` performs a task."""
        return self._task is not None

    @property
    def layer_model(self) -> _ModelCommitment:
        """The model that records, which is this one."""
        return self

    @cached_property
    def behavior_model(self) -> BehaviorArbiter:
        """The model that performs tasks, with a part for each; changes to a part affect this model's answers.

        Options set on the model later do not affect the parts.
        """
        named: dict[str, Any] = {"identifier": self.identifier, "activations_model": self.activations_model}
        parts: dict[Any, Any] = {Task.label: LabelBehavior(**named)}
        if self.behavioral_readout_layer:
            parts[Task.probabilities] = ProbabilitiesMapping(**named, layer=self.behavioral_readout_layer)
            parts[Task.odd_one_out] = OddOneOut(**named, layer=self.behavioral_readout_layer)
        arbiter = BehaviorArbiter(parts)
        if self.do_behavior:
            self._started(arbiter)
        return arbiter

    @property
    def _has_parts(self) -> bool:
        """Whether ``behavior_model`` has been accessed."""
        return "behavior_model" in vars(self)


def published_layers(identifier: str) -> Mapping[str, Layers] | None:
    """Region -> layers, from ``region_layer_map/<identifier>.json`` next to the model's plugin; None without one.

    Raises:
        ValueError: the file does not hold a map.

    Example:
        >>> published_layers("pixels") is None
        True
    """
    for plugin in _plugins_with(identifier):
        path = plugin.folder / "region_layer_map" / f"{identifier}.json"
        if path.is_file():
            return layers_by_region(path)
    return None


def _plugins_with(identifier: str) -> Iterator[Plugin]:
    registered = model_registry.plugin_of(identifier) if identifier in model_registry else None
    if registered is not None:
        yield registered
    # bsjax may have a model of this identifier, too.
    for plugin in brainscore_plugins():
        if any((each.registry, each.identifier) == ("model_registry", identifier) for each in plugin.declarations):
            yield plugin
