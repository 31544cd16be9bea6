"""Identity of a torch module: everything that determines its outputs, as plain values."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bsjax.adapters.torch.module_state import RecordingHook
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.extras import import_extra
from bsjax.core.identity.values import identity_of

if TYPE_CHECKING:
    import torch

_DEVICE = re.compile(r"(cpu|cuda|mps|xpu)(:\d+)?")
# Attributes that torch.compile sets on a module.
_COMPILED = ("_compiled_call_impl", "_is_torch_compile")
# Module -> (submodule, attribute) names that a forward pass writes.
_scratch: WeakKeyDictionary[Any, frozenset[tuple[str, str]]] = WeakKeyDictionary()


def torch_identity(module: torch.nn.Module, run: Callable[[], object] | None = None, version: str | None = None) -> str:
    """The identity of everything that determines a module's output in evaluation mode.

    It covers all parameters and buffers (name, dtype, shape, bytes), the names, classes and order of submodules, their
    attributes and forward hooks, and the code of their classes. It also covers user code that replaces functions of
    torch, and global hooks.

    It does not depend on the module's mode or device, on compilation, or on attributes that every forward pass sets,
    such as the last input or a counter of calls.

    Args:
        module: any module; for one from ``torch.compile``, the identity is that of the original.
        run: a forward pass, from which those attributes are found, once for each module.
        version: vouches for everything except the weights.

    Returns:
        32 hexadecimal digits.

    Raises:
        Undigestible: a part of it, which the message names, cannot be identified, or it is a TorchScript module.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> before = torch_identity(net)
        >>> before == torch_identity(net.eval()) == torch_identity(torch.compile(net, backend="eager"))
        True
        >>> _ = net[0].bias.data.add_(1)
        >>> before == torch_identity(net)
        False
    """
    torch = import_extra("torch", "torch")
    module = getattr(module, "_orig_mod", module)
    if version is not None:
        return identity_of((version, {name: value.detach() for name, value in module.state_dict().items()}))
    if run is not None and module not in _scratch:
        _scratch[module] = _written(module, run)
    of_modules = {*vars(torch.nn.Module()), *_COMPILED}
    written: dict[int, set[str]] = {}
    for name, part in module.named_modules():
        written[id(part)] = {attribute for of, attribute in _scratch.get(module, ()) if of == name}

    def instead(value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            compiled = type(value).__module__.startswith("torch._dynamo")
            return value._orig_mod if compiled else _content(value, of_modules | written.get(id(value), set()))
        if isinstance(value, FunctionType):
            return getattr(value, "_torchdynamo_orig_callable", value)
        return "device" if isinstance(value, torch.device) else value

    every = import_extra("torch.nn.modules.module", "torch")
    hooks = [*every._global_forward_pre_hooks.values(), *every._global_forward_hooks.values()]
    return identity_of((module, _exchanged_operations(), hooks), instead)


def _written(module: Any, run: Callable[[], object]) -> frozenset[tuple[str, str]]:
    """Attributes whose objects change during a forward pass."""

    def attributes() -> dict[tuple[str, str], Any]:
        return {(name, each): value for name, part in module.named_modules() for each, value in vars(part).items()}

    before, after = attributes(), {}
    # Read at the end of the pass, before the changes are undone.
    handle = module.register_forward_hook(RecordingHook(lambda output: after.update(attributes())))
    try:
        with suppress(Exception):  # a module that fails here gives no activations
            run()
    finally:
        handle.remove()
    of_modules = {*vars(import_extra("torch.nn", "torch").Module())}
    return frozenset(
        of for of, value in after.items() if of[1] not in of_modules and before.get(of, before) is not value
    )


def _exchanged_operations() -> list[tuple[str, str, str]]:
    """Functions of torch under another name than their own, which indicates that one was replaced by another.

    User code in their place is detected with all replacements in installed packages.
    """
    return sorted(
        (module, name, value.__name__)
        for module in ("torch", "torch.nn.functional")
        for name, value in vars(import_extra(module, "torch")).items()
        if isinstance(value, (FunctionType, BuiltinFunctionType)) and value.__name__ != name
    )


def _content(module: Any, apart: set[str]) -> Any:
    """The parts of one module as plain values, without some attributes."""
    torch = import_extra("torch", "torch")
    content: dict[str, Any] = {"class": type(module)}
    if isinstance(module, torch.jit.ScriptModule):
        raise Undigestible(
            f"the attributes of a TorchScript module ({module.original_name}) cannot be seen; use the module it was "
            "made from"
        )
    if isinstance(module, torch.fx.GraphModule):  # each has its own class, generated from the code
        nodes = [(node.op, node.name, node.target) for node in module.graph.nodes]
        content = {"class": torch.fx.GraphModule, "nodes": nodes, "graph code": module.code}
        apart = {*vars(module)}
    hooks = [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]
    return content | {
        "parameters": module._parameters,
        "buffers": module._buffers,
        "submodules": module._modules,
        "hooks": [hook for hook in hooks if not isinstance(hook, RecordingHook)],  # hooks of other threads
        "attributes": {
            name: "device" if isinstance(value, str) and _DEVICE.fullmatch(value) else value
            for name, value in sorted(vars(module).items())
            if name not in apart
        },
    }
