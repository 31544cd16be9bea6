"""Plugin skeletons (``bsjax new``): working plugins as starting points."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from string import Template

from bsjax.benchmarks import benchmark_registry
from bsjax.core.discovery import plugins_under
from bsjax.core.files import write_atomically
from bsjax.core.registry import Registry
from bsjax.data import data_registry, stimulus_set_registry
from bsjax.labelled import metric_registry
from bsjax.models import model_registry

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
_OF_DATA = re.compile(r"(?m)^(from \.data |data_registry\[|stimulus_set_registry\[).*\n|, (data|stimulus_set)_registry")


def write_skeleton(kind: str, name: str, to: str | Path = ".", variant: str = "") -> Path:
    """Write a working plugin: its registration, its code with a small simulated example, and passing tests.

    Args:
        kind: one of ``KINDS``.
        name: name of the plugin; for data and benchmarks the first author and the year, as in "Doe2026". The benchmark
            is then "Doe2026.V1-ridge", and includes data "Doe2026" unless these are already registered.
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
    identifier = name + variants[variant]
    _refuse_taken(_REGISTRIES[kind], identifier)
    if kind == "data":
        _refuse_taken(stimulus_set_registry, identifier)
    files = _files(kind, name, variant, has_data=_has_data(name, Path(to)))
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


def _files(kind: str, name: str, variant: str, has_data: bool) -> dict[str, str]:
    """File names -> texts; files of a variant replace the default ones."""
    word = re.sub(r"\W+", "_", name)
    year = re.search(r"(?:18|19|20)\d\d", name)
    words = {
        "name": name,
        "key": word,
        "year": year[0] if year else str(date.today().year),
        "cls": "".join(part[:1].upper() + part[1:] for part in word.split("_")),
    }
    paths = [*(_TEMPLATES / kind).glob(f"*{_SUFFIX}"), *(_TEMPLATES / f"{kind}_{variant}").glob(f"*{_SUFFIX}")]
    if kind == "benchmark":
        paths.insert(0, _TEMPLATES / "data" / f"data.py{_SUFFIX}")
    texts = {path.name.removesuffix(_SUFFIX): Template(path.read_text()).substitute(words) for path in paths}
    if kind == "benchmark" and has_data:
        del texts["data.py"]
        texts["__init__.py"] = _OF_DATA.sub("", texts["__init__.py"])
    return dict(sorted(texts.items()))


def _has_data(name: str, folder: Path) -> bool:
    """Whether data of this name are registered, or declared by a plugin in the same parent folder."""
    beside = plugins_under(folder) if folder.is_dir() else ()
    declared = [
        each.identifier for plugin in beside for each in plugin.declarations if each.registry == "data_registry"
    ]
    return name in data_registry or name in declared


def _refuse_taken(registry: Registry, identifier: str) -> None:
    if identifier in registry:
        plugin = registry.plugin_of(identifier)
        where = "comes with bsjax" if plugin is None else f"is that of {plugin.folder}"
        raise ValueError(f"{registry.kind} {identifier!r} {where}: choose another name")
