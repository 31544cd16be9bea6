"""Hooks of plugins: functions that change what a model is shown, or what its network answers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.data import StimulusSet

Hooks = dict[int, Callable[[Any], Any]]
"""Functions by the numbers of their handles."""


def through(hooks: Hooks, value: Any) -> Any:
    """What hooks make of a value, one after the other.

    Example:
        >>> through({0: lambda number: number + 1, 1: lambda number: 10 * number}, 2)
        30
    """
    for hook in list(hooks.values()):
        value = hook(value)
    return value


class HookHandle:
    """Takes a hook away again, for good or for a time."""

    _numbers = itertools.count()

    def __init__(self, hooks: Hooks, hook: Callable[[Any], Any]) -> None:
        self.id = next(self._numbers)
        self._hooks, self._hook = hooks, hook
        self.enable()

    def remove(self) -> Callable[[Any], Any] | None:
        """Take it away; gives the hook."""
        return self._hooks.pop(self.id, None)

    def disable(self) -> None:
        """Leave it out until it is enabled."""
        self.remove()

    def enable(self) -> None:
        """Call it again."""
        self._hooks[self.id] = self._hook


class Hooked:
    """The base of activations models that plugins hook into; a subclass has the hooks, and is called with stimuli."""

    __call__: Callable[..., NeuroidAssembly]
    _batch_hooks: Hooks
    _stimulus_set_hooks: Hooks

    def from_stimulus_set(self, stimulus_set: StimulusSet, layers: Sequence[str], **kwargs: Any) -> NeuroidAssembly:
        """A call with a stimulus set."""
        return self(stimulus_set, layers, **kwargs)

    def from_paths(self, stimuli_paths: Sequence[str], layers: Sequence[str], **kwargs: Any) -> NeuroidAssembly:
        """A call with paths."""
        return self([str(path) for path in stimuli_paths], layers, **kwargs)

    def register_batch_activations_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """From now on the activations of each batch, layer -> array, are what ``hook`` makes of them."""
        return HookHandle(self._batch_hooks, hook)

    def register_stimulus_set_hook(self, hook: Callable[[Any], Any]) -> HookHandle:
        """From now on what is shown is what ``hook`` makes of a stimulus set."""
        return HookHandle(self._stimulus_set_hooks, hook)
