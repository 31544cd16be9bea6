"""State of a torch module while it runs: recording hooks, evaluation mode, compilation, default dtype, and locks."""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch

_lock = threading.Lock()
_n_blocks = 0
_stance: Any = None


_changed = threading.Condition()
_thread_of: dict[int, int] = {}  # id of an object -> the thread that holds its lock


class RecordingHook:
    """A forward hook that passes on the outputs of a submodule, only in the thread that created the hook.

    Other threads may call the same module at the same time.

    Args:
        record: called with each output.
    """

    def __init__(self, record: Callable[[Any], None]) -> None:
        self._record = record
        self._thread = threading.get_ident()

    def __call__(self, _module: Any, _inputs: Any, output: Any) -> None:
        if threading.get_ident() == self._thread:
            self._record(output)


@contextmanager
def own_state(module: torch.nn.Module) -> Iterator[None]:
    """Restore what a module holds in addition to its weights, such as the state of a spiking network.

    Every batch thus starts from the network's initial state: all attributes of all submodules are again the objects
    that they were, and lists, dicts and sets among them hold again what they held. This holds for flags too, as a
    module that makes a table in its first call also notes that it has. A module that adds parameters or submodules is
    still being built, and keeps what it has made. A tensor that is changed in place, rather than replaced, stays
    changed.

    Example:
        >>> import torch
        >>> class Sum(torch.nn.Module):
        ...     seen = 0.0
        ...     def forward(self, x):
        ...         self.seen = self.seen + x
        ...         return self.seen
        >>> net = Sum()
        >>> for n in (2, 3):
        ...     with own_state(net):
        ...         print(net(torch.ones(n)))
        tensor([1., 1.])
        tensor([1., 1., 1.])
    """
    torch = import_extra("torch", "torch")
    usual = vars(torch.nn.Module()).keys() - {"_buffers"}
    parts = [vars(part) for part in module.modules()]
    before = [{name: value for name, value in part.items() if name not in usual} for part in parts]
    contents = [[(value, copy.copy(value)) for value in _containers(held)] for held in before]
    built = [part["_parameters"].keys() | part["_modules"].keys() for part in parts]
    try:
        yield
    finally:
        for part, held, inner, names in zip(parts, before, contents, built, strict=True):
            if part["_parameters"].keys() | part["_modules"].keys() != names:
                continue
            for value, content in inner:  # in place, because submodules may share it
                if not _is_same(value, content):
                    value.clear()
                    value.extend(content) if isinstance(value, list) else value.update(content)
            for name in part.keys() - usual - held.keys():
                del part[name]
            part.update(held)


def _containers(attributes: dict[str, Any]) -> list[Any]:
    """The lists, dicts and sets among attributes, each once, also those within others."""
    found: dict[int, Any] = {}
    left = [*attributes.values()]
    while left:
        value = left.pop()
        if isinstance(value, (dict, list, set, tuple)) and id(value) not in found:
            found[id(value)] = value
            left += value.values() if isinstance(value, dict) else value
    return [value for value in found.values() if not isinstance(value, tuple)]


def _is_same(value: Any, content: Any) -> bool:
    """Whether a container holds the same objects; to compare tensors would be to compare their elements."""
    if len(value) != len(content):
        return False
    if isinstance(value, dict):
        return all(key in value and value[key] is each for key, each in content.items())
    return value == content if isinstance(value, set) else all(map(operator.is_, value, content))


@contextmanager
def evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for the duration of a block; each submodule then returns to its previous mode.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval())
        >>> with evaluation_mode(net):
        ...     [part.training for part in net.modules()]
        [False, False, False]
        >>> [part.training for part in net.modules()]
        [True, True, False]
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with own_state(module):
            yield
    finally:
        for part, training in modes:  # parents before children
            if part.training != training:
                part.train(training)  # may also undo other effects of eval(), such as merged weights
        for part, training in modes:
            part.training = training


@contextmanager
def as_written() -> Iterator[None]:
    """Run torch modules uncompiled within a block, because compiled code may skip hooks.

    The stance of torch's compiler is shared by all threads: the first active block sets it, and the last one restores
    it.
    """
    global _n_blocks, _stance
    torch = import_extra("torch", "torch")
    with _lock:
        if _n_blocks == 0:
            _stance = torch.compiler.set_stance("force_eager")
            _stance.__enter__()
        _n_blocks += 1
    try:
        yield
    finally:
        with _lock:
            _n_blocks -= 1
            if _n_blocks == 0:
                _stance.__exit__(None, None, None)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set the dtype of new tensors within a block.

    Args:
        dtype: a floating-point dtype.
    """
    torch = import_extra("torch", "torch")
    before = torch.get_default_dtype()
    if before != dtype:
        torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        if before != dtype:
            torch.set_default_dtype(before)


@contextmanager
def turn(objects: Iterable[object]) -> Iterator[None]:
    """Lock objects against other threads for the duration of a block, waiting until all are free.

    All locks are acquired at once, so that threads with overlapping objects cannot deadlock. A thread may acquire a
    lock again.

    Args:
        objects: must live as long as the block.

    Example:
        >>> with turn([first := object(), second := object()]), turn([first]):
        ...     print("alone")
        alone
    """
    here, wanted = threading.get_ident(), {id(each) for each in objects}
    with _changed:
        _changed.wait_for(lambda: all(_thread_of.get(each, here) == here for each in wanted))
        taken = wanted - _thread_of.keys()
        _thread_of.update(dict.fromkeys(taken, here))
    try:
        yield
    finally:
        with _changed:
            for each in taken:
                del _thread_of[each]
            _changed.notify_all()
