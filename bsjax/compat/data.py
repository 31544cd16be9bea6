"""Data of plugins: loading in the classes known to them, and former names of file functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bsjax import data
from bsjax.compat.assemblies import for_plugins
from bsjax.compat.benchmarks.described import data_are_read
from bsjax.core.digests.files import sha1_hash as sha1_hash
from bsjax.data.files.archives import unzip as unzipped

# Names from before 2021, and the current ones.
_NAMES = (
    *(("image_id", "stimulus_id"), ("image_path_within_store", "stimulus_path_within_store")),
    *(("sample_object", "sample_obj"), ("distractor_object", "dist_obj"), ("sample_object", "truth")),
)


def load_assembly_from_s3(
    identifier: str, version_id: str | None, sha1: str, bucket: str, cls: type, *args: Any, **kwargs: Any
) -> Any:
    """Load an assembly in the class known to plugins, see :func:`bsjax.data.load_assembly_from_s3`."""
    data_are_read()
    return for_plugins(data.load_assembly_from_s3(identifier, version_id, sha1, bucket, cls.__name__, *args, **kwargs))


@functools.wraps(data.load_stimulus_set_from_s3, assigned=())
def load_stimulus_set_from_s3(*args: Any, **kwargs: Any) -> data.StimulusSet:
    """Load a stimulus set, see :func:`bsjax.data.load_stimulus_set_from_s3`."""
    data_are_read()
    return data.load_stimulus_set_from_s3(*args, **kwargs)


def unzip(zip_path: str | Path) -> str:
    """The folder next to an archive with its files, which are extracted if missing."""
    return str(unzipped(zip_path))


def download_file_if_not_exists(local_path: str | Path, bucket: str, remote_filepath: str) -> None:
    """Download a file from S3 to a path, unless it exists."""
    data.load_file_from_s3(bucket, remote_filepath, local_path)


def get_assembly(identifier: str) -> Any:
    """Load a data set by its identifier in :func:`bsjax.load_dataset`.

    Raises:
        KeyError: the identifier is unknown.
    """
    return _loaded(data.data_registry, data.load_dataset, identifier)


def get_stimulus_set(identifier: str) -> Any:
    """Load a stimulus set by its identifier in :func:`bsjax.load_stimulus_set`.

    Raises:
        KeyError: the identifier is unknown.
    """
    return _loaded(data.stimulus_set_registry, data.load_stimulus_set, identifier)


def create_stimulus_csv(proto_stimulus_set: Any, target_path: str | Path) -> str:
    """Write the table of a stimulus set; returns its SHA-1."""
    return data.write_stimulus_csv(proto_stimulus_set, target_path)


def create_stimulus_zip(proto_stimulus_set: Any, target_zip_path: str | Path) -> tuple[str, list[str]]:
    """Write the archive of a stimulus set; returns its SHA-1, and the name of each stimulus' file in it."""
    sha1 = data.write_stimulus_zip(proto_stimulus_set, target_zip_path)
    return sha1, data.stimulus_filenames(proto_stimulus_set)


def _packaging(package: Callable[..., Any]) -> Callable[..., Any]:
    """A packaging function that accepts the tutorials' calls: without a catalogue, and with former names."""
    signature = inspect.signature(package)
    first, *_ = names = list(signature.parameters)
    proto = next(name for name in names if name.startswith("proto"))

    @functools.wraps(package, assigned=())
    def packaging(*args: Any, **kwargs: Any) -> Any:
        """Package data, see the function of this name in :mod:`bsjax.data`."""
        if first not in (proto, *kwargs) and isinstance([*args, *kwargs.values()][0], pd.DataFrame | xr.DataArray):
            args = None, *args
        if "assembly_class" in kwargs:
            kwargs["assembly_class_name"] = kwargs.pop("assembly_class")
        given = signature.bind(*args, **kwargs)
        given.arguments[proto] = with_current_names(given.arguments[proto])
        return package(*given.args, **given.kwargs)

    return packaging


package_stimulus_set = _packaging(data.package_stimulus_set)
package_data_assembly = _packaging(data.package_data_assembly)
package_stimulus_set_locally = _packaging(data.package_stimulus_set_locally)
package_data_assembly_locally = _packaging(data.package_data_assembly_locally)


def with_current_names(made: Any) -> Any:
    """Add current names to stimuli or an assembly with former names of columns or coordinates."""
    for name, other in _NAMES:
        held = made.columns if isinstance(made, pd.DataFrame) else made.coords
        if name in held and other not in held:
            values = made[name].values
            table = isinstance(made, pd.DataFrame)
            made = made.assign(**{other: values}) if table else made.assign_coords({other: (made[name].dims, values)})
    return made


class StimulusSetLoader:
    """Loader of a stimulus set from a table and a folder.

    Args:
        cls: the class of the set.
        csv_path: the table.
        stimuli_directory: the folder.
    """

    def __init__(self, cls: type, csv_path: str | Path, stimuli_directory: str | Path) -> None:
        self.stimulus_set_class, self.csv_path, self.stimuli_directory = cls, csv_path, stimuli_directory

    def load(self) -> Any:
        """The stimulus set."""
        return self.stimulus_set_class(data.read_stimulus_set(self.csv_path, self.stimuli_directory, exact=False))

    @classmethod
    def correct_stimulus_id_name(cls, stimulus_set: Any) -> None:
        """Add the column ``stimulus_id`` to a table that has only ``image_id``, in place."""
        if "image_id" in stimulus_set and "stimulus_id" not in stimulus_set:
            stimulus_set["stimulus_id"] = stimulus_set["image_id"]


class StimulusMergeAssemblyLoader:
    """Loader of an assembly with the columns of its stimulus set as coordinates.

    Args:
        cls: the class of the assembly.
        file_path: the file.
        stimulus_set_identifier: identifier of the stimulus set, kept as an attribute.
        stimulus_set: the stimulus set, kept as an attribute.
        group: the group of the file.
    """

    def __init__(
        self,
        cls: type,
        file_path: str | Path,
        stimulus_set_identifier: Any = None,
        stimulus_set: Any = None,
        group: str | None = None,
    ) -> None:
        self.assembly_class, self.file_path, self.group = cls, file_path, group
        self.stimulus_set_identifier, self.stimulus_set = stimulus_set_identifier, stimulus_set

    def load(self) -> Any:
        """The assembly."""
        made = data.read_assembly(self.file_path, self.assembly_class.__name__, group=self.group)
        made = made.assign_attrs(stimulus_set_identifier=self.stimulus_set_identifier, stimulus_set=self.stimulus_set)
        return for_plugins(made if self.stimulus_set is None else data.merge_stimulus_set(made, self.stimulus_set))


def _loaded(registry: Any, load: Callable[[str], Any], identifier: str) -> Any:
    data_are_read()
    if identifier not in registry:
        # Former identifiers consisted of the laboratory and the data set.
        identifier = identifier.partition(".")[2] if identifier.partition(".")[2] in registry else identifier
    return for_plugins(load(identifier))
