"""The table of benchmarks: identifiers, where each is built, and one line on each."""

import inspect
from typing import TYPE_CHECKING, NamedTuple

from bsjax.benchmarks.families.marques2020 import ROWS as PROPERTIES
from bsjax.benchmarks.rows.behaviours import behavior_rows
from bsjax.benchmarks.rows.recordings import recording_rows
from bsjax.core.registry import Registry

if TYPE_CHECKING:
    from bsjax.benchmarks.base import Benchmark


class _Family(NamedTuple):
    """Benchmarks that share their data: ``prefix-metric`` is built by ``module:metric``."""

    prefix: str
    module: str
    summary: str
    needs_data: bool
    metrics: tuple[str, ...]


_METRICS = {
    "neuron_to_neuron": "the best single model unit for each neuroid",
    "pls": "partial least squares regression, 25 components",
    "ridge": "ridge regression, alpha 1",
    "cka": "centred kernel alignment, unbiased",
    "rdm": "representational dissimilarity matrices, Spearman",
}
_FAMILIES = (
    _Family(
        "Simulated.V1",
        "bsjax.benchmarks.families.simulated.benchmark",
        "simulated V1 neuroids with Poisson trials",
        needs_data=False,
        metrics=("neuron_to_neuron", "pls", "ridge", "cka", "rdm"),
    ),
    _Family(
        "Cowley2026.V4",
        "bsjax.benchmarks.families.cowley2026.benchmark",
        "macaque V4, 640 images (needs data=DIR)",
        needs_data=True,
        metrics=("pls", "ridge", "cka", "rdm"),
    ),
)

# identifier, factory, summary: experiments with code of their own
_CUSTOM = (
    (
        "Kar2019-ost",
        "kar2019.benchmark:kar2019_ost",
        "macaque IT, object solution times; Spearman correlation of the times",
    ),
    (
        "Bracci2019.anteriorVTC-rdm",
        "bracci2019.benchmark:anterior_vtc_rdm",
        "human anterior VTC, fMRI, animals and look-alikes; dissimilarity matrices, Spearman",
    ),
    *(
        (
            f"tong.Coggan2024_fMRI.{region}-rdm",
            f"coggan2024_fmri.benchmark:{region.lower()}_rdm",
            f"human {region}, fMRI, occluded objects; similarity matrices of responsive units, Pearson",
        )
        for region in ("V1", "V2", "V4", "IT")
    ),
    (
        "Igustibagus2024.IT_readout-accuracy",
        "igustibagus2024.benchmark:readout_accuracy",
        "no recordings, objects in 13 domains; accuracy of a read-out fitted in one",
    ),
    *(
        (
            f"Islam2021-{factor}_{region}_dimensionality",
            f"islam2021.benchmark:{factor}_{region}",
            f"no recordings, shapes in textures; share of {region.upper()}'s dimensions that code for {factor}",
        )
        for region in ("v1", "v2", "v4", "it")
        for factor in ("shape", "texture")
    ),
    (
        "Algonauts2019.EVC-rdm",
        "algonauts2019.benchmark:evc_rdm",
        "human early visual cortex, fMRI, 92 images (needs images=DIR); dissimilarity matrices, squared Spearman",
    ),
    (
        "Algonauts2019.IT-rdm",
        "algonauts2019.benchmark:it_rdm",
        "human IT, fMRI, 92 images (needs images=DIR); dissimilarity matrices, squared Spearman",
    ),
    (
        "Kriegeskorte2008.IT-rdm",
        "kriegeskorte2008.benchmark:it_rdm",
        "human IT, fMRI, 92 images (needs images=DIR); dissimilarity matrices, Spearman",
    ),
)

benchmark_registry = Registry("benchmark", plugins="benchmark_registry")
"""Benchmarks by identifier; ``benchmark_registry["My.V4-pls"] = factory`` adds one."""

for _family in _FAMILIES:
    for _metric in _family.metrics:
        benchmark_registry.register(
            f"{_family.prefix}-{_metric}",
            f"{_family.module}:{_metric}",
            summary=f"{_family.summary}; {_METRICS[_metric]}",
        )
for _row in PROPERTIES:
    benchmark_registry.register(
        _row.identifier, "bsjax.benchmarks.families.marques2020:benchmark", _row.summary, named=True
    )
for _row in recording_rows().values():
    benchmark_registry.register(
        _row.identifier, "bsjax.benchmarks.kinds.published_recordings:recording", _row.summary, named=True
    )
for _identifier, _factory, _summary in _CUSTOM:
    benchmark_registry.register(_identifier, f"bsjax.benchmarks.families.{_factory}", _summary)
for _identifier, _fields in behavior_rows().items():
    benchmark_registry.register(_identifier, _fields["factory"], _fields["summary"], named=True)


def load_benchmark(identifier: str, **kwargs: object) -> "Benchmark":
    """Build a registered benchmark; its data are read when it first scores.

    Args:
        identifier: a name that :func:`list_benchmarks` shows.
        **kwargs: what the benchmark's factory takes, e.g. ``data=DIR`` for recordings that you hold yourself.

    Raises:
        KeyError: no such benchmark; the message names the nearest ones.
        ValueError: an argument that the benchmark does not take.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Simulated.V1-pls").identifier
        'Simulated.V1-pls'
    """
    factory = benchmark_registry[identifier]
    try:
        inspect.signature(factory).bind(**kwargs)
    except TypeError as error:
        raise ValueError(f"benchmark {identifier!r}: {error}") from None
    return factory(**kwargs)


def list_benchmarks() -> list[str]:
    """Identifiers of all registered benchmarks, in the order of registration.

    Example:
        >>> from bsjax import list_benchmarks
        >>> "Cowley2026.V4-ridge" in list_benchmarks()
        True
    """
    return list(benchmark_registry)


def builtin_benchmarks() -> list[str]:
    """Identifiers of the benchmarks that come with their data: they need neither a download nor an argument.

    Example:
        >>> from bsjax.benchmarks import builtin_benchmarks
        >>> builtin_benchmarks()[0]
        'Marques2020_Cavanaugh2002-grating_summation_field'
    """
    published = [row.identifier for row in PROPERTIES if row.recording.published]
    simulated = [
        f"{family.prefix}-{metric}" for family in _FAMILIES if not family.needs_data for metric in family.metrics
    ]
    return published + simulated
