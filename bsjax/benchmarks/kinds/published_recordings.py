"""Benchmarks on published recordings, each built from its row.

Building one loads no data. Data that training, test and ceiling share are loaded once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.fixed_split import TrainTestNeuralBenchmark
from bsjax.benchmarks.kinds.multi_subject import MultiSubjectNeuralBenchmark
from bsjax.benchmarks.kinds.neural import NeuralBenchmark
from bsjax.benchmarks.kinds.rsa import RSABenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, content_of
from bsjax.benchmarks.prepare.steps import assign_subject, prepare
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.benchmarks.rows.tables import filled_for
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition, load_dataset
from bsjax.labelled import load_ceiling, load_metric
from bsjax.labelled.align import STIMULUS, listed
from bsjax.labelled.ceilings.stored_reliability import MedianReliability, StoredNoiseCeiling
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity, SimilarityToSubjects

_STORED = {"MedianReliability": MedianReliability, "StoredNoiseCeiling": StoredNoiseCeiling}


def neural(row: BenchmarkRow) -> NeuralBenchmark:
    """A benchmark on recordings of one stimulus set, cross-validated over it.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Cadena2017-mask").metric.crossvalidation_kwargs
        {'stratification_coord': None, 'splits': 4}
    """
    trials = _loaded(row.data[0], row.settings.get("steps", ()))
    return NeuralBenchmark(
        row.identifier,
        _further(trials, row.settings.get("target_steps", ())),
        _metric(row),
        ceiling_func=Ceiling(_ceiling_method(row), _further(trials, row.settings.get("ceiling_steps", ()))),
        normalisation=row.normalisation,
        **_common(row),
    )


def train_test(row: BenchmarkRow) -> TrainTestNeuralBenchmark:
    """A benchmark on recordings with separate training and test stimuli, or with a published split of them.

    Example:
        >>> from bsjax import load_benchmark
        >>> benchmark = load_benchmark("Papale2025.V4-ridge")
        >>> benchmark.metric.mapping, benchmark.visual_degrees, benchmark.parent
        (Ridge(alpha=1.0), 18, 'V4')
    """
    parts = [_loaded(name, row.settings.get("steps", ())) for name in row.data]
    split = row.settings.get("split")
    if split:
        pool = row.settings["pool"]
        parts = [_further(parts[0], [("keep_split", split, part, pool)]) for part in ("train", "test")]
    train, test = parts
    return TrainTestNeuralBenchmark(
        row.identifier,
        train,
        test,
        _metric(row),
        ceiling_func=Ceiling(_ceiling_method(row), test),
        normalisation=row.normalisation,
        alpha_coord=None if split else "subject",
        **_common(row),
    )


def rsa(row: BenchmarkRow) -> RSABenchmark:
    """A benchmark on the dissimilarities of all stimuli of one or several data sets."""
    whole = _prepared(row)
    ceiling = None if row.ceiling == "rsa_ceiling" else Ceiling(_ceiling_method(row), whole)
    return RSABenchmark(row.identifier, whole, ceiling_func=ceiling, **_common(row))


def subjects_train_test(row: BenchmarkRow) -> MultiSubjectNeuralBenchmark:
    """The mean over subjects, each with training and test stimuli from a published split."""
    return _mean_over_subjects(row, train_test)


def subjects_rsa(row: BenchmarkRow) -> MultiSubjectNeuralBenchmark:
    """The mean over subjects of the similarity of dissimilarity matrices."""
    return _mean_over_subjects(row, rsa)


def inter_subject(row: BenchmarkRow) -> NeuralBenchmark:
    """A benchmark on all subjects together, who saw the same stimuli and provide each other's ceiling."""

    def load() -> NeuroidAssembly:
        rows = {subject: _of_subject(row, subject) for subject in row.settings["subjects"]}
        return side_by_side({subject: content_of(_prepared(each)) for subject, each in rows.items()})

    everyone = LazyLoad(load)
    similarity = _metric(row)
    return NeuralBenchmark(
        row.identifier,
        everyone,
        SimilarityToSubjects(similarity),
        ceiling_func=Ceiling(InterSubjectSimilarity(similarity), everyone),
        normalisation=row.normalisation,
        **_common(row),
    )


def concatenated(*assemblies: NeuroidAssembly) -> NeuroidAssembly:
    """Concatenate responses of the same neuroids to different stimuli, averaged over repetitions.

    Presentation coordinates that some assemblies lack are dropped. The stimulus sets are joined as well.

    Raises:
        ValueError: the neuroids differ.

    Example:
        >>> train = NeuroidAssembly([[1.0]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", [7])})
        >>> concatenated(train, train.assign_coords(stimulus_id=("presentation", ["b"])))["stimulus_id"].values.tolist()
        ['a', 'b']
    """
    averaged = [average_repetition(each) if "repetition" in each.coords else each for each in assemblies]
    ids = [each["neuroid_id"].values for each in averaged]
    if any(not np.array_equal(other, ids[0]) for other in ids[1:]):
        raise ValueError(f"the neuroids differ: {' and '.join(listed(each, 'neuroid_id') for each in ids)}")
    shared = set.intersection(*(set(each.coords) for each in averaged))
    bare = [each.drop_vars(set(each.coords) - shared) for each in averaged]
    joined = NeuroidAssembly(xr.concat(bare, "presentation", coords="minimal", compat="override", join="override"))
    sets = [each.attrs["stimulus_set"] for each in assemblies if "stimulus_set" in each.attrs]
    return joined.assign_attrs(stimulus_set=_joined(sets)) if len(sets) == len(assemblies) else joined


def side_by_side(assemblies: dict[str, NeuroidAssembly]) -> NeuroidAssembly:
    """Concatenate responses of different subjects to the same stimuli, averaged, with ``subject`` on neuroid.

    Raises:
        ValueError: subjects saw different stimuli; the message names them.

    Example:
        >>> one = NeuroidAssembly([[1.0], [2.0]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "neuroid_id": ("neuroid", [0])})
        >>> side_by_side({"s1": one, "s2": one})["subject"].values.tolist()
        ['s1', 's2']
    """
    parts = {name: average_repetition(each) for name, each in assemblies.items()}
    (first, whole), *others = parts.items()
    for name, part in others:
        differ = set(part[STIMULUS].values) ^ set(whole[STIMULUS].values)
        if differ or len(part) != len(whole):
            raise ValueError(f"{first} and {name} saw different stimuli: {listed(sorted(map(str, differ)), STIMULUS)}")
    rows = list(whole[STIMULUS].values)
    on_rows = {name for part in parts.values() for name, coord in part.coords.items() if "presentation" in coord.dims}
    bare = []
    for name, part in parts.items():
        order = [list(part[STIMULUS].values).index(stimulus) for stimulus in rows]
        bare.append(assign_subject(part.isel(presentation=order).drop_vars(on_rows - {STIMULUS}), name))
    return NeuroidAssembly(xr.concat(bare, "neuroid", coords="minimal", compat="override", join="override"))


def _joined(sets: list[StimulusSet]) -> StimulusSet:
    joined = StimulusSet(pd.concat(sets, ignore_index=True).drop_duplicates(STIMULUS).reset_index(drop=True))
    joined.identifier = "+".join(dict.fromkeys(str(each.identifier) for each in sets))
    return joined


def _loaded(name: str, steps: Any) -> LazyLoad:
    return LazyLoad(lambda: prepare(cast(NeuroidAssembly, load_dataset(name)), steps))


def _mean_over_subjects(row: BenchmarkRow, build: Callable[[BenchmarkRow], Any]) -> MultiSubjectNeuralBenchmark:
    children = {each: partial(build, _of_subject(row, each)) for each in row.settings["subjects"]}
    return MultiSubjectNeuralBenchmark(row.identifier, children, row.version or 1, row.parent, row.bibtex)


def _of_subject(row: BenchmarkRow, subject: str) -> BenchmarkRow:
    """The row of one subject's benchmark."""
    data = row.data[row.settings["subjects"].index(subject)]
    settings = filled_for(row.settings, subject)
    return replace(row, identifier=f"{row.identifier}.{subject}", data=(data,), settings=settings)


def _prepared(row: BenchmarkRow) -> LazyLoad:
    """The row's data after all steps; several data sets are concatenated."""
    parts = [_loaded(name, row.settings.get("steps", ())) for name in row.data]
    whole = parts[0] if len(parts) == 1 else LazyLoad(lambda: concatenated(*map(content_of, parts)))
    return _further(whole, row.settings.get("target_steps", ()))


def _further(loaded: LazyLoad, steps: Any) -> LazyLoad:
    return LazyLoad(lambda: prepare(content_of(loaded), steps)) if steps else loaded


def _metric(row: BenchmarkRow) -> Any:
    own, settings = row.settings, dict(row.settings.get("metric_kwargs", {}))
    if "stratify" in own:
        splits: dict[str, Any] = {"stratification_coord": own["stratify"] or None}
        if "splits" in own:
            splits["splits"] = own["splits"]
        if "preprocess_indices" in own:
            module, _, name = own["preprocess_indices"].partition(":")
            splits["preprocess_indices"] = getattr(import_module(module), name)
        settings["crossvalidation_kwargs"] = splits
    return load_metric(row.metric, **settings)


def _ceiling_method(row: BenchmarkRow) -> Any:
    build = _STORED.get(str(row.ceiling), partial(load_ceiling, str(row.ceiling)))
    return build(**row.settings.get("ceiling_kwargs", {}))


def _common(row: BenchmarkRow) -> dict[str, Any]:
    return {**row.arguments("region", "about"), "time_bins": row.time_bins or None}
