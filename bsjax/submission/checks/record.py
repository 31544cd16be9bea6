"""Features that a model gives to a benchmark, in a file, so that the benchmark's tests need no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import xarray as xr

from bsjax.benchmarks import load_benchmark
from bsjax.core.discovery import plugins_under, use_plugins
from bsjax.data import write_netcdf
from bsjax.models import load_model
from bsjax.submission.checks.checklist import registered


class _Heard:
    """A model, and what it answers."""

    def __init__(self, model: Any) -> None:
        self.model, self.answers = model, []

    def look_at(self, *args: Any, **kwargs: Any) -> Any:
        self.answers.append(self.model.look_at(*args, **kwargs))
        return self.answers[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def record_plugins(folder: str | Path, model: str) -> Iterator[tuple[Path, float]]:
    """Score a model on every benchmark of the plugins in a folder, and write what it answers beside each.

    Args:
        folder: a plugin, or a folder of plugins.
        model: identifier of the model.

    Returns:
        The file that was written, and the score, for each benchmark.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     list(record_plugins(folder, "pixels"))  # there is no benchmark in it
        []
    """
    use_plugins(folder)
    for plugin in plugins_under(Path(folder)):
        for benchmark in registered(plugin, "benchmark_registry"):
            yield record_features(model, benchmark, plugin.folder)


def record_features(model: Any, benchmark: str, folder: Path) -> tuple[Path, float]:
    """Score a model, or one by its identifier, and write what it answers, as ``<model>-<benchmark>.nc``.

    Returns:
        the file, and the score before its normalisation, which is what tests with these features expect.

    Raises:
        KeyError: no such model or benchmark; and what either raises.
    """
    heard: Any = _Heard(load_model(model) if isinstance(model, str) else model)
    score = load_benchmark(benchmark)(heard)
    together = xr.concat([each.drop_attrs() for each in heard.answers], "presentation", join="outer")
    path = folder / f"{heard.identifier}-{benchmark}.nc".replace(":", "_")
    write_netcdf(type(heard.answers[0])(together), path)
    return path, float(score if score.unceiled is None else score.unceiled)
