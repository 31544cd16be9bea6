"""Brain-Score's registries and loaders for plugins, as views of bsjax's own.

Whatever a plugin registers becomes an entry of bsjax's registry. If bsjax has the same identifier, its own entry takes
precedence, and the plugin's model, benchmark or metric is available as ``brainscore:<identifier>``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from typing import Any

from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.registry import benchmark_registry as benchmarks_of_bsjax
from bsjax.compat.assemblies import for_bsjax, for_plugins
from bsjax.compat.benchmarks.base import BenchmarkForBsjax, BenchmarkForPlugins
from bsjax.compat.benchmarks.described import data_are_read
from bsjax.compat.helpers import accepts
from bsjax.compat.sides.models import model_for_bsjax, model_for_plugins
from bsjax.compat.sides.scores import MetricForBsjax, MetricForPlugins, of_bsjax, score_for_plugins
from bsjax.core.discovery import as_plugin, brainscore_plugins, calling_module, import_plugin
from bsjax.core.registry import Registry, UnknownIdentifier
from bsjax.data.catalogue.registry import data_registry as data_of_bsjax
from bsjax.data.catalogue.registry import stimulus_set_registry as stimuli_of_bsjax
from bsjax.labelled.registry import metric_registry as metrics_of_bsjax
from bsjax.models.registry import model_registry as models_of_bsjax
from bsjax.scoring import score as score_of_bsjax

REGISTERS_FOR_OTHERS = True

Factory = Callable[..., Any]


class PluginRegistry(MutableMapping[str, Factory]):
    """One of bsjax's registries, as plugins read and write it.

    Args:
        name: the name of the registry in plugins.
        registry: bsjax's registry.
        for_bsjax: function from a plugin's identifier and factory to a factory for bsjax.
        for_plugins: function that converts an object of bsjax for plugins.
    """

    def __init__(
        self,
        name: str,
        registry: Registry,
        for_bsjax: Callable[[str, Factory], Factory],
        for_plugins: Callable[[Any], Any],
    ) -> None:
        self._name, self._registry = name, registry
        self._for_bsjax, self._for_plugins = for_bsjax, for_plugins
        self._own: dict[str, Factory] = {}

    def __setitem__(self, identifier: str, factory: Factory) -> None:
        if not callable(factory):
            raise ValueError(
                f"{self._registry.kind} {identifier!r}: expected a callable that builds it, got "
                f"{type(factory).__name__}; wrap what is built already: `lambda: it`"
            )
        if type(factory) is LazyLoad:  # in older model pools; its content is the object itself
            factory = partial(content_of, factory)
        with as_plugin(calling_module()):
            self._registry.register(identifier, self._for_bsjax(identifier, factory))
        self._own[identifier] = factory

    def __getitem__(self, identifier: str) -> Factory:
        if self._registry in (data_of_bsjax, stimuli_of_bsjax):
            data_are_read()
        return _then(self._for_plugins, _with_arguments_of_bsjax(self._registry[identifier]))

    def __delitem__(self, identifier: str) -> None:
        self._own.pop(identifier, None)
        del self._registry[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry)

    def __len__(self) -> int:
        return len(self._registry)

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._registry

    def of_plugin(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Build a plugin's entry whose identifier bsjax has as well, for bsjax.

        Args:
            name: ``brainscore:<identifier>``.
            *args, **kwargs: arguments of the plugin's factory.

        Raises:
            KeyError: no plugin has the identifier.
            ImportError: the plugin cannot be imported.
        """
        identifier = name.partition(":")[2]
        for plugin in brainscore_plugins():
            declared = any(
                each.identifier == identifier and each.registry == self._name for each in plugin.declarations
            )
            if declared and identifier not in self._own:
                import_plugin(plugin, f"{self._registry.kind} {name!r}")
        if identifier not in self._own:
            raise UnknownIdentifier(f"no plugin of Brain-Score's in $BSJAX_PLUGINS registers {identifier!r}")
        return self._for_bsjax(identifier, self._own[identifier])(*args, **kwargs)


def _then(convert: Callable[[Any], Any], factory: Factory) -> Factory:
    """A factory that converts the objects of another factory."""

    @functools.wraps(factory, updated=())
    def build(*args: Any, **kwargs: Any) -> Any:
        return convert(factory(*args, **kwargs))

    return build


def _with_arguments_of_bsjax(factory: Factory) -> Factory:
    """A factory of bsjax that takes metrics in the form in which plugins have them."""

    @functools.wraps(factory, updated=())
    def build(*args: Any, **kwargs: Any) -> Any:
        return factory(*map(of_bsjax, args), **{name: of_bsjax(value) for name, value in kwargs.items()})

    return build


def _metric_for_plugins(made: Any) -> Any:
    return made.plugin if isinstance(made, MetricForBsjax) else MetricForPlugins(made)


def _benchmark_for_plugins(made: Any) -> Any:
    return made.plugin if isinstance(made, BenchmarkForBsjax) else BenchmarkForPlugins(made)


model_registry = PluginRegistry(
    "model_registry", models_of_bsjax, lambda _, factory: _then(model_for_bsjax, factory), model_for_plugins
)
benchmark_registry = PluginRegistry(
    "benchmark_registry",
    benchmarks_of_bsjax,
    lambda identifier, factory: partial(BenchmarkForBsjax, identifier, factory),
    _benchmark_for_plugins,
)
metric_registry = PluginRegistry(
    "metric_registry", metrics_of_bsjax, lambda _, factory: _then(MetricForBsjax, factory), _metric_for_plugins
)
data_registry = PluginRegistry(
    "data_registry", data_of_bsjax, lambda _, factory: _then(for_bsjax, factory), for_plugins
)
stimulus_set_registry = PluginRegistry(
    "stimulus_set_registry", stimuli_of_bsjax, lambda _, factory: factory, for_plugins
)


model_of_plugin = model_registry.of_plugin
benchmark_of_plugin = benchmark_registry.of_plugin
metric_of_plugin = metric_registry.of_plugin


def load_model(identifier: str) -> Any:
    """Load a model with responses in the classes known to plugins; errors are those of :func:`bsjax.load_model`."""
    return model_registry[identifier]()


def load_benchmark(identifier: str) -> Any:
    """Load a benchmark with scores in the class known to plugins; errors are those of :func:`bsjax.load_benchmark`."""
    return benchmark_registry[identifier]()


def load_metric(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """Load a metric with scores in the class known to plugins; errors are those of :func:`bsjax.load_metric`."""
    factory = metric_registry[identifier]
    if "alphas" in kwargs and identifier.endswith("_split") and not accepts(factory, "alphas"):
        del kwargs["alphas"]  # benchmarks pass candidate penalties also to metrics that do not select a penalty
    return factory(*args, **kwargs)


def load_ceiling(identifier: str, *args: Any, **kwargs: Any) -> Any:
    """Load a ceiling, which is one of the metrics, as in Brain-Score."""
    return load_metric(identifier, *args, **kwargs)


def load_dataset(identifier: str) -> Any:
    """Load an assembly in the class known to plugins; errors are those of :func:`bsjax.load_dataset`."""
    return data_registry[identifier]()


def load_stimulus_set(identifier: str) -> Any:
    """Load a stimulus set; errors are those of :func:`bsjax.load_stimulus_set`."""
    return stimulus_set_registry[identifier]()


def score(model_identifier: str, benchmark_identifier: str, conda_active: bool = False) -> Any:
    """The score of a model on a benchmark, see :func:`bsjax.score`; ``conda_active`` is ignored.

    Its attributes hold the identifiers and, as ``comment``, the recorded layers.
    """
    score: Any = score_of_bsjax(model_identifier, benchmark_identifier)
    made = score_for_plugins(score)
    made.attrs |= {"model_identifier": model_identifier, "benchmark_identifier": benchmark_identifier}
    layers = score.provenance.layers
    return made if layers is None else made.assign_attrs(comment=f"layers: {dict(layers)}")
