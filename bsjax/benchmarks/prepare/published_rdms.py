"""Functions shared by the readers of published dissimilarity matrices (RDMs)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.core.file_reading import reading_as
from bsjax.data.types.assemblies import RDMAssembly


@contextmanager
def reading(path: Path, source: str) -> Iterator[Path]:
    """Context manager for reading ``path`` that turns any failure into one clear error.

    Args:
        path: the file.
        source: where to get it.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is damaged or has other content.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path.name} not found in {path.parent}: get it from {source}")
    with reading_as("dissimilarity matrices", path):
        yield path


def rdm_assembly(
    rdms: np.ndarray, dims: Sequence[str], coords: Mapping[str, Sequence[str]], *, path: Path, attrs: dict[str, Any]
) -> RDMAssembly:
    """RDMs (..., stimulus_left, stimulus_right) with numbered stimuli as an assembly.

    Args:
        rdms: the dissimilarities.
        dims: the dimensions before the two of the stimuli.
        coords: labels of ``dims``.
        path: the file they were read from, for messages.
        attrs: attributes of the assembly.

    Raises:
        ValueError: the matrices are not square or not symmetric, or their number differs from the labels.
    """
    labels = tuple(len(coords[dim]) for dim in dims)
    if rdms.ndim != len(dims) + 2 or rdms.shape[-1] != rdms.shape[-2] or rdms.shape[:-2] != labels:
        raise ValueError(f"{path} should hold square matrices for {', '.join(dims)} ({labels}), it holds {rdms.shape}")
    if not np.allclose(rdms, rdms.swapaxes(-1, -2), equal_nan=True):
        raise ValueError(f"{path} holds matrices that are not symmetric: fetch it again")
    stimuli = [f"{i + 1:02d}" for i in range(rdms.shape[-1])]
    return RDMAssembly(
        rdms,
        coords={
            **{dim: (dim, list(coords[dim])) for dim in dims},
            "stimulus_id_left": ("stimulus_left", stimuli),
            "stimulus_id_right": ("stimulus_right", stimuli),
        },
        dims=[*dims, "stimulus_left", "stimulus_right"],
        attrs=attrs,
    )
