"""Validation and error messages that all activations models share."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bsjax.core.labels import require_columns
from bsjax.core.registry import nearest
from bsjax.data import StimulusSet

_MOST_LISTED = 100


def checked_identifier(identifier: str) -> str:
    """The identifier of a model, if valid.

    Raises:
        ValueError: it is not a non-empty string.
    """
    if not isinstance(identifier, str) or not identifier:
        raise ValueError(f"the identifier of a model must be a non-empty string, got {identifier!r}")
    return identifier


def listed_layers(layers: str | Sequence[str]) -> list[str]:
    """The layers as a list; a single name may be given as a string.

    Raises:
        ValueError: a name is not a string.

    Example:
        >>> listed_layers([0])
        Traceback (most recent call last):
        ...
        ValueError: the name of a layer is a string, got 0 of type int; did you mean '0'?
    """
    listed = list(layers) if isinstance(layers, Iterable) and not isinstance(layers, str | bytes) else [layers]
    for layer in listed:
        if not isinstance(layer, str):
            meant = f"did you mean {str(layer)!r}?" if isinstance(layer, int) else "see layers() for those that exist"
            raise ValueError(f"the name of a layer is a string, got {layer!r} of type {type(layer).__name__}; {meant}")
    return listed


def checked_layers(layers: str | Sequence[str]) -> list[str]:
    """The layers as a list of at least one, all different.

    Raises:
        ValueError: there is no layer, a repeated one, or an invalid name.
    """
    layers = listed_layers(layers)
    if not layers:
        raise ValueError("no layer given; name at least one")
    repeated = sorted({layer for layer in layers if layers.count(layer) > 1})
    if repeated:
        raise ValueError(f"each layer may be named once, got {', '.join(repeated)} more than once")
    return layers


def checked_stimuli(stimuli: StimulusSet) -> None:
    """Check that stimuli are a non-empty stimulus set.

    Raises:
        ValueError: they are not.
    """
    if not isinstance(stimuli, StimulusSet):
        raise ValueError(f"stimuli must be a StimulusSet, got {type(stimuli).__name__}")
    require_columns(stimuli, ["stimulus_id"], f"stimulus set {stimuli.identifier!r}")
    if not len(stimuli):
        raise ValueError(f"stimulus set {stimuli.identifier!r} has no rows")


def unknown_layers(identifier: str, missing: Sequence[str], known: Mapping[str, tuple[int, ...]]) -> ValueError:
    """The error for unknown layers, which lists the existing ones with their shapes for one image."""
    names = ", ".join(map(repr, missing))
    near = ", ".join(dict.fromkeys(name for layer in missing for name in nearest(layer, known)))
    listed = ", ".join(f"{name} {shape}" for name, shape in list(known.items())[:_MOST_LISTED])
    more = f", ... ({len(known)} in all, see layers())" if len(known) > _MOST_LISTED else ""
    return ValueError(
        f"model {identifier!r} has no layer {names}{f'; nearest: {near}' if near else ''}; "
        f"its layers, with the shape for one image: {listed}{more}"
    )


def checked_values(identifier: str, layer: str, values: np.ndarray, stimulus_ids: Sequence[object]) -> np.ndarray:
    """The activations of some stimuli as float32.

    Args:
        identifier: the model's.
        layer: the layer's name.
        values: with stimuli on the first axis.
        stimulus_ids: the id of each, for the message.

    Raises:
        ValueError: a value is NaN, infinite, complex, or not a number.

    Example:
        >>> import numpy as np
        >>> checked_values("net", "relu", np.array([[0.0], [np.nan]]), ["a", "b"])
        Traceback (most recent call last):
        ...
        ValueError: layer 'relu' of model 'net' gives NaN or infinite values for 1 of 2 stimuli, first for 'b'
    """
    if values.dtype.kind in "cOSUMm":
        raise ValueError(f"layer {layer!r} of model {identifier!r} gives {values.dtype} values; expected real numbers")
    with np.errstate(over="ignore", invalid="ignore"):  # overflow to infinity is reported below
        values = values.astype(np.float32, copy=False)
        if np.isfinite(values.sum()):  # so are all values; the sum of finite values may overflow
            return values
    bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if len(bad):
        raise ValueError(
            f"layer {layer!r} of model {identifier!r} gives NaN or infinite values "
            f"for {len(bad)} of {len(values)} stimuli, first for {stimulus_ids[bad[0]]!r}"
        )
    return values
