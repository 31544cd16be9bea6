"""Benchmarks on published recordings, each built from its row of ``recordings.toml``.

Nothing is loaded when one is built. What training, test and ceiling have in common is loaded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

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
from bsjax.benchmarks.rows.recordings import Row, for_subject, recording_rows
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition, load_dataset
from bsjax.labelled import load_ceiling, load_metric
from bsjax.labelled.align import STIMULUS, listed
from bsjax.labelled.ceilings.stored_reliability import MedianReliability, StoredNoiseCeiling
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity, SimilarityToSubjects

if TYPE_CHECKING:
    from bsjax.benchmarks.base import BenchmarkBase

_STORED = {"MedianReliability": MedianReliability, "StoredNoiseCeiling": StoredNoiseCeiling}


def recording(identifier: str) -> BenchmarkBase:
    """Build a benchmark of the table; its data are fetched and read when it first scores.

    Raises:
        KeyError: no row of this name.

    Example:
        >>> benchmark = recording("Papale2025.V4-ridge")
        >>> benchmark.metric.mapping, benchmark.visual_degrees, benchmark.parent
        (Ridge(alpha=1.0), 18, 'V4')
    """
    row = recording_rows()[identifier]
    return _KINDS[row.kind](row)


def _neural(row: Row) -> NeuralBenchmark:
    trials = _loaded(row.data[0], row.steps)
    return NeuralBenchmark(
        row.identifier,
        _further(trials, row.target_steps),
        _metric(row),
        ceiling_func=Ceiling(_ceiling_method(row), _further(trials, row.ceiling_steps)),
        normalisation=row.normalisation,
        **_common(row),
    )


def _train_test(row: Row) -> TrainTestNeuralBenchmark:
    train, test = (_loaded(name, row.steps) for name in row.data)
    return TrainTestNeuralBenchmark(
        row.identifier,
        train,
        test,
        _metric(row),
        ceiling_func=Ceiling(_ceiling_method(row), test),
        normalisation=row.normalisation,
        alpha_coord="subject",
        **_common(row),
    )


def _rsa(row: Row) -> RSABenchmark:
    parts = [_loaded(name, row.steps) for name in row.data]
    whole = parts[0] if len(parts) == 1 else LazyLoad(lambda: concatenated(*map(content_of, parts)))
    return RSABenchmark(row.identifier, whole, **_common(row))


def _subjects(row: Row, child: Callable[[Row, str], Any]) -> MultiSubjectNeuralBenchmark:
    children = {subject: partial(child, row, subject) for subject in row.subjects}
    return MultiSubjectNeuralBenchmark(row.identifier, children, row.version, row.parent, row.bibtex)


def _train_test_of(row: Row, subject: str) -> TrainTestNeuralBenchmark:
    """One subject of a data set in which training and test stimuli are a published split."""
    whole = _of_subject(row, subject)
    pool = for_subject(row, row.pool, subject)
    train, test = (_further(whole, [("keep_split", row.split, part, pool)]) for part in ("train", "test"))
    return TrainTestNeuralBenchmark(
        f"{row.identifier}.{subject}",
        train,
        test,
        _metric(row),
        ceiling_func=Ceiling(_ceiling_method(row), test),
        normalisation=row.normalisation,
        **_common(row),
    )


def _rsa_of(row: Row, subject: str) -> RSABenchmark:
    """One subject, with all stimuli that train or test in the split ``tau``."""
    whole = _further(_of_subject(row, subject), [("keep_split", "tau", "both", row.pool)])
    ceiling = Ceiling(_ceiling_method(row), whole)
    return RSABenchmark(f"{row.identifier}.{subject}", whole, ceiling_func=ceiling, **_common(row))


def _inter_subject(row: Row) -> NeuralBenchmark:
    """All subjects side by side, who have seen the same stimuli and are the ceiling of each other."""

    def load() -> NeuroidAssembly:
        split = ("keep_split", "tau", "both", row.pool)
        return side_by_side({name: content_of(_further(_of_subject(row, name), [split])) for name in row.subjects})

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


_KINDS: dict[str, Callable[[Row], BenchmarkBase]] = {
    "neural": _neural,
    "train_test": _train_test,
    "rsa": _rsa,
    "subjects_train_test": partial(_subjects, child=_train_test_of),
    "subjects_rsa": partial(_subjects, child=_rsa_of),
    "inter_subject": _inter_subject,
}


def concatenated(*assemblies: NeuroidAssembly) -> NeuroidAssembly:
    """Responses of the same neuroids to different stimuli in one assembly, averaged over repetitions.

    Coordinates of the presentations that not all have are left out; the stimulus sets are joined as well.

    Raises:
        ValueError: neuroids differ.

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
    """Responses of different subjects to the same stimuli in one assembly, averaged, with ``subject`` on neuroid.

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


def _of_subject(row: Row, subject: str) -> LazyLoad:
    return _loaded(for_subject(row, row.data[0], subject), for_subject(row, row.steps, subject))


def _further(loaded: LazyLoad, steps: Any) -> LazyLoad:
    return LazyLoad(lambda: prepare(content_of(loaded), steps)) if steps else loaded


def _metric(row: Row) -> Any:
    settings: dict[str, Any] = dict(row.metric_kwargs)
    if row.alphas:
        settings["alphas"] = row.alphas
    if row.stratify is not None:
        splits: dict[str, Any] = {"stratification_coord": row.stratify or None}
        if row.splits is not None:
            splits["splits"] = row.splits
        if row.preprocess_indices:
            module, _, name = row.preprocess_indices.partition(":")
            splits["preprocess_indices"] = getattr(import_module(module), name)
        settings["crossvalidation_kwargs"] = splits
    return load_metric(row.metric, **settings)


def _ceiling_method(row: Row) -> Any:
    build = _STORED.get(row.ceiling, partial(load_ceiling, row.ceiling))
    return build(**row.ceiling_kwargs)


def _common(row: Row) -> dict[str, Any]:
    return {
        "visual_degrees": row.visual_degrees,
        "number_of_trials": row.number_of_trials,
        "version": row.version,
        "parent": row.parent,
        "bibtex": row.bibtex,
        "region": row.region,
        "time_bins": row.time_bins or None,
        "about": row.recorded,
    }
