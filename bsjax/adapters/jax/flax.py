"""Adapter of flax modules: nnx, and linen with its variables."""

from __future__ import annotations

import contextvars
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack, cast

import jax

from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import Preprocessing, imagenet_preprocessing
from bsjax.activations.options import ExtractionOptions
from bsjax.adapters.jax.network import Forward, JaxNetwork
from bsjax.adapters.nested_outputs import may_give, named_layers, spread
from bsjax.core.context import set_within
from bsjax.core.extras import import_extra

if TYPE_CHECKING:
    from flax import linen, nnx

_ROOT = "output"
_RECORDED = "bsjax_recorded_output"
_LAYER = "bsjax_layer"
# Layers in the order in which their calls end, for the current trace.
_finished: contextvars.ContextVar[list[str]] = contextvars.ContextVar("finished")


def from_flax(
    module: nnx.Module | linen.Module,
    identifier: str,
    variables: Mapping[str, Any] | None = None,
    preprocess: Preprocessing | None = None,
    arguments: Mapping[str, Any] | None = None,
    **options: Unpack[ExtractionOptions],
) -> ExtractedActivations:
    """Make an activations model from any flax module.

    Layers are the submodules, by their dotted paths (``blocks.0.conv``), and ``"output"``, the output of the whole
    module (unless a submodule has that name). If one returns several arrays, in a tuple, list, mapping or dataclass,
    the first has the submodule's name and each further one a name below it: ``head.1``, ``output.pooled``. If a
    submodule is called several times, the last call counts. A submodule that is not called is not a layer.

    An nnx module runs in evaluation mode (``deterministic``, ``use_running_average``) on a copy, so the module itself
    is not changed. Its weights are read at every run: further training changes the activations.

    Args:
        module: takes a batch of images.
        identifier: name of the model.
        variables: for a linen module, the result of ``module.init``.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch; by default 224 pixels, ImageNet mean and
            standard deviation, ``(images, 224, 224, 3)``. For a module with several inputs, return a tuple (by
            position) or a dict (by keyword) of arrays.
        arguments: keyword arguments of the call in addition to the images, e.g. ``{"train": False}``.
        **options: of the extraction, see :class:`~bsjax.activations.ExtractedActivations`; the module is compiled once
            for each batch shape.

    Raises:
        ImportError: flax is not installed.
        ValueError: ``module`` is not a flax module, a linen module has no ``variables``, or an nnx module has some.

    Example:
        >>> from flax import nnx
        >>> from bsjax.adapters import imagenet_preprocessing
        >>> net = nnx.Sequential(nnx.Conv(3, 4, (3, 3), rngs=nnx.Rngs(0)), nnx.relu)
        >>> from_flax(net, "net", preprocess=imagenet_preprocessing(size=8, layout="NHWC")).layers()
        {'layers.0': (8, 8, 4), 'output': (8, 8, 4)}
    """
    nnx = import_extra("flax.nnx", "flax")
    linen = import_extra("flax.linen", "flax")
    arguments = dict(arguments or {})
    name = type(module).__name__
    if isinstance(module, nnx.Module):
        if variables is not None:
            raise ValueError("an nnx module holds its variables itself; leave out variables=")
        made_of = lambda: (nnx.split(module)[0], arguments)  # noqa: E731
        network = JaxNetwork(_nnx_forward(arguments), lambda: nnx.split(module), name, made_of)
    elif isinstance(module, linen.Module):
        if variables is None:
            raise ValueError(f"{name} is a linen module: give variables=, what {name}(...).init(key, images) returned")
        kept = {collection: value for collection, value in variables.items() if collection != "intermediates"}
        forward = _linen_forward(cast("linen.Module", module), arguments)
        network = JaxNetwork(forward, lambda: (None, kept), name, lambda: (module, arguments))
    else:
        raise ValueError(f"from_flax takes a flax nnx or linen module, got {name}")
    return ExtractedActivations(identifier, network, preprocess or imagenet_preprocessing(layout="NHWC"), **options)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array)


def _nnx_forward(arguments: dict[str, Any]) -> Forward:
    nnx = import_extra("flax.nnx", "flax")

    def forward(structure: Any, state: Any, batch: Any, layers: Collection[str] | None) -> dict[str, jax.Array]:
        # The merged copy belongs to this trace alone, so its modules can get a recording class.
        module = nnx.merge(structure, state)
        module.eval()
        named = {".".join(map(str, path)): part for path, part in nnx.iter_modules(module)}
        named = {_ROOT: named.pop(""), **named}
        for name, part in named.items():
            if callable(part) and may_give(name, layers):
                setattr(part, _LAYER, name)  # is kept in copies by nnx.remat and similar transforms
                object.__setattr__(part, "__class__", _recording_class(type(part)))
        inputs, keywords = spread(batch, arguments)
        finished: list[Any] = []
        with set_within(_finished, finished):
            _, recorded = nnx.capture(lambda module: module(*inputs, **keywords), nnx.Intermediate)(module)
        outputs = {}
        for path, variable in nnx.to_flat_state(recorded):
            if path[-1] == _RECORDED:
                outputs[".".join(map(str, path[:-1])) or _ROOT] = variable.get_value()
        last_calls = reversed(dict.fromkeys(reversed(finished)))
        return _flat({name: outputs[name] for name in last_calls if name in outputs}, named)

    return forward


@cache
def _recording_class(cls: type) -> type:
    """A subclass whose call also records its output."""
    nnx = import_extra("flax.nnx", "flax")

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = cls.__call__(self, *args, **kwargs)
        layer = getattr(self, _LAYER)
        arrays = named_layers(layer, output, _is_array)
        if arrays:
            self.sow(nnx.Intermediate, _RECORDED, arrays, init_fn=lambda: None, reduce_fn=lambda _, last: last)
            _finished.get().append(layer)
        return output

    return type(cls)(cls.__name__, (cls,), {"__call__": call, "__module__": cls.__module__})


def _linen_forward(module: linen.Module, arguments: dict[str, Any]) -> Forward:
    def forward(_structure: None, variables: Any, batch: Any, layers: Collection[str] | None) -> dict[str, jax.Array]:
        def is_wanted(part: linen.Module, method: str) -> bool:
            return method == "__call__" and may_give(".".join(part.path) or _ROOT, layers)

        inputs, keywords = spread(batch, arguments)
        _, state = module.apply(
            variables, *inputs, **keywords, capture_intermediates=is_wanted, mutable=["intermediates"]
        )
        outputs: dict[str, dict[str, jax.Array]] = {}
        _collect_calls(state.get("intermediates") or {}, (), outputs)
        return _flat(outputs, outputs)

    return forward


def _collect_calls(tree: Mapping[str, Any], path: tuple[str, ...], outputs: dict[str, dict[str, jax.Array]]) -> None:
    """The last output of each module in linen's tree of intermediates, innermost first."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            _collect_calls(value, (*path, key), outputs)
    if isinstance(tree.get("__call__"), tuple):
        layer = ".".join(path) or _ROOT
        arrays = named_layers(layer, tree["__call__"][-1], _is_array)
        if arrays:
            outputs.setdefault(layer, arrays)  # a submodule named "output" takes precedence


def _flat(outputs: Mapping[str, Mapping[str, jax.Array]], modules: Collection[str]) -> dict[str, jax.Array]:
    """The arrays by layer; further outputs do not override submodules of the same name."""
    return {
        name: array
        for module, arrays in outputs.items()
        for name, array in arrays.items()
        if name == module or name not in modules
    }
