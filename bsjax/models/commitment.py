"""Model commitments: activations models whose layers are mapped to brain regions."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np

from bsjax.activations import ActivationsModel
from bsjax.activations.checks import checked_identifier, listed_layers
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, NeuroidAssembly, StimulusSet
from bsjax.labelled.align import at_positions
from bsjax.models.brain_model import RecordingTarget, Task, looks_at_images, region_name
from bsjax.models.region_layers import Layers, layer_choice_registry, layer_names, layers_by_region
from bsjax.models.stimulus_presentation import as_stimulus_set, eye_movements, features, responses, side_by_side
from bsjax.models.tasks.features import See
from bsjax.models.tasks.label import label_task
from bsjax.models.tasks.odd_one_out import OddOneOutTask
from bsjax.models.tasks.probabilities import probabilities_task
from bsjax.models.time_alignment import align_time, with_time_bins

Doing = Callable[[See, StimulusSet], BehavioralAssembly]


class ModelCommitment:
    """A brain model made of an activations model and a map from regions to layers.

    One instance can record from any regions and perform any tasks, in any order. :meth:`look_at` does what the last
    call of :meth:`start_recording` or :meth:`start_task` requested. Responses are deterministic. Trials differ only if
    variance is required, by simulated eye movements.

    Args:
        identifier: name of the model.
        activations_model: from an adapter: ``from_torch``, ``from_flax``, ``from_jax``, ``from_stored``.
        layers: candidate layers. Without a ``region_layer_map``, the layer of a region is chosen among them when the
            region is first recorded, by :func:`bsjax.choose_layers` on its public benchmark.
        behavioral_readout_layer: layer or layers that behavioural tasks read; by default the last of ``layers``.
        region_layer_map: region -> the layer that is recorded there, or several, whose units are concatenated; or the
            path of a JSON file with such a map. A layer may serve several regions. Keys of the file that begin with
            ``_`` are notes.
        visual_degrees: width of the model's visual field in degrees of visual angle.
        align: for a model whose responses change over time, how they are converted to the requested time bins:
            ``(assembly, bins) -> assembly``.

    Raises:
        ValueError: ``activations_model`` is a bare network (the message names the adapter for it), a region or layer
            is not a valid name, or ``visual_degrees`` is not positive.
        FileNotFoundError: the file does not exist.

    Example:
        >>> from bsjax.adapters import from_jax
        >>> contrast = from_jax(lambda images: images.std((1, 2)), "contrast")
        >>> model = ModelCommitment("contrast", contrast, region_layer_map={"V1": "output"})
        >>> model.start_recording("V1", time_bins=[(0, 100)])
        >>> model.start_recording("IT", time_bins=[(0, 100)])
        Traceback (most recent call last):
        ...
        ValueError: model 'contrast' has no layer for IT; it has one for V1. Give one in region_layer_map=...
    """

    def __init__(
        self,
        identifier: str,
        activations_model: ActivationsModel,
        layers: Sequence[str] | None = None,
        behavioral_readout_layer: Layers | None = None,
        region_layer_map: Mapping[str, Layers] | str | PathLike[str] | None = None,
        visual_degrees: float = 8,
        *,
        align: Callable[[NeuroidAssembly, Sequence[tuple[float, float]]], NeuroidAssembly] = align_time,
    ) -> None:
        _refuse_bare_network(activations_model)
        if not 0 < visual_degrees < np.inf:
            raise ValueError(f"visual_degrees must be positive, got {visual_degrees!r}")
        self.identifier = checked_identifier(identifier)
        self.activations_model = activations_model
        self.looks_at_images: bool = looks_at_images(activations_model)
        self.layers = listed_layers(layers or [])
        self.behavioral_readout_layer = behavioral_readout_layer or (self.layers[-1] if self.layers else None)
        self.region_layer_map = layers_by_region(region_layer_map)
        self._chooses = region_layer_map is None and bool(self.layers)
        self._visual_degrees = visual_degrees
        self._align = align
        self._recording: str | None = None
        self._time_bins: list[tuple[float, float]] = []
        self._task: Doing | None = None
        self._task_layers: dict[str, list[str]] = {}

    def __repr__(self) -> str:
        regions = ", ".join(self.region_layer_map) or "none"
        return f"ModelCommitment({self.identifier!r}, {self.activations_model!r}, regions {regions})"

    def with_options(self, **options: Any) -> Self:
        """A copy of the model with other options for the extraction of activations, such as ``memory="2GB"``.

        Args:
            **options: those of :class:`~bsjax.activations.ExtractedActivations`.

        Raises:
            ValueError: an option is unknown or out of range, or the model has no extraction, e.g. with stored
                activations.

        Example:
            >>> from bsjax import load_model
            >>> model = load_model("pixels").with_options(batch_size=32, cache=None)
        """
        extracted: Any = self.activations_model
        if not hasattr(extracted, "with_options"):
            raise ValueError(
                f"model {self.identifier!r} has {type(extracted).__name__}, whose extraction has no options; "
                f"leave out {', '.join(options)}"
            )
        changed = copy.copy(self)
        changed.activations_model = extracted.with_options(**options)
        return changed

    def with_region_layers(self, region_layer_map: Mapping[str, Layers], identifier: str | None = None) -> Self:
        """A copy of the model with other layers for the regions.

        Args:
            region_layer_map: region -> its layer or layers; other regions have none.
            identifier: a new name; by default the old one.

        Raises:
            ValueError: a region or layer is not a valid name.

        Example:
            >>> from bsjax import load_model
            >>> load_model("gabor-v1").with_region_layers({"V1": "complex"}).region_layer_map
            {'V1': ['complex']}
        """
        changed = copy.copy(self)
        changed.identifier = self.identifier if identifier is None else checked_identifier(identifier)
        changed.region_layer_map = layers_by_region(region_layer_map)
        changed._chooses = False
        changed._recording, changed._task = None, None
        return changed

    def visual_degrees(self) -> float:
        """Width of the model's visual field in degrees of visual angle."""
        return self._visual_degrees

    @property
    def arguments(self) -> dict[str, Any] | None:
        """Constructor arguments as plain values, which determine the model for given activations.

        None if code determines it too, as with a custom ``align`` function.

        Example:
            >>> from bsjax import load_model
            >>> load_model("gabor-v1").arguments["region_layer_map"]["V1"]
            ['complex', 'simple']
        """
        if type(self).look_at is not ModelCommitment.look_at or self._align is not align_time:
            return None
        return {
            "layers": list(self.layers),
            "behavioral_readout_layer": self.behavioral_readout_layer,
            "region_layer_map": None if self._chooses else dict(self.region_layer_map),
            "visual_degrees": self._visual_degrees,
        }

    @property
    def digest(self) -> str | None:
        """Digest of the network's weights and code; None if it is unknown or the network has not run yet."""
        return getattr(self.activations_model, "digest", None)

    @property
    def layers_in_use(self) -> dict[str, list[str]]:
        """The layers that :meth:`look_at` currently reads, by region or task.

        Example:
            >>> from bsjax import load_model
            >>> model = load_model("gabor-v1")
            >>> model.start_recording("V1", [(0, 100)])
            >>> model.layers_in_use
            {'V1': ['complex', 'simple']}
        """
        if self._task is not None:
            return dict(self._task_layers)
        region = self._recording
        return {} if region is None else {region: list(self.region_layer_map[region])}

    def width_of(self, region: str) -> int | None:
        """Number of units that are recorded in a region; None if its layers, or how they are reduced, are not known.

        Example:
            >>> from bsjax import load_model
            >>> load_model("pixels").width_of("V1") > 1000
            True
        """
        layers, widths = self.region_layer_map.get(region), getattr(self.activations_model, "widths", None)
        return None if layers is None or widths is None else sum(widths(layers).values())

    def start_task(self, task: Task | str, fitting_stimuli: Any = None, **settings: Any) -> None:
        """Perform a task in :meth:`look_at`, until another task or a recording is started.

        - ``passive``: view stimuli; :meth:`look_at` returns recordings.
        - ``label``: name the stimulus. ``fitting_stimuli`` are the labels: ``"imagenet"``, a list such as ``["dog",
          "cat"]``, or label -> indices of its output units. Reads the layer ``logits``, or else the last layer.
          Setting ``aggregation``: ``"mean"`` or ``"max"`` over the classes of a label.
        - ``probabilities``: of the labels in the column ``image_label`` of ``fitting_stimuli``, on which a readout is
          trained immediately. Settings ``number_of_trials`` and ``require_variance``, as in :meth:`look_at`.
        - ``odd_one_out``: for every three rows. Setting ``similarity_measure``: ``"dot"`` or ``"cosine"``.

        Args:
            task: a :class:`Task` or its string.
            fitting_stimuli: what the task requires, see above.
            **settings: of the task, see above.

        Raises:
            ValueError: the task is unknown, its requirements are missing or do not fit (for example, no layer has
                ImageNet's 1000 classes), or there is no layer to read.
            TypeError: the task does not have a setting.
        """
        task = Task(task)
        if task is Task.passive:
            self._task = None
            return
        if task is Task.label:
            doing = label_task(self.identifier, self.activations_model.layers(), fitting_stimuli, **settings)
        elif task is Task.odd_one_out:
            doing = OddOneOutTask(self._readout(), **settings)
        else:
            doing = probabilities_task(self._see(**settings), self._readout(), fitting_stimuli)
        self._task, self._task_layers = doing, {task.value: list(doing.layers)}

    def start_recording(
        self, recording_target: RecordingTarget | str, time_bins: Sequence[tuple[float, float]]
    ) -> None:
        """Record from a region in :meth:`look_at`. Ends any task.

        Args:
            recording_target: a region that the model has layers for; or "V1", "V2", "V4" or "IT" if the model chooses
                among its ``layers``.
            time_bins: (start, end) of each bin in ms after stimulus onset. A static model responds the same in every
                bin.

        Raises:
            ValueError: the region has no layer and none can be chosen, or a time bin ends before its start.
            FileNotFoundError, PermissionError, ConnectionError: the data for the choice of a layer are not available.
        """
        region = region_name(recording_target)
        if region not in self.region_layer_map:
            self.region_layer_map[region] = self._chosen(region)
        bins = [(float(start), float(end)) for start, end in time_bins]
        if not bins or any(not start <= end for start, end in bins):
            raise ValueError(f"time_bins must be (start, end) pairs in ms with start <= end, got {time_bins!r}")
        self._recording = region
        self._time_bins = bins
        self._task = None

    def look_at(
        self,
        stimuli: StimulusSet | Sequence[str | PathLike[str]],
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly | BehavioralAssembly:
        """The region's responses to stimuli, or the model's behaviour in the task.

        Args:
            stimuli: a stimulus set, or paths of images, which then serve as ids.
            number_of_trials: at least 1. Without variance, all trials are the same and give one row.
            require_variance: whether each trial has its own small eye movement; the trials of a stimulus are
                consecutive rows.

        Returns:
            A recording: float32, dims ``(presentation, neuroid)``, one row for each row of ``stimuli`` and each trial;
            with several time bins ``(presentation, neuroid, time_bin)``, with ``time_bin_start`` and ``time_bin_end``
            in ms. Neuroids have the coordinate ``region`` in addition to those of the activations model. Or behaviour,
            dims ``(presentation, choice)``: labels, probabilities, or ids of the odd ones out.

        Raises:
            ValueError: nothing was started; the activations model rejects a layer or the stimuli, or cannot vary its
                trials; or, for responses over time, a time bin is not covered.
        """
        see = self._see(number_of_trials, require_variance)
        shown = as_stimulus_set(stimuli)
        if self._task is not None:
            return self._task(see, shown)
        if self._recording is None:
            raise ValueError(
                f"model {self.identifier!r} is not recording; call start_recording(region, time_bins) first, "
                "or start_task(task) for behaviour"
            )
        microsaccades = eye_movements(number_of_trials, require_variance, self._visual_degrees)
        seen = responses(self.activations_model, shown, self.region_layer_map[self._recording], microsaccades)
        recorded = side_by_side([self._in_time(part) for part in seen])
        return recorded.assign_coords(region=("neuroid", np.full(recorded.sizes["neuroid"], self._recording)))

    def _chosen(self, region: str) -> list[str]:
        """The layers of a region that the map does not have."""
        if self._chooses and region in layer_choice_registry:
            return layer_choice_registry[region](self, region)
        known = ", ".join(self.region_layer_map)
        raise ValueError(
            f"model {self.identifier!r} has no layer for {region}; "
            f"{f'it has one for {known}' if known else 'it has none for any region'}. "
            f"Give one in region_layer_map={{{region!r}: ...}}, of those that activations_model.layers() "
            "lists, or let bsjax.choose_layers choose"
        )

    def _in_time(self, seen: NeuroidAssembly) -> NeuroidAssembly:
        """Responses in the requested time bins; a single bin has no time dimension."""
        moving, single = "time_bin" in seen.dims, len(self._time_bins) == 1
        if moving:
            aligned = self._align(seen, self._time_bins)
            return at_positions(aligned, {"time_bin": 0}, drop=True) if single else aligned
        return seen if single else with_time_bins(seen, self._time_bins)

    def _see(self, number_of_trials: int = 1, require_variance: bool = False) -> See:
        microsaccades = eye_movements(number_of_trials, require_variance, self._visual_degrees)
        return partial(features, self.activations_model, microsaccades=microsaccades)

    def _readout(self) -> list[str]:
        if not self.behavioral_readout_layer:
            raise ValueError(
                f"model {self.identifier!r} has no layer to read behaviour from; give behavioral_readout_layer=; "
                f"its layers: {some(list(self.activations_model.layers()), 100)}"
            )
        return layer_names("behavioral_readout_layer", self.behavioral_readout_layer)


def adapter_of(network: object) -> str:
    """The adapter for a bare network; "" if it is none. Modules are compared by name, so no framework is imported."""
    frameworks = {cls.__module__.partition(".")[0] for cls in type(network).__mro__}
    # A transformers model is a torch module too.
    adapters = {"transformers": "from_huggingface", "torch": "from_torch", "flax": "from_flax", "keras": "from_keras"}
    return next((adapter for framework, adapter in adapters.items() if framework in frameworks), "")


def _refuse_bare_network(model: object) -> None:
    if isinstance(model, ActivationsModel):
        return
    adapter, given = adapter_of(model), "module"
    if isinstance(model, (Mapping, NeuroidAssembly)):
        adapter, given = "from_stored", "activations"
    elif not adapter and callable(model):
        adapter, given = "from_jax", "function"
    remedy = "it needs an identifier, layers() and a call (stimuli, layers) -> NeuroidAssembly"
    if adapter:
        remedy = f"wrap it: bsjax.adapters.{adapter}({given}, identifier)"
    raise ValueError(f"{type(model).__name__} is not an activations model; {remedy}")
