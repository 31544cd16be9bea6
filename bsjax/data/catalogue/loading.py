"""Published data from S3, or from a folder of the user's, with errors that name the entry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bsjax.data.catalogue.licensed_stimuli import load_gated_stimuli
from bsjax.data.catalogue.post_processing import apply
from bsjax.data.catalogue.published import ACCESS, Published
from bsjax.data.remote.s3 import fetched_assembly, fetched_stimuli
from bsjax.data.types.assemblies import DataAssembly
from bsjax.data.types.stimuli import StimulusSet


def load_assembly(
    entry: Published, stimulus_set: Callable[[str], StimulusSet], *, chunks: Any = None, progress: Any = None
) -> DataAssembly:
    """Load a published assembly, fetching what is not here yet.

    Args:
        entry: its row.
        stimulus_set: loads a stimulus set by its name.
        chunks: as for ``load_assembly_from_s3``, for a file larger than memory.
        progress: as for ``load_assembly_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_assembly_from_s3``; the
            message names the entry, the object, and what access it needs.
    """
    [file] = entry.files
    with _explained(entry):
        assembly = fetched_assembly(
            entry.identifier,
            file,
            entry.class_name,
            (lambda: stimulus_set(entry.stimulus_set)) if entry.stimulus_set else None,
            entry.merge,
            chunks=chunks,
            progress=progress,
        )
        return apply(entry.post_processing, assembly)


def load_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    """Load a published stimulus set, fetching what is not here yet.

    Args:
        entry: its row.
        progress: as for ``load_stimulus_set_from_s3``.

    Raises:
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_stimulus_set_from_s3``; the
            message names the entry, the object, and what access it needs.
    """
    with _explained(entry):
        if entry.archive:
            stimuli = load_gated_stimuli(entry, progress=progress)
        else:
            stimuli = fetched_stimuli(entry.identifier, entry.files, exact=entry.unique, progress=progress)
        if not entry.unique:
            stimuli = stimuli[~stimuli["stimulus_id"].duplicated()]
        return apply(entry.post_processing, stimuli)


@contextmanager
def _explained(entry: Published) -> Iterator[None]:
    """A block whose errors name the entry that was to be loaded, and, where that matters, who may read it."""
    try:
        yield
    except (OSError, ValueError) as error:
        what = f"cannot load {entry.kind.replace('_', ' ')} {entry.name!r}: {error}"
        inner = str(error).startswith("cannot load ")  # its stimulus set, which has been explained already
        remote = isinstance(error, OSError) and error.errno is None  # not an error of this machine's disk
        if remote and not inner:
            what += f" [access to {entry.name}: {entry.access}; {ACCESS[entry.access]}]"
        if entry.note and not inner:
            what += f" [note: {entry.note}]"
        told = next(kind for kind in _KINDS_OF_ERRORS if isinstance(error, kind))(what)
        if isinstance(told, OSError) and isinstance(error, OSError):
            told.errno = error.errno
        raise told from error


_KINDS_OF_ERRORS = (FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError)
