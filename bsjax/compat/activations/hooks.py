"""Hooks of plugins: functions that change the stimuli of a model or the outputs of its network."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.data import StimulusSet

Hooks = dict[int, Callable[[Any], Any]]
"""Functions by the ids of their handles."""


def through(hooks: Hooks, value: Any) -> Any:
    """Apply hooks to a value, one after the other.

    Example:
        >>> through({0: lambda number: number + 1, 1: lambda number: 10 * number}, 2)
        30
    """
    for hook in list(hooks.values()):
        value = hook(value)
    return value


class HookHandle:
    """Handle that removes a hook, permanently or temporarily."""

    _numbers = itertools.count()

    def __init__(self, hooks: Hooks, hook: Callable[[Any], Any]) -> None:
        self.id = next(self._numbers)
        self._hooks, self._hook = hooks, hook
        self.enable()

    def remove(self) -> Callable[[Any], Any] | None:
        """Remove the hook and return it."""
        return self._hooks.pop(self.id, None)

    def disable(self) -> None:
        """Disable the hook until it is enabled."""
        self.remove()

    def enable(self) -> None:
        """Enable the hook again."""
        self._hooks[self.id] = self._hook


class Hooked:
    """Base class of activations models with hooks; a subclass has the hooks, and is called with stimuli."""

    __call__: Callable[..., NeuroidAssembly]
    _batch_hooks: Hooks
    _stimulus_set_hooks: Hooks

    def from_stimulus_set(self, stimulus_set: StimulusSet, layers: Sequence[str], **kwargs: Any) -> NeuroidAssembly:
        """Call the model with a stimulus set."""
        return self(stimulus_set, layers, **kwargs)

    def from_paths(self, stimuli_paths: Sequence[str], layers: Sequence[str], **kwargs: Any) -> NeuroidAssembly:
        """Call the model with paths."""
        return self([str(path) for path in stimuli_paths], layers, **kwargs)

    def register_batch_activations_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """Register a function that transforms the activations of each batch, layer -> array."""
        return HookHandle(self._batch_hooks, hook)

    def register_stimulus_set_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """Register a function that transforms the stimulus set before it is shown."""
        return HookHandle(self._stimulus_set_hooks, hook)


class Delegating:
    """Base class of wrappers of networks; a call, and attributes that it lacks, are those of its extractor.

    A subclass sets ``_extractor`` in its ``__init__``.
    """

    _extractor: Any

    def __call__(self, *args: Any, **kwargs: Any) -> NeuroidAssembly:
        """Activations of layers; arguments are those of the extractor."""
        return self._extractor(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._extractor, name)
