"""Digests of torch modules: weights, structure and code."""

from __future__ import annotations

import dis
import re
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from bsjax.adapters.torch.hooks import RecordingHook
from bsjax.core.digests.code import source_of
from bsjax.core.digests.reached_code import by_name, methods_of
from bsjax.core.digests.values import Undigestible, digest_of
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    import torch

_DEVICE = re.compile(r"(cpu|cuda|mps|xpu)(:\d+)?")
# Marks that torch.compile leaves on a module.
_COMPILED = ("_compiled_call_impl", "_is_torch_compile")


def torch_digest(module: torch.nn.Module) -> str:
    """Digest of all that decides what a module makes of an input in evaluation mode.

    That is all parameters and buffers (name, dtype, shape, bytes), the names and classes of the submodules and their
    order, their attributes and forward hooks, and the code of their classes: of an installed distribution its name and
    version, else the source of the class's file and the bytecode that runs, with what that reads of the environment and
    of files. Own code that was put into a distribution counts, and so do hooks on all modules. It is the same in every
    process.

    Neither the mode nor the device of the module matters, nor compilation, nor attributes that ``forward`` only writes,
    or writes before it reads them, such as the last input or a counter of calls.

    Args:
        module: any module, also one of ``torch.compile``, whose digest is that of the original.

    Returns:
        32 hexadecimal digits.

    Raises:
        Undigestible: nothing vouches for a part of it, which the message names, or it is a TorchScript module.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> before = torch_digest(net)
        >>> before == torch_digest(net.eval()) == torch_digest(torch.compile(net, backend="eager"))
        True
        >>> _ = net[0].bias.data.add_(1)
        >>> before == torch_digest(net)
        False
    """
    torch = import_extra("torch", "torch")
    own = {*vars(torch.nn.Module()), *_COMPILED}

    def instead(value: Any) -> Any:
        if isinstance(value, torch.nn.Module):
            compiled = type(value).__module__.startswith("torch._dynamo")
            return value._orig_mod if compiled else _content(value, own)
        if isinstance(value, FunctionType):
            return getattr(value, "_torchdynamo_orig_callable", value)
        return "device" if isinstance(value, torch.device) else value

    return digest_of((module, _replaced_operations(), _global_hooks()), instead)


def _replaced_operations() -> list[tuple[str, str, str]]:
    """Functions that torch's own layers call and that have another name of their own, as when one replaces another.

    Own code in their place is found with all that is put into a distribution.
    """
    return sorted(
        (module, name, value.__name__)
        for module in ("torch", "torch.nn.functional")
        for name, value in vars(import_extra(module, "torch")).items()
        if isinstance(value, (FunctionType, BuiltinFunctionType)) and value.__name__ != name
    )


def _global_hooks() -> list[Any]:
    """Hooks on all modules."""
    every = import_extra("torch.nn.modules.module", "torch")
    return [*every._global_forward_pre_hooks.values(), *every._global_forward_hooks.values()]


def _content(module: Any, own: set[str]) -> Any:
    """The parts of one module as plain values; ``own`` are the attributes that every module has."""
    torch = import_extra("torch", "torch")
    content: dict[str, Any] = {}
    cls, ignored = type(module), own
    if isinstance(module, torch.jit.ScriptModule):
        raise Undigestible(
            f"the attributes of a TorchScript module ({module.original_name}) cannot be seen; use the module it was "
            "made from"
        )
    if isinstance(module, torch.fx.GraphModule):  # each has a class of its own, made of the code
        content["nodes"] = [(node.op, node.name, node.target) for node in module.graph.nodes]
        content["graph code"] = module.code
        cls, ignored = torch.fx.GraphModule, {*vars(module)}
    content["class"] = cls
    content["sources"] = [source_of(base.__module__) for base in cls.__mro__]
    content["parameters"] = module._parameters
    content["buffers"] = module._buffers
    content["submodules"] = module._modules
    hooks = [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]
    content["hooks"] = [hook for hook in hooks if not isinstance(hook, RecordingHook)]  # another thread records
    scratch = _scratch(cls)
    content["attributes"] = {
        name: "device" if isinstance(value, str) and _DEVICE.fullmatch(value) else value
        for name, value in sorted(vars(module).items())
        if name not in ignored and name not in scratch
    }
    return content


@cache
def _scratch(cls: type) -> frozenset[str]:
    """Attributes that a forward pass writes and whose earlier value it never uses."""
    written: set[str] = set()
    read: set[str] = set()
    own = [base for base in cls.__mro__ if base.__module__ != "torch.nn.modules.module"]
    for function in by_name(methods_of(own)):
        names = {*function.__code__.co_names}
        if "__dict__" in names or names & {"getattr", "vars"}:
            return frozenset()  # what is read cannot be seen
        stores, loads = _accesses(function.__code__)
        written |= stores
        read |= loads
    return frozenset(written - read)


def _accesses(code: CodeType) -> tuple[set[str], set[str]]:
    """Names of attributes that are written, and of those that are read before they are surely written."""
    stores: set[str] = set()
    loads: set[str] = set()
    sure: set[str] = set()
    # The furthest place that a jump can lead to; that of an exception may be any.
    beyond = 1 << 62 if code.co_exceptiontable else 0
    before = ""
    for step in dis.get_instructions(code):
        if step.opcode in dis.hasjrel:  # all jumps are relative
            beyond = max(beyond, int(step.argval))
        if step.opname == "STORE_ATTR":
            stores.add(step.argval)
            if step.offset >= beyond:
                sure.add(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval not in sure and before != "COPY":
            loads.add(step.argval)  # after a copy of the object it is the beginning of "self.calls += 1"
        before = step.opname
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_stores, inner_loads = _accesses(constant)
            stores, loads = stores | inner_stores, loads | inner_loads
    return stores, loads
