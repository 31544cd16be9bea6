"""The data sets and stimulus sets that can be loaded by identifier."""

import inspect
from typing import Any

from bsjax.data.assemblies import DataAssembly
from bsjax.data.stimuli import StimulusSet
from bsjax.registry import Registry

data_registry = Registry("data set", listing="bsjax.list_data()")
stimulus_set_registry = Registry("stimulus set", listing="list(bsjax.stimulus_set_registry)")

data_registry.register(
    "Cowley2026.V4",
    "bsjax.data.cowley2026:load_session",
    summary="macaque V4, single-trial spike counts to natural images (from a clone of the public repository)",
)
data_registry.register(
    "Geirhos2021.human",
    "bsjax.data.geirhos2021:load_people",
    summary="people's choices in 17 experiments out of distribution (from a clone of the public repository)",
)
data_registry.register(
    "Geirhos2021.model",
    "bsjax.data.geirhos2021:load_model",
    summary="a model's choices in the experiments of Geirhos2021.human (from a clone of the public repository)",
)
data_registry.register(
    "Algonauts2019.92",
    "bsjax.data.algonauts2019:load_rdms",
    summary="fMRI dissimilarity matrices of 15 subjects, early visual cortex or IT (from a public repository)",
)
data_registry.register(
    "Kriegeskorte2008",
    "bsjax.data.kriegeskorte2008:load_rdms",
    summary="dissimilarity matrices of human IT, behaviour and models (from a clone of the public repository)",
)
stimulus_set_registry.register(
    "Cowley2026.V4",
    "bsjax.data.cowley2026:load_stimuli",
    summary="the images of one session of Cowley2026.V4 (from a clone of the public repository)",
)


def load_dataset(identifier: str, **options: Any) -> DataAssembly:
    """Load a data set by identifier.

    Args:
        identifier: one of ``list_data()``.
        options: what its loader takes, e.g. ``folder=`` for "Cowley2026.V4".

    Raises:
        KeyError: unknown identifier; the message has the nearest ones.
        ValueError: an option is missing or unknown; the message lists those there are.

    Example:
        >>> load_dataset("Cowley2026.V4")
        Traceback (most recent call last):
        ...
        ValueError: data set 'Cowley2026.V4': missing a required argument: 'folder'; it takes: folder,
            session='210325'
    """
    return _load(data_registry, identifier, options)


def load_stimulus_set(identifier: str, **options: Any) -> StimulusSet:
    """Load a stimulus set by identifier.

    Args:
        identifier: one of ``stimulus_set_registry``.
        options: what its loader takes, e.g. ``folder=`` for "Cowley2026.V4".

    Raises:
        KeyError: unknown identifier; the message has the nearest ones.
        ValueError: an option is missing or unknown; the message lists those there are.

    Example:
        >>> load_stimulus_set("Cowley2026.v4")
        Traceback (most recent call last):
        ...
        bsjax.registry.UnknownIdentifier: unknown stimulus set 'Cowley2026.v4'; nearest: Cowley2026.V4; see \
`list(bsjax.stimulus_set_registry)`
    """
    return _load(stimulus_set_registry, identifier, options)


def list_data() -> list[str]:
    """Identifiers of the data sets that ``load_dataset`` knows.

    Example:
        >>> "Cowley2026.V4" in list_data()
        True
    """
    return list(data_registry)


def _load(registry: Registry, identifier: str, options: dict[str, Any]) -> Any:
    factory = registry[identifier]
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # some callables of C have none
        return factory(**options)
    try:
        signature.bind(**options)
    except TypeError as error:
        takes = ", ".join(
            name if parameter.default is parameter.empty else f"{name}={parameter.default!r}"
            for name, parameter in signature.parameters.items()
        )
        raise ValueError(f"{registry.kind} {identifier!r}: {error}; it takes: {takes or 'no options'}") from None
    return factory(**options)
