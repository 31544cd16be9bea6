"""Registries of data sets and stimulus sets that can be loaded by identifier.

Registering and listing them loads neither xarray nor boto3.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bsjax.core.discovery.folders import search_path
from bsjax.core.registry import Registry, UnknownIdentifier
from bsjax.data.catalogue.published import KINDS, Published, Status, published, status, status_of_files
from bsjax.data.importers.importing import imported_files, imported_folder
from bsjax.data.importers.sources import sources

if TYPE_CHECKING:
    from bsjax.data.types.assemblies import DataAssembly
    from bsjax.data.types.stimuli import StimulusSet

data_registry = Registry("data set", listing="bsjax.list_data()", plugins="data_registry", replaceable=True)
stimulus_set_registry = Registry(
    "stimulus set",
    listing="list(bsjax.stimulus_set_registry)",
    plugins="stimulus_set_registry",
    replaceable=True,
)


def load_dataset(identifier: str, **options: Any) -> DataAssembly:
    """Load a data set by identifier: published by Brain-Score, imported, or registered by a plugin.

    Args:
        identifier: one of ``list_data()``.
        options: options of its loader, e.g. ``chunks=`` for a published data set, or ``folder=`` for "Cowley2026.V4",
            which defaults to the folder that ``bsjax data import Cowley2026`` has filled.

    Raises:
        KeyError: the identifier is unknown; the message lists the nearest ones.
        ValueError: an option is missing or unknown; the message lists the known ones.
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: the data are not available; the
            message names the object, its expected location, and the access it needs.

    Example:
        >>> load_dataset("Cowley2026.V4", session="210325", dir=".")
        Traceback (most recent call last):
        ...
        ValueError: data set 'Cowley2026.V4': got an unexpected keyword argument 'dir'; it takes: folder,
            session='210325'
        >>> load_dataset("hvm-public")
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: 'hvm-public' is a stimulus set, not a data set: use
            bsjax.load_stimulus_set
    """
    if identifier not in data_registry and identifier in stimulus_set_registry:
        raise UnknownIdentifier(f"{identifier!r} is a stimulus set, not a data set: use bsjax.load_stimulus_set")
    return _load(data_registry, identifier, options)


def load_stimulus_set(identifier: str, **options: Any) -> StimulusSet:
    """Load a stimulus set by identifier: published by Brain-Score, imported, or registered by a plugin.

    Args:
        identifier: one of ``stimulus_set_registry``.
        options: options of its loader, as for ``load_dataset``.

    Raises:
        KeyError: the identifier is unknown; the message lists the nearest ones.
        ValueError: an option is missing or unknown; the message lists the known ones.
        FileNotFoundError, PermissionError, ConnectionError, OSError, ValueError: as ``load_dataset``.

    Example:
        >>> load_stimulus_set("Cowley2026.v4")
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: unknown stimulus set 'Cowley2026.v4'; nearest: Cowley2026.V4; see \
`list(bsjax.stimulus_set_registry)`; data of your own are looked for in folders of $BSJAX_PLUGINS or --plugins, and \
none is given
    """
    if identifier not in stimulus_set_registry and identifier in data_registry:
        raise UnknownIdentifier(f"{identifier!r} is a data set, not a stimulus set: use bsjax.load_dataset")
    return _load(stimulus_set_registry, identifier, options)


def list_data() -> list[str]:
    """Identifiers of the data sets that ``load_dataset`` can load.

    Example:
        >>> "MajajHong2015.public" in list_data(), "Cowley2026.V4" in list_data()
        (True, True)
    """
    return list(data_registry)


class DataRow(NamedTuple):
    """One row of the list of data.

    ``kind`` is "assembly" or "stimulus set". ``region`` and ``access`` are "" if unknown; ``access`` is otherwise a
    term of ``bsjax.data.catalogue.published.ACCESS``. ``cached`` is "yes", "partly" or "no", or "" if it cannot be
    determined, and ``size`` is the number of local bytes.
    """

    identifier: str
    kind: str
    region: str
    access: str
    cached: str
    size: int
    summary: str


def data_rows() -> Iterator[DataRow]:
    """Rows of all data sets and then all stimulus sets that can be loaded, with their local availability.

    Example:
        >>> row = next(row for row in data_rows() if row.identifier == "MajajHong2015.public")
        >>> row.kind, row.region, row.access
        ('assembly', 'V4, IT', 'public')
    """
    for registry, kind in ((data_registry, "assembly"), (stimulus_set_registry, "stimulus set")):
        entries = published(kind.replace(" ", "_"))
        for identifier in registry:
            region, access, here = "", "", Status("", 0)
            if identifier in _IMPORTED:
                region, access = _REGIONS[identifier], "public"
                here = status_of_files(imported_files(_IMPORTED[identifier]))
            elif identifier in entries:
                entry = entries[identifier]
                region, access, here = ", ".join(entry.regions), entry.access, status(entry)
            yield DataRow(identifier, kind, region, access, here.cached, here.size, registry.summary(identifier))


def access_of(identifier: str) -> str:
    """Who may read the data, in the terms of ``bsjax.data.catalogue.published.ACCESS``; "" for other identifiers.

    Example:
        >>> access_of("MajajHong2015.public"), access_of("Cowley2026.V4"), access_of("Mine2026")
        ('public', 'public', '')
    """
    if identifier in _IMPORTED:
        return "public"
    entries = (published(kind).get(identifier) for kind in KINDS)
    return next((entry.access for entry in entries if entry is not None), "")


def _load(registry: Registry, identifier: str, options: dict[str, Any]) -> Any:
    try:
        factory = registry[identifier]
    except UnknownIdentifier as unknown:
        given = ", ".join(filter(None, search_path().split(os.pathsep)))
        where = "data of your own are looked for in folders of $BSJAX_PLUGINS or --plugins, "
        where += f"here {given}" if given else "and none is given"
        raise UnknownIdentifier(f"{unknown}; {where}") from None
    signature = inspect.signature(factory)
    imported = identifier in _IMPORTED and "folder" in signature.parameters and "folder" not in options
    try:
        signature.bind(**options, **({"folder": ""} if imported else {}))
    except TypeError as error:
        takes = ", ".join(
            name if parameter.default is parameter.empty else f"{name}={parameter.default!r}"
            for name, parameter in signature.parameters.items()
            if parameter.kind is not parameter.POSITIONAL_ONLY
        )
        raise ValueError(f"{registry.kind} {identifier!r}: {error}; it takes: {takes or 'no options'}") from None
    if imported:
        options = {"folder": imported_folder(_IMPORTED[identifier]), **options}
    return factory(**options)


# Loading files imports xarray and pandas; listing does without them.
def _published_assembly(entry: Published, *, chunks: Any = None, progress: Any = None) -> DataAssembly:
    from bsjax.data.catalogue.loading import load_assembly

    return load_assembly(entry, load_stimulus_set, chunks=chunks, progress=progress)


def _published_stimuli(entry: Published, *, progress: Any = None) -> StimulusSet:
    from bsjax.data.catalogue.loading import load_stimuli

    return load_stimuli(entry, progress=progress)


def _summary(entry: Published) -> str:
    region = f" of {', '.join(entry.regions)}" if entry.regions else ""
    return f"{entry.class_name}{region}" + (f"; {entry.note}" if entry.note else "")


_IMPORTED: dict[str, str] = {}  # identifier -> the import that provides it
_REGIONS: dict[str, str] = {}

for _source in sources().values():
    for _data in _source.loads:
        _registry = data_registry if _data.kind == "assembly" else stimulus_set_registry
        _registry.register(_data.identifier, _data.loader, summary=_data.summary)
        _IMPORTED[_data.identifier], _REGIONS[_data.identifier] = _source.name, _data.region
for _name, _entry in published("assembly").items():
    data_registry.register(_name, partial(_published_assembly, _entry), summary=_summary(_entry))
for _name, _entry in published("stimulus_set").items():
    stimulus_set_registry.register(_name, partial(_published_stimuli, _entry), summary=_summary(_entry))
