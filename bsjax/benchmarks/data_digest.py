"""A short name for the exact data that a score was computed from."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bsjax.data import NeuroidAssembly


def assembly_digest(assembly: NeuroidAssembly) -> str:
    """Digest of an assembly: its values, what names its rows and columns, and the bytes of its stimuli.

    Any change to the numbers, to the order or names of stimuli, repetitions or neuroids, or to an image gives
    another digest; where the files lie does not matter.

    Args:
        assembly: responses; ``assembly.stimulus_set`` is read if there is one.

    Returns:
        ``"sha256:"`` and the first 16 hexadecimal digits.

    Example:
        >>> from bsjax import NeuroidAssembly
        >>> assembly = NeuroidAssembly(
        ...     [[1.0, 2.0]],
        ...     coords={"stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", ["n", "m"])},
        ...     dims=["presentation", "neuroid"],
        ... )
        >>> assembly_digest(assembly) == assembly_digest(assembly.copy())
        True
        >>> assembly_digest(assembly) == assembly_digest(assembly + 1)
        False
    """
    digest = hashlib.sha256()
    values = np.ascontiguousarray(assembly.values)
    digest.update(f"{assembly.dims}{values.shape}{values.dtype}".encode())
    digest.update(values.tobytes())
    for name in ("stimulus_id", "repetition", "neuroid_id"):
        if name in assembly.coords:
            digest.update("\0".join([name, *map(str, np.atleast_1d(assembly[name].values))]).encode())
    stimuli = assembly.attrs.get("stimulus_set")
    if stimuli is not None:
        for stimulus_id in stimuli["stimulus_id"]:
            digest.update(hashlib.sha256(stimuli.get_stimulus(stimulus_id).read_bytes()).digest())
    return f"sha256:{digest.hexdigest()[:16]}"
