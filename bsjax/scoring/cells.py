"""Identity of the cells of a grid: the digest under which the store of results keeps a score.

The digest covers everything that determines the score. A benchmark is identified by its version and its data. A model
is identified by its content, which is known only once it is built. Its *fingerprint* can be read without building it,
and leads to the content that the model had when it was last built.
"""

import importlib.metadata
import os
from collections.abc import Collection, Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from bsjax.benchmarks import BenchmarkRow, benchmark_registry, benchmark_row
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.digests.plain import digest_of_json
from bsjax.core.identity.local_files import digests_of_plugin, texts_of
from bsjax.core.identity.opened import Notes, unchanged
from bsjax.core.identity.remembered import remember, remembered
from bsjax.core.identity.source import OF_ACTIVATIONS, OF_SCORES, own_source
from bsjax.core.identity.values import identity_of
from bsjax.core.left_behind import files_in
from bsjax.data import data_registry, stimulus_set_registry
from bsjax.data.catalogue.published import KINDS, published
from bsjax.models import model_registry
from bsjax.scoring.job import Job

# Libraries that build networks; their versions are part of a fingerprint.
_LIBRARIES = ("torch", "torchvision", "timm", "transformers", "flax", "keras")
# Extraction options that change scores by no more than rounding.
_WITHOUT_EFFECT = ("batch_size", "cache", "memory", "progress", "keep_on_device", "ahead")


def cell_of(job: Job, content: str | None, benchmarks: dict[Hashable, Any] | None = None) -> str | None:
    """The digest of everything that determines a job's score; None if that is not known, as for a benchmark object.

    Args:
        job: the job.
        content: digest of its model, see :func:`content_of_model`.
        benchmarks: cache of benchmark identities that were just read; this benchmark is added.

    Example:
        >>> one, two = (Job("pixels", f"Simulated.V1-{metric}") for metric in ("pls", "ridge"))
        >>> cell_of(one, "0") == cell_of(one, "0"), cell_of(one, "0") == cell_of(two, "0"), cell_of(one, None)
        (True, False, None)
    """
    looked_at = {} if benchmarks is None else benchmarks
    place = job.benchmark_key, repr(job.options.benchmark)
    if place not in looked_at:
        looked_at[place] = _benchmark(job)
    benchmark = looked_at[place]
    extraction = {name: value for name, value in job.options.extraction if name not in _WITHOUT_EFFECT}
    settings = {name: _setting(value) for name, value in extraction.items()}
    if content is None or benchmark is None or None in settings.values():
        return None
    isolated = ["isolated"] if job.options.isolated else []  # its plugins may require other packages
    # The name too, so that a model with the content of another has scores of its own.
    model = [job.model_identifier, content]
    parts = [own_source(*OF_SCORES), model, benchmark, settings, *job.options.beside.parts(), *isolated]
    return digest_of_json(parts)


def task_of(job: Job) -> str:
    """The name of a job in a run and on leases; it depends on the request, not on the content of model or data."""
    asked = [*job.names, repr(job.options.benchmark), *job.options.beside.parts()]
    return digest_of_json(asked)[:16]


def content_of_model(model: Any) -> str | None:
    """The digest of a built model: network, weights, preprocessing, layers and visual degrees; None if unknown.

    Example:
        >>> from bsjax import load_model
        >>> pixels = load_model("pixels")
        >>> content_of_model(pixels) == content_of_model(load_model("pixels")) != content_of_model(load_model("hmax"))
        True
    """
    activations = getattr(model, "activations_model", model)
    recipe = getattr(activations, "recipe_digest", None)
    try:
        network = recipe() if callable(recipe) else identity_of(activations)
    except Undigestible:
        network = None
    if not isinstance(network, str):
        return None
    from bsjax.labelled.plain_values import to_plain

    names = ("region_layer_map", "behavioral_readout_layer", "layers")
    committed = {name: getattr(model, name, None) for name in names}
    return digest_of_json([network, to_plain({**committed, "degrees": model.visual_degrees()}, "the model")])


def fingerprint_of_model(identifier: str) -> str | None:
    """The digest of what can be read of a model without building it: its plugin's code and the versions of libraries.

    None if versions of the model cannot be told apart, for example if running code registered it.

    Raises:
        KeyError: no model has this identifier.

    Example:
        >>> fingerprint_of_model("pixels") == fingerprint_of_model("pixels") != fingerprint_of_model("hmax")
        True
    """
    plugin, own = model_registry.plugin_of(identifier), own_source(*OF_ACTIVATIONS)
    known: list[Any] = [identifier, own, *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    if plugin is not None:
        return digest_of_json([*known, digests_of_plugin(plugin.folder)])
    _, colon, rest = identifier.partition(":")
    if colon and model_registry.is_of_source(identifier):  # the name may contain a path
        return digest_of_json([*known, _place(Path(rest.partition("@")[0].partition("?")[0]).expanduser())])
    if model_registry.is_bsjaxs(identifier):
        return digest_of_json(known)
    try:
        return digest_of_json([*known, identity_of(model_registry[identifier])])
    except (Undigestible, ImportError):
        return None


def known_content(job: Job) -> str | None:
    """The content of the job's model when last built; None if it was never built or files it read have changed."""
    fingerprint = _fingerprint(job)
    known = None if fingerprint is None else remembered(fingerprint)
    return known[0] if known is not None and unchanged(known[1]) else None


def remember_content(job: Job, content: str | None, opened: Notes) -> None:
    """Store the content of a built model, with the files that were read to build it."""
    fingerprint = _fingerprint(job)
    if fingerprint is not None and content is not None:
        remember(fingerprint, content, opened)


def _fingerprint(job: Job) -> str | None:
    found = fingerprint_of_model(job.model_identifier)
    return digest_of_json([found, "isolated"]) if found is not None and job.options.isolated else found


def standing(job: Job, scores: Iterable[tuple[str, Notes | None]]) -> str | None:
    """The key of the first stored score whose input files are unchanged; None if there is none.

    ``scores`` holds pairs of a key and the files that were read for it. Models and benchmarks that come with bsjax
    read published data only, so their scores count as unchanged even if no files were recorded.
    """
    own = _is_bsjaxs(job.model, model_registry) and _is_bsjaxs(job.benchmark, benchmark_registry)
    return next((key for key, opened in scores if (own if opened is None else unchanged(opened))), None)


def _is_bsjaxs(of: Any, registry: Any) -> bool:
    return isinstance(of, str) and registry.plugin_of(of) is None and registry.is_bsjaxs(of)


def _benchmark(job: Job) -> Any:
    """Everything on the benchmark's side that determines the score; None if that is not known."""
    if not isinstance(job.benchmark, str):
        return None
    row = benchmark_row(job.benchmark)
    sets = sets_of(row)
    arguments = {name: _setting(value) for name, value in job.options.benchmark}
    if None in arguments.values():
        return None
    published_data = {name: _published(name) for name in sets}
    return [job.benchmark, row.version, published_data, arguments, _of_plugin(row.plugin, sets) if row.plugin else None]


def sets_of(row: BenchmarkRow) -> list[str]:
    """The data sets and stimulus sets that a benchmark names, each once."""
    return [name for name in dict.fromkeys([*row.data, row.stimuli, row.fitting_stimuli]) if name]


def _of_plugin(folder: str, sets: Collection[str]) -> list[Any]:
    """Digests of the benchmark's plugin and of the data plugins that it names."""
    texts = "\n".join(texts_of(folder))
    named = {
        str(plugin.folder)
        for registry in (data_registry, stimulus_set_registry)
        for name in registry
        if (name in sets or name in texts) and (plugin := registry.plugin_of(name)) is not None
    }
    return [digests_of_plugin(place) for place in (folder, *sorted(named - {folder}))]


def _published(identifier: str) -> list[str | None]:
    entries = (published(kind).get(identifier) for kind in KINDS)
    return [digest for entry in entries if entry is not None for digest in (entry.sha1, entry.csv_sha1, entry.zip_sha1)]


def _setting(value: Any) -> Any:
    """An option by its content; None if that is not known."""
    if isinstance(value, os.PathLike):
        return _place(Path(value))
    if hasattr(value, "digest"):
        return ["digest", value.digest()]
    from bsjax.labelled.plain_values import to_plain

    try:
        return ["value", to_plain(value, "an option")]
    except ValueError:
        return None


def _place(path: Path) -> Any:
    """Sizes and modification times of a file or folder; for a missing path, its name."""
    if path.is_dir():
        inside = ((str(file.relative_to(path)), file) for file in files_in(path, "**/*"))
        return {name: _stat(file) for name, file in inside if "__pycache__" not in Path(name).parts}
    return _stat(path) if path.is_file() else str(path)


def _stat(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


@cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
