"""Cells of a grid, by all that decides their scores: the digest under which the store of results has them.

A benchmark is told by its version and its data. A model is told by its content, which takes building it; what can be
read without that, its *fingerprint*, leads to the content that it had when it was built last.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bsjax.benchmarks import benchmark_row
from bsjax.core.digests.values import Undigestible, digest_of
from bsjax.core.left_behind import files_in
from bsjax.core.version import NUMERICS, __version__
from bsjax.data.catalogue.published import KINDS, published
from bsjax.labelled.plain_values import to_plain
from bsjax.models import model_registry
from bsjax.scoring.job import Job

# Larger files of a plugin, weights for example, count by their size and time.
_LARGEST_READ = 1 << 20
# What networks of other libraries are made by.
_LIBRARIES = ("torch", "torchvision", "timm", "transformers", "flax", "keras")
# Options of an extraction that change no score, or not beyond rounding.
_WITHOUT_EFFECT = ("batch_size", "store", "memory", "progress", "keep_on_device", "ahead")
_DIGITS = 32


def cell_of(job: Job, content: str | None, data: Any = None) -> str | None:
    """The digest of all that decides the score of a job; None where that is not known.

    Args:
        job: the job.
        content: of its model, see :func:`content_of_model`.
        data: digest of the data of a benchmark that is an object.

    Example:
        >>> one, two = (Job("pixels", f"Simulated.V1-{metric}") for metric in ("pls", "ridge"))
        >>> cell_of(one, "0") == cell_of(one, "0"), cell_of(one, "0") == cell_of(two, "0"), cell_of(one, None)
        (True, False, None)
    """
    benchmark = _benchmark(job, data)
    extraction = {name: value for name, value in job.options.extraction if name not in _WITHOUT_EFFECT}
    settings = {name: _setting(value) for name, value in extraction.items()}
    if content is None or benchmark is None or None in settings.values():
        return None
    return digest_of_parts([NUMERICS, content, benchmark, settings, *job.options.beside.parts()])


def content_of_model(model: Any) -> str | None:
    """The digest of a model that is built: its network, weights, preprocessing, layers and degrees; None if unknown.

    Example:
        >>> from bsjax import load_model
        >>> pixels = load_model("pixels")
        >>> content_of_model(pixels) == content_of_model(load_model("pixels")) != content_of_model(load_model("hmax"))
        True
    """
    recipe = getattr(getattr(model, "activations_model", None), "recipe_digest", None)
    network = recipe() if callable(recipe) else getattr(model, "digest", None)
    if not isinstance(network, str):
        return None
    names = ("region_layer_map", "behavioral_readout_layer", "layers")
    committed = {name: getattr(model, name, None) for name in names}
    return digest_of_parts([network, to_plain({**committed, "degrees": model.visual_degrees()}, "the model")])


def fingerprint_of_model(identifier: str) -> str | None:
    """The digest of what can be read of a model without building it: the code of its plugin, versions of libraries.

    None where nothing tells one version from another, as of what running code registers.

    Raises:
        KeyError: no such model.

    Example:
        >>> fingerprint_of_model("pixels") == fingerprint_of_model("pixels") != fingerprint_of_model("hmax")
        True
    """
    plugin = model_registry.plugin_of(identifier)
    known: list[Any] = [identifier, __version__, *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    if plugin is not None:
        return digest_of_parts([*known, _files(str(plugin.folder))])
    _, colon, rest = identifier.partition(":")
    if colon and model_registry.is_of_source(identifier):  # some of which are paths
        return digest_of_parts([*known, _place(Path(rest.partition("@")[0].partition("?")[0]).expanduser())])
    if model_registry.is_bsjaxs(identifier):
        return digest_of_parts(known)
    try:
        return digest_of_parts([*known, digest_of(model_registry[identifier])])
    except (Undigestible, ImportError):
        return None


def _benchmark(job: Job, data: Any) -> Any:
    """What decides the score on the benchmark's side; None where that is not known."""
    if not isinstance(job.benchmark, str):
        if data is None:
            return None
        return [job.benchmark.identifier, getattr(job.benchmark, "version", None), to_plain(data, "the data")]
    row = benchmark_row(job.benchmark)
    sets = dict.fromkeys([*row.data, row.stimuli, row.fitting_stimuli])
    arguments = {name: _setting(value) for name, value in job.options.benchmark}
    if None in arguments.values():
        return None
    published_data = {name: _published(name) for name in sets if name}
    return [job.benchmark, row.version, published_data, arguments, _files(row.plugin) if row.plugin else None]


def _published(identifier: str) -> list[str | None]:
    entries = (published(kind).get(identifier) for kind in KINDS)
    return [digest for entry in entries if entry is not None for digest in (entry.sha1, entry.csv_sha1, entry.zip_sha1)]


def _setting(value: Any) -> Any:
    """An option by its content; None where that is not known."""
    if isinstance(value, os.PathLike):
        return _place(Path(value))
    if hasattr(value, "digest"):
        return ["digest", value.digest()]
    try:
        return ["value", to_plain(value, "an option")]
    except ValueError:
        return None


def _files(folder: str) -> dict[str, Any]:
    return {str(path.relative_to(folder)): _file(path) for path in _below(Path(folder))}


def _place(path: Path) -> Any:
    """A file or a folder by sizes and times; only the name of what is not there."""
    if path.is_dir():
        return {str(file.relative_to(path)): _stat(file) for file in _below(path)}
    return _stat(path) if path.is_file() else str(path)


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in files_in(folder, "**/*") if "__pycache__" not in path.relative_to(folder).parts)


def _file(path: Path) -> Any:
    stat = path.stat()
    return _stat(path) if stat.st_size > _LARGEST_READ else _read(str(path), stat.st_size, stat.st_mtime_ns)


@cache
def _read(path: str, size: int, time: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _stat(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


@cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def digest_of_parts(parts: Mapping[str, Any] | list[Any]) -> str:
    """The digest of what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_DIGITS]
