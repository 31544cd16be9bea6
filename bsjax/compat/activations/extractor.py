"""Activations models made from a function of preprocessed images and layer names."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from bsjax.activations import ExtractedActivations
from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.activations.network import Batch
from bsjax.compat.activations.hooks import Delegating, Hooked, Hooks, through
from bsjax.compat.activations.images import OfFiles
from bsjax.compat.assemblies import NeuroidAssembly, for_plugins
from bsjax.core.context import set_within
from bsjax.core.identity.values import identity_of
from bsjax.data import StimulusSet
from bsjax.models.stimulus_presentation import as_stimulus_set

_LOGITS = "logits"


GetActivations = Callable[[Any, list[str]], Mapping[str, Any]]

# Methods of the reference's extractor that are not called here, because their work is done elsewhere for all callers.
_NOT_CALLED = (
    *("_from_paths", "_from_paths_stored", "_reduce_paths", "_expand_paths", "_get_activations_batched"),
    *("_get_batch_activations", "_pad", "_unpad", "_package", "_package_layer"),
)
_movements: ContextVar[Microsaccades | None] = ContextVar("movements", default=None)


class CalledNetwork:
    """A network made from a function that returns the activations of a batch in given layers.

    Args:
        get_activations: the function.
        known: function that returns the names of the layers, for listings.
    """

    channels_last = False
    is_compiled = True
    is_pure = False
    on_device = False

    def __init__(
        self, get_activations: GetActivations, known: Callable[[], Iterable[str]] = lambda: (_LOGITS,)
    ) -> None:
        self._get_activations = get_activations
        self._known = known
        self.hooks: Hooks = {}

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the layers, each determined by recording it."""
        return _Shapes(lambda layers: self._shapes_of(layers, batch), self._known)

    def run(self, batch: Batch, layers: Sequence[str]) -> dict[str, np.ndarray]:
        """Outputs of layers, after the hooks."""
        found = OrderedDict(self._get_activations(self._taken(batch), list(layers)))
        return {layer: np.array(output) for layer, output in through(self.hooks, found).items()}  # its own, copied

    def _taken(self, batch: Batch) -> Any:
        """The batch in the form that the function takes."""
        return [str(each) for each in batch] if batch.dtype.kind == "U" else batch

    def _shapes_of(self, layers: Sequence[str], batch: Batch) -> dict[str, tuple[int, ...]]:
        found = self.run(batch, layers)
        missing = [layer for layer in layers if layer not in found]
        if missing:
            name = getattr(self._get_activations, "__qualname__", type(self._get_activations).__name__)
            raise ValueError(f"{name} was asked for layers {missing}, and gave {list(found)}")
        return {layer: found[layer].shape for layer in layers}

    def digest(self, batch: Batch, version: str | None = None) -> str:
        """Digest of the function and everything it refers to, or of the version that identifies it.

        Raises:
            Undigestible: a part of it has no digest.
        """
        return identity_of(self._content(batch) if version is None else version)

    def look_again(self) -> None:
        """Do nothing, because earlier calls leave no state."""

    def _content(self, batch: Batch) -> Any:
        """The objects that identify the function."""
        return self._get_activations, tuple(self.hooks.values())


class _Shapes(Mapping[str, tuple[int, ...]]):
    """Shapes of layers, determined on access.

    A function may have layers that are not listed, which only a request shows. A listing leaves out layers that the
    function fails to return.
    """

    def __init__(
        self, shapes_of: Callable[[Sequence[str]], Mapping[str, tuple[int, ...]]], known: Callable[[], Iterable[str]]
    ) -> None:
        self._shapes_of, self._known = shapes_of, known
        self._found: dict[str, tuple[int, ...]] = {}
        self._listed: list[str] | None = None

    def __getitem__(self, layer: str) -> tuple[int, ...]:
        if layer not in self._found:
            self._found.update(self._shapes_of([layer]))
        return self._found[layer]

    def __contains__(self, layer: object) -> bool:
        return isinstance(layer, str)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listing())

    def __len__(self) -> int:
        return len(self._listing())

    def _listing(self) -> list[str]:
        if self._listed is None:
            known = list(self._known())
            # Try all in one pass first.
            if not self._finds(known):
                known = [layer for layer in known if layer in self._found or self._finds([layer])]
            self._listed = known
        return self._listed

    def _finds(self, layers: Sequence[str]) -> bool:
        try:
            self._found.update(self._shapes_of(layers))
        except Exception:
            return False
        return True


class ActivationsExtractorHelper(Hooked, ExtractedActivations):
    """An activations model made from a function, with the arguments and methods of Brain-Score's class.

    Args:
        get_activations: preprocessed images and layer names -> layer -> activations, with images along the first axis.
        preprocessing: paths of images -> an array, or a list with one per image; with None the paths are passed on.
        identifier: name of the model. False, which disables caching on disk as in Brain-Score, uses the function's
            name.
        batch_size: number of images per batch.
        network: object that runs a batch, if it is more than ``get_activations``.
        **options: further options of :class:`~bsjax.activations.ExtractedActivations`.
    """

    def __init__(
        self,
        get_activations: GetActivations,
        preprocessing: Callable[[list[str]], Any] | None,
        identifier: str | bool | None = False,
        batch_size: int = 64,
        *,
        network: CalledNetwork | None = None,
        **options: Any,
    ) -> None:
        name = str(identifier or getattr(get_activations, "__qualname__", type(get_activations).__name__))
        if not identifier:
            options = {"cache": None, **options}
        wrapper = getattr(get_activations, "__self__", None)
        network = network or (wrapper if isinstance(wrapper, Wrapper) else Wrapper)._network(get_activations)
        self._batch_hooks, self._stimulus_set_hooks = network.hooks, {}
        self._visual_degrees: float | None = None
        self.get_activations = get_activations
        self.preprocess = preprocessing
        super().__init__(name, network, OfFiles(preprocessing), batch_size=batch_size, **options)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = [name for name in _NOT_CALLED if name in vars(cls)]
        if own:
            raise ValueError(
                f"{cls.__name__} overrides {', '.join(own)}, which bsjax does not call: override from_paths, or "
                "get_activations of the wrapper"
            )

    def __call__(
        self,
        stimuli: StimulusSet | Sequence[str],
        layers: str | Sequence[str] | None = None,
        stimuli_identifier: str | bool | None = None,
        number_of_trials: int = 1,
        require_variance: bool = False,
        *,
        microsaccades: Microsaccades | None = None,
    ) -> NeuroidAssembly:
        """Activations of layers, by default ``logits``, for a stimulus set or paths of images.

        Calls :meth:`from_stimulus_set` or :meth:`from_paths`, which subclasses in plugins may override.

        Args:
            stimuli: the stimuli.
            layers: names of layers.
            stimuli_identifier: ignored; the cache is keyed by the content of the images.
            number_of_trials: with variance, number of presentations of each image, each shifted slightly.
            require_variance: whether trials must differ.
            microsaccades: the shifts themselves, instead of the last two arguments.

        Raises:
            ValueError: as for :class:`~bsjax.activations.ExtractedActivations`, or trials must differ and the field of
                view is unknown.
        """
        if require_variance and microsaccades is None:
            microsaccades = Microsaccades(number_of_trials, self._field_of_view())
        named: dict[str, Any] = {"layers": layers, "stimuli_identifier": stimuli_identifier}
        named["require_variance"] = microsaccades is not None
        with set_within(_movements, microsaccades):
            if isinstance(stimuli, StimulusSet):
                return self.from_stimulus_set(stimulus_set=stimuli, **named)
            shown = through(self._stimulus_set_hooks, as_stimulus_set(stimuli))
            return self.from_paths(stimuli_paths=shown["stimulus_id"].tolist(), **named)

    def from_stimulus_set(self, stimulus_set: StimulusSet, layers: Any, *args: Any, **kwargs: Any) -> NeuroidAssembly:
        """Activations for a stimulus set, with its columns; further arguments are passed to :meth:`from_paths`."""
        shown = through(self._stimulus_set_hooks, stimulus_set)
        if not self._has_own_paths:
            return self._seen(shown, layers)
        paths = [str(shown.get_stimulus(stimulus_id)) for stimulus_id in shown["stimulus_id"]]
        found = self.from_paths(stimuli_paths=paths, layers=layers, *args, **kwargs)  # noqa: B026
        rows = np.repeat(np.arange(len(paths)), found.sizes["presentation"] // len(paths))
        if found["stimulus_path"].values.tolist() != [paths[row] for row in rows]:
            raise ValueError(f"from_paths of {type(self).__name__} must answer to the paths that it is given, in order")
        columns = {name: ("presentation", shown[name].to_numpy()[rows]) for name in shown.columns}
        return found.drop_vars("stimulus_path").assign_coords(columns)

    def from_paths(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        stimuli_paths: Sequence[str],
        layers: Any = None,
        stimuli_identifier: str | bool | None = None,
        require_variance: bool | None = None,
    ) -> NeuroidAssembly:
        """Activations for paths of images, with the coordinate ``stimulus_path``; arguments as for ``__call__``."""
        return self._seen(as_stimulus_set(stimuli_paths), layers).rename({"stimulus_id": "stimulus_path"})

    def _seen(self, stimuli: StimulusSet, layers: Any) -> NeuroidAssembly:
        found = for_plugins(super().__call__(stimuli, layers or [_LOGITS], microsaccades=_movements.get()))
        found["model"] = "neuroid", np.full(found.sizes["neuroid"], self.identifier)
        return found

    @property
    def _has_own_paths(self) -> bool:
        return type(self).from_paths is not ActivationsExtractorHelper.from_paths

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Set the width of the field of view, which determines the size of image shifts when trials differ."""
        self._visual_degrees = visual_degrees

    def insert_attrs(self, wrapper: Any) -> None:
        """Give a wrapper the methods that plugins call on it, and those of an activations model that it lacks."""
        if not hasattr(wrapper, "layers"):
            wrapper.layers = self.layers
        for name in (
            "from_stimulus_set",
            "from_paths",
            "register_batch_activations_hook",
            "register_stimulus_set_hook",
            "set_visual_degrees",
        ):
            setattr(wrapper, name, getattr(self, name))

    def _field_of_view(self) -> float:
        if self._visual_degrees is None:
            raise ValueError(
                f"model {self.identifier!r} is to shift its images, but its field of view is not known: call "
                "set_visual_degrees(degrees), as ModelCommitment does"
            )
        return self._visual_degrees


class Wrapper(Delegating):
    """Base class of wrappers of networks of images."""

    _extractor: ActivationsExtractorHelper

    @staticmethod
    def _network(get_activations: GetActivations) -> CalledNetwork:
        """The network that runs the wrapper's ``get_activations``."""
        return CalledNetwork(get_activations)

    @property
    def by_layer(self) -> Any:
        """Layer-by-layer extraction of the extractor; None if the plugin overrides the call."""
        own = type(self).__call__ is not Delegating.__call__ or self._extractor._has_own_paths
        return None if own or self._extractor._stimulus_set_hooks else self._extractor.by_layer

    @property
    def identifier(self) -> str:
        """The name of the model."""
        return self._extractor.identifier

    @identifier.setter
    def identifier(self, value: str) -> None:
        self._extractor.identifier = value


def disable_activation_caching(wrapper: Any) -> Any:
    """The wrapper, with its cache of activations disabled."""
    wrapper._extractor = wrapper._extractor.with_options(cache=None)
    return wrapper
