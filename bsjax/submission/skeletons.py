"""Plugin skeletons (``bsjax new``): working plugins as starting points."""

import re
from datetime import date
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from bsjax.benchmarks import benchmark_registry
from bsjax.core.discovery import plugins_under, use_plugins
from bsjax.core.files import write_atomically
from bsjax.core.registry import Registry
from bsjax.data import data_registry, load_dataset, stimulus_set_registry
from bsjax.data.catalogue.registry import data_rows
from bsjax.labelled import metric_registry
from bsjax.models import model_registry
from bsjax.submission.checks.attempt import attempt

_TEMPLATES = Path(__file__).with_name("templates")
_SUFFIX = ".txt"  # so that no tool takes a template for a module
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_REGISTRIES: dict[str, Registry] = {
    "benchmark": benchmark_registry,
    "model": model_registry,
    "metric": metric_registry,
    "data": data_registry,
}
KINDS = tuple(_REGISTRIES)
"""Kinds of plugins that have a skeleton."""
VARIANTS = {
    "benchmark": {
        "neural": ".V1-ridge",
        "behaviour": "-error_consistency",
        "properties": ".V1-preferred_orientation",
        "fmri": ".IT-ridge",
    },
    "model": {"jax": "", "torch": "", "flax": "", "activations": ""},
}
"""Variants of benchmarks and models, the default first, with the suffix that each adds to the identifier."""
_IN_SUFFIX = re.compile(r"(?<=^\.)\w+(?=-)")  # the region
_SIMULATED = {
    "simulated": "simulated ",
    "replaced": ", to be replaced by your own data",
    "note": "",
    "width": "        visual_degrees=8,  # width of the stimuli\n",
    "unstratified": "",
}
"""Words of the templates of benchmarks for the simulated data that come with them."""
_WIDTH_GIVEN = "        # no visual_degrees, since the stimuli have a column degrees\n"
_WIDTH_ASKED = "        # to be filled in, unless the stimuli have a column degrees: visual_degrees=..., their width\n"
_UNSTRATIFIED = ', crossvalidation_kwargs={"stratification_coord": None}'
_SCORED = """\
    found = load_benchmark(IDENTIFIER)(load_model("gabor-v1"))
    assert np.isfinite(float(found))
"""
_SCORED_ABOVE_CHANCE = """\
    found = score("pixels", IDENTIFIER, null=19, store=None)
    assert np.isfinite(float(found))
    # above the same model with shuffled stimuli; take another model if the data do not depend on pixels
    assert float(found.unceiled) > found.provenance["tau"]
"""
_OF_DATA = re.compile(r"(?m)^(from \.data |data_registry\[|stimulus_set_registry\[).*\n|, (data|stimulus_set)_registry")


def write_skeleton(kind: str, name: str, to: str | Path = ".", variant: str = "") -> Path:
    """Write a working plugin: its registration, its code with a small simulated example, and passing tests.

    Args:
        kind: one of ``KINDS``.
        name: name of the plugin; for data and benchmarks the first author and the year, as in "Doe2026". The benchmark
            is then "Doe2026.V1-ridge", and includes data "Doe2026" unless these are already registered. Registered data
            are loaded, except published ones, to write the benchmark for their region and the size of their stimuli.
        to: the parent folder of the plugin's folder.
        variant: kind of benchmark or model, one of ``VARIANTS``; by default the first.

    Returns:
        The folder of the plugin.

    Raises:
        ValueError: the kind, variant or name is invalid, or the name is already registered.
        FileExistsError: a folder of this name exists; it is not changed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plugin = write_skeleton("metric", "my_metric", folder)
        ...     plugin.name, sorted(path.name for path in plugin.iterdir())
        ('my_metric', ['__init__.py', 'metric.py', 'test.py'])
    """
    if kind not in _REGISTRIES:
        raise ValueError(f"no skeleton of a {kind!r}; there are: {', '.join(KINDS)}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a name: begin with a letter, then letters, digits, '_', '-' and '.'")
    folder = Path(to) / re.sub(r"\W+", "_", name).lower()
    variants = VARIANTS.get(kind, {"": ""})
    variant = variant or next(iter(variants))
    if variant not in variants:
        raise ValueError(f"no {kind} of the kind {variant!r}; there are: {', '.join(variants) or 'none'}")
    has_data = kind == "benchmark" and _has_data(name, Path(to))
    words = _words_of_data(name, variants[variant]) if has_data else _SIMULATED
    region = words.get("region") or _region_in(variants[variant])
    identifier = name + _IN_SUFFIX.sub(region, variants[variant])
    _refuse_taken(_REGISTRIES[kind], identifier)
    if kind == "data":
        _refuse_taken(stimulus_set_registry, identifier)
    words = {**words, "region": region, "identifier": identifier}
    files = _files(kind, name, variant, words, has_data)
    if folder.exists():
        raise FileExistsError(f"{folder} is there already, and is left as it is: choose another name, or --to a folder")
    for filename, text in files.items():
        write_atomically(folder / filename, text.encode())
    return folder


def write_workflow(to: str | Path = ".") -> Path:
    """Write a GitHub workflow that checks and submits the plugins of a repository when they change.

    Args:
        to: root folder of the repository.

    Returns:
        The file, ``.github/workflows/bsjax.yml``.

    Raises:
        FileExistsError: the file exists; it is not changed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_workflow(folder).relative_to(folder).as_posix()
        '.github/workflows/bsjax.yml'
    """
    path = Path(to, ".github", "workflows", "bsjax.yml")
    if path.exists():
        raise FileExistsError(f"{path} is there already, and is left as it is: move it away, or --to a folder")
    write_atomically(path, (_TEMPLATES / "workflow" / f"{path.name}{_SUFFIX}").read_bytes())
    return path


def _files(kind: str, name: str, variant: str, given: dict[str, str], has_data: bool) -> dict[str, str]:
    """File names -> texts; files of a variant replace the default ones."""
    word = re.sub(r"\W+", "_", name)
    year = re.search(r"(?:18|19|20)\d\d", name)
    words = {
        **given,
        "name": name,
        "key": word,
        "year": year[0] if year else str(date.today().year),
        "cls": "".join(part[:1].upper() + part[1:] for part in word.split("_")),
    }
    paths = [*(_TEMPLATES / kind).glob(f"*{_SUFFIX}"), *(_TEMPLATES / f"{kind}_{variant}").glob(f"*{_SUFFIX}")]
    if kind == "benchmark":
        paths.insert(0, _TEMPLATES / "data" / f"data.py{_SUFFIX}")
    if has_data:
        paths.append(_TEMPLATES / "benchmark_of_data" / f"test.py{_SUFFIX}")
        above = variant in ("neural", "fmri")  # in which the stimuli of a model can be shuffled
        words |= {
            "score": _SCORED_ABOVE_CHANCE if above else _SCORED,
            "imported": ", score" if above else ", load_model",
        }
    texts = {path.name.removesuffix(_SUFFIX): Template(path.read_text()).substitute(words) for path in paths}
    if has_data:
        del texts["data.py"]
        texts["__init__.py"] = _OF_DATA.sub("", texts["__init__.py"])
    return dict(sorted(texts.items()))


def _has_data(name: str, folder: Path) -> bool:
    """Whether data of this name are registered, or declared by a plugin in the same parent folder."""
    beside = plugins_under(folder) if folder.is_dir() else ()
    declared = [
        each.identifier for plugin in beside for each in plugin.declarations if each.registry == "data_registry"
    ]
    if name in declared:
        use_plugins(folder)
    return name in data_registry


def _region_in(suffix: str) -> str:
    """The region in the suffix of a variant; "" if it has none."""
    found = _IN_SUFFIX.search(suffix)
    return found[0] if found else ""


def _words_of_data(name: str, suffix: str) -> dict[str, str]:
    """Words of the templates of benchmarks that fit registered data; what the data do not say is to be filled in."""
    data: Any = None
    problem = ""
    if data_registry.is_bsjaxs(name):  # may need a download
        regions = next(row.region for row in data_rows() if row.identifier == name).split(", ")
    else:
        data, problem = attempt(lambda: load_dataset(name))
        regions = sorted({str(one) for one in np.ravel(data["region"].values)}) if _has(data, "region") else []
    region, *others = [one for one in regions if one] or [""]
    note = f"    # the data could not be loaded: {problem}\n" if problem else ""
    if not region and _region_in(suffix):
        note += f"    # to be filled in: the region, here {_region_in(suffix)}; also in the identifier and the parent\n"
    if others:
        note += f"    # the data have other regions, too: {', '.join(others)}; write a function for each\n"
    return {
        "simulated": "",
        "replaced": "",
        "note": note,
        "region": region,
        "width": _WIDTH_GIVEN if _has(data, "degrees") else _WIDTH_ASKED,
        "unstratified": "" if data is None or _has(data, "object_name") else _UNSTRATIFIED,
    }


def _has(data: Any, name: str) -> bool:
    """Whether data have a coordinate, or their stimuli a column, of this name."""
    stimuli = getattr(data, "attrs", {}).get("stimulus_set")
    return name in getattr(data, "coords", ()) or name in getattr(stimuli, "columns", ())


def _refuse_taken(registry: Registry, identifier: str) -> None:
    if identifier in registry:
        plugin = registry.plugin_of(identifier)
        where = "comes with bsjax" if plugin is None else f"is that of {plugin.folder}"
        raise ValueError(f"{registry.kind} {identifier!r} {where}: choose another name")
