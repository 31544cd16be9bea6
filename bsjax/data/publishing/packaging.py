"""Packaging of data in Brain-Score's format and under its function names, with checks and reproducible bytes.

Nothing is written unless every check of ``bsjax.data.publishing.checklist`` passes or is waived by name. The data
passed in are not modified.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bsjax.core.digests.files import digests_of, remember
from bsjax.core.files import written_aside
from bsjax.data.files.netcdf.writing import write_into
from bsjax.data.files.stimulus_files import write_stimulus_csv, write_stimulus_zip
from bsjax.data.publishing.checklist import check_assembly, check_stimulus_set, failures, refuse
from bsjax.data.publishing.upload import upload_assembly, upload_stimulus_set
from bsjax.data.remote.cache import brainio_home
from bsjax.data.remote.storage import store_name
from bsjax.data.types.assemblies import DataAssembly, resolve_assembly_class
from bsjax.data.types.stimuli import StimulusSet

_REQUESTED = "brainio.requested"  # bucket of Brain-Score's requested experiments
_UNSAFE = set('/\\:*?"<>|') | {chr(code) for code in range(32)}


def package_stimulus_set(
    catalog_name: str | None,
    proto_stimulus_set: pd.DataFrame,
    stimulus_set_identifier: str,
    bucket_name: str = "brainio-temp",
    *,
    allow: Collection[str] = (),
    overwrite: bool = False,
) -> dict[str, Any]:
    """Package a stimulus set and upload it.

    Args:
        catalog_name: ignored, as in Brain-Score, which no longer has catalogues.
        proto_stimulus_set: the set, with the path of each stimulus.
        stimulus_set_identifier: its name, e.g. "MajajHong2015".
        bucket_name: "bucket" or "bucket/folder".
        allow: names of checks that may fail.
        overwrite: whether to replace other objects of these names.

    Returns:
        identifier, bucket, and for the ``csv`` and the ``zip``: ``csv_sha1``, ``csv_sha256``, ``csv_version_id``, ....
        Versions are None for a bucket without versioning.

    Raises:
        ValueError: checks fail; one message lists every problem.
        FileExistsError, PermissionError, ConnectionError, FileNotFoundError, OSError: as ``upload_files``.

    Example:
        >>> from bsjax.data import StimulusSet
        >>> package_stimulus_set(None, StimulusSet({"stimulus_id": ["a", "a"]}), "Doe2026")
        Traceback (most recent call last):
        ...
        ValueError: ...
    """
    folder = brainio_home() / Path(_file_name(stimulus_set_identifier, "csv")).stem
    requested = bucket_name.partition("/")[0] == _REQUESTED
    packaged = _stimulus_set(proto_stimulus_set, stimulus_set_identifier, folder, allow, requested)
    return upload_stimulus_set(packaged, bucket_name, overwrite=overwrite)


def package_data_assembly(
    catalog_identifier: str | None,
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str,
    stimulus_set_identifier: str | None,
    assembly_class_name: str = "NeuroidAssembly",
    bucket_name: str = "brainio-temp",
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    allow: Collection[str] = (),
    overwrite: bool = False,
) -> dict[str, Any]:
    """Package an assembly and upload it.

    Args:
        catalog_identifier: ignored, as in Brain-Score, which no longer has catalogues.
        proto_data_assembly: the assembly. If it has an attribute ``stimulus_set``, it is checked against that.
        assembly_identifier: its name, e.g. "MajajHong2015.public".
        stimulus_set_identifier: the name of its stimulus set; None if it has none.
        assembly_class_name: the class to read it as.
        bucket_name: "bucket" or "bucket/folder".
        extras: further arrays for the file, each in a group of its name.
        allow: names of checks that may fail.
        overwrite: whether to replace another object of this name.

    Returns:
        identifier, bucket, cls (the name of the class), sha1, sha256, version_id (None for a bucket without
        versioning), stimulus_set_identifier.

    Raises:
        ValueError: checks fail; one message lists every problem.
        FileExistsError, PermissionError, ConnectionError, FileNotFoundError, OSError: as ``upload_files``.

    Example:
        >>> import xarray as xr
        >>> nothing = xr.DataArray([[float("nan")]], dims=["presentation", "neuroid"])
        >>> package_data_assembly(None, nothing, "Doe2026", None)
        Traceback (most recent call last):
        ...
        ValueError: ...
    """
    folder = brainio_home() / Path(_file_name(assembly_identifier, "nc")).stem
    packaged = package_data_assembly_locally(
        proto_data_assembly,
        assembly_identifier,
        stimulus_set_identifier,
        assembly_class_name,
        folder,
        extras,
        allow=allow,
    )
    return upload_assembly(packaged, bucket_name, overwrite=overwrite)


def package_stimulus_set_locally(
    proto_stimulus_set: pd.DataFrame,
    stimulus_set_identifier: str,
    downloads_path: str | Path | None = None,
    *,
    allow: Collection[str] = (),
) -> dict[str, Any]:
    """Package a stimulus set into a folder: a CSV table, and a zip file of the stimuli.

    Args:
        proto_stimulus_set: the set, with the path of each stimulus.
        stimulus_set_identifier: its name, e.g. "MajajHong2015".
        downloads_path: the folder; by default ``~/Downloads/brainscore_packages``.
        allow: names of checks that may fail.

    Returns:
        identifier, csv_path, zip_path, csv_sha1, zip_sha1, csv_sha256, zip_sha256.

    Raises:
        ValueError: checks fail; one message lists every problem.
        OSError: the files cannot be written.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "a"], "size": [1, 2]})
        >>> package_stimulus_set_locally(stimuli, "Doe2024", "packages")
        Traceback (most recent call last):
        ...
        ValueError: cannot package the stimulus set 'Doe2024', 2 problems: ids: stimulus_id repeats a: give each \
stimulus an id of its own; files: stimulus_paths lacks a: map each id to the path of its file
    """
    return _stimulus_set(proto_stimulus_set, stimulus_set_identifier, packages_folder(downloads_path), allow)


def package_data_assembly_locally(
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str,
    stimulus_set_identifier: str | None,
    assembly_class_name: str = "NeuroidAssembly",
    downloads_path: str | Path | None = None,
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    allow: Collection[str] = (),
) -> dict[str, Any]:
    """Package an assembly into a folder, as a netCDF file.

    Args:
        proto_data_assembly: the assembly. If it has an attribute ``stimulus_set``, it is checked against that.
        assembly_identifier: its name, e.g. "MajajHong2015.public".
        stimulus_set_identifier: the name of its stimulus set; None if it has none.
        assembly_class_name: the class to read it as.
        downloads_path: the folder; by default ``~/Downloads/brainscore_packages``.
        extras: further arrays for the file, each in a group of its name.
        allow: names of checks that may fail.

    Returns:
        identifier, path, sha1, sha256, cls (the name of the class), stimulus_set_identifier.

    Raises:
        ValueError: checks fail; one message lists every problem.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> responses = xr.DataArray([1.0, 0.0], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "subject": ("presentation", ["s1", "s1"])})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     packaged = package_data_assembly_locally(responses, "Doe2024", "Doe2024", "BehavioralAssembly", folder)
        ...     Path(packaged["path"]).name
        'assy_Doe2024.nc'
    """
    path = packages_folder(downloads_path) / _file_name(assembly_identifier, "nc")
    cls = resolve_assembly_class(assembly_class_name)
    strangers = [name for name, extra in (extras or {}).items() if not isinstance(extra, xr.DataArray)]
    if strangers:
        raise ValueError(f"extras must be labelled arrays; these are not: {', '.join(map(str, strangers))}")
    problems = failures(check_assembly(proto_data_assembly, assembly_identifier, assembly_class_name), allow)
    assembly = _of_class(cls, proto_data_assembly, stimulus_set_identifier)
    # The file is moved into place only if both the data and the writing are without errors.
    with written_aside(path) as aside:
        try:
            for group, array in {None: assembly, **(extras or {})}.items():
                write_into(aside, array, group)
        except ValueError as error:
            problems.append(f"file: {error}")
        refuse(problems, f"the assembly {assembly_identifier!r}")
    digests = digests_of(path, ["sha1", "sha256"])
    remember(path, digests)
    return {
        "identifier": assembly_identifier,
        "path": str(path),
        **digests,
        "cls": cls.__name__,
        "stimulus_set_identifier": stimulus_set_identifier,
    }


def _stimulus_set(
    proto: pd.DataFrame, identifier: str, folder: Path, allow: Collection[str], requested: bool = False
) -> dict[str, Any]:
    csv_path, zip_path = (folder / _file_name(identifier, file_type) for file_type in ("csv", "zip"))
    refuse(failures(check_stimulus_set(proto, identifier, requested), allow), f"the stimulus set {identifier!r}")
    stimuli = StimulusSet(proto, stimulus_paths=getattr(proto, "stimulus_paths", None))
    packaged: dict[str, Any] = {"identifier": identifier, "csv_path": str(csv_path), "zip_path": str(zip_path)}
    packaged["csv_sha1"] = write_stimulus_csv(stimuli, csv_path)
    packaged["zip_sha1"] = write_stimulus_zip(stimuli, zip_path)
    for name, path in (("csv", csv_path), ("zip", zip_path)):
        packaged[f"{name}_sha256"] = digests_of(path, ["sha256"])["sha256"]
    return packaged


def _of_class(cls: type[DataAssembly], proto: xr.DataArray, stimulus_set_identifier: str | None) -> DataAssembly:
    assembly = cls(proto.copy(deep=False))
    attrs = {name: value for name, value in proto.attrs.items() if name not in ("stimulus_set", "identifier")}
    attrs.pop("stimulus_set_identifier", None)
    if stimulus_set_identifier is not None:
        attrs["stimulus_set_identifier"] = stimulus_set_identifier
    assembly.attrs = attrs
    return assembly


def packages_folder(downloads_path: str | Path | None = None) -> Path:
    """The folder for packages: the one given, or ``~/Downloads/brainscore_packages``.

    Example:
        >>> packages_folder("packages").name, packages_folder().name
        ('packages', 'brainscore_packages')
    """
    default = Path.home() / "Downloads" / "brainscore_packages"
    return default if downloads_path is None else Path(downloads_path).expanduser()


def _file_name(identifier: str, file_type: str) -> str:
    """Name of a package's file; a name that could lead out of its folder is always refused."""
    if not isinstance(identifier, str) or not identifier.strip() or _UNSAFE & set(identifier):
        raise ValueError(f"cannot name files after {identifier!r}: use letters, digits, '.', '_' and '-'")
    return store_name(identifier, file_type)
