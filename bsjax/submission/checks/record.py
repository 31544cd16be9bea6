"""Recording of model features to files, so that the tests of a benchmark need no model."""

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
    """A model that records its answers."""

    def __init__(self, model: Any) -> None:
        self.model, self.answers = model, []

    def look_at(self, *args: Any, **kwargs: Any) -> Any:
        self.answers.append(self.model.look_at(*args, **kwargs))
        return self.answers[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def record_plugins(folder: str | Path, model: str) -> Iterator[tuple[Path, float]]:
    """Record features for every benchmark of the plugins in a folder, next to each; see :func:`record_features`.

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
    """Score a model, given as such or by its identifier, and write its features to ``<model>-<benchmark>.nc``.

    Returns:
        The file, and the score before normalisation by the ceiling, which tests with these features expect.

    Raises:
        KeyError: there is no such model or benchmark. Errors of the model and benchmark propagate.
    """
    heard: Any = _Heard(load_model(model) if isinstance(model, str) else model)
    score = load_benchmark(benchmark)(heard)
    together = xr.concat([each.drop_attrs() for each in heard.answers], "presentation", join="outer")
    path = folder / f"{heard.identifier}-{benchmark}.nc".replace(":", "_")
    write_netcdf(type(heard.answers[0])(together), path)
    return path, float(score if score.unceiled is None else score.unceiled)
