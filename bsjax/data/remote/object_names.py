"""Names of the objects of stimulus sets and assemblies in a store, as Brain-Score gives them."""

from bsjax.data.remote.storage import RemoteFile

_PREFIXES = {"csv": "stimulus_", "zip": "stimulus_", "nc": "assy_"}


def store_name(identifier: str, file_type: str, filename_prefix: str | None = None) -> str:
    """The name of a file in the store.

    Args:
        identifier: identifier of the stimulus set or assembly; its dots become underscores.
        file_type: "csv" or "zip" of a stimulus set, "nc" of an assembly.
        filename_prefix: default: "stimulus_" or "assy_".

    Raises:
        ValueError: another ``file_type``.

    Example:
        >>> store_name("dicarlo.MajajHong2015.public", "nc")
        'assy_dicarlo_MajajHong2015_public.nc'
    """
    if file_type not in _PREFIXES:
        raise ValueError(f"unknown file type {file_type!r}: expected one of {', '.join(_PREFIXES)}")
    prefix = _PREFIXES[file_type] if filename_prefix is None else filename_prefix
    return f"{prefix}{identifier.replace('.', '_')}.{file_type}"


def stimulus_set_files(
    identifier: str,
    bucket: str,
    csv_sha1: str | None,
    zip_sha1: str | None,
    csv_version_id: str | None = None,
    zip_version_id: str | None = None,
    filename_prefix: str | None = None,
    csv_sha256: str | None = None,
    zip_sha256: str | None = None,
) -> tuple[RemoteFile, RemoteFile]:
    """Where the table and the archive of a stimulus set are; arguments as for ``load_stimulus_set_from_s3``.

    Example:
        >>> table, archive = stimulus_set_files("hvm-public", "brainscore-storage/brainio", "0" * 40, "1" * 40)
        >>> archive.url
        'https://brainscore-storage.s3.amazonaws.com/brainio/stimulus_hvm-public.zip'
    """
    return (
        RemoteFile(bucket, store_name(identifier, "csv", filename_prefix), csv_version_id, csv_sha1, csv_sha256),
        RemoteFile(bucket, store_name(identifier, "zip", filename_prefix), zip_version_id, zip_sha1, zip_sha256),
    )


def assembly_file(
    identifier: str, version_id: str | None, sha1: str | None, bucket: str, sha256: str | None = None
) -> RemoteFile:
    """Where the file of an assembly is; arguments as for ``load_assembly_from_s3``.

    Example:
        >>> assembly_file("A.b", "null", "0" * 40, "brainscore-storage").key
        'assy_A_b.nc'
    """
    return RemoteFile(bucket, store_name(identifier, "nc"), version_id, sha1, sha256)
