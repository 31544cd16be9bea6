"""Subjects that saw the same stimuli: fitted to a model's responses in one call, with the scores of single cells."""

from dataclasses import replace

import numpy as np
import pytest

from bsjax import ModelCommitment, NeuroidAssembly, StimulusSet, load_ceiling, load_metric
from bsjax.adapters import from_stored
from bsjax.benchmarks import Ceiling, NeuralBenchmark, benchmark_registry
from bsjax.data import attach_stimulus_set
from bsjax.engine.memory_limit import memory_limit
from bsjax.labelled.regression.crossvalidation import CrossRegressedCorrelation
from bsjax.results import ResultStore
from bsjax.scoring import score, score_grid
from bsjax.scoring.sinks import IntoStore

pytestmark = pytest.mark.filterwarnings("ignore:the (smallest|largest) penalty")
N, VOXELS = 60, (5, 4, 6)
IDS = [f"image{number:02d}" for number in range(N)]
LATENTS = np.random.default_rng(0).normal(size=(N, 6))


@pytest.fixture
def model():
    made = from_stored({"late": LATENTS.astype(np.float32)}, "net", stimulus_ids=IDS)
    return ModelCommitment("net", made, region_layer_map={"V1": "late"})


@pytest.fixture
def fits(monkeypatch):
    """The number of neuroids of every fit."""
    noted, fitted = [], CrossRegressedCorrelation._fitted

    def noting(self, sources, orders, target, *rest):
        noted.append(target.sizes["neuroid"])
        return fitted(self, sources, orders, target, *rest)

    monkeypatch.setattr(CrossRegressedCorrelation, "_fitted", noting)
    return noted


def trials(subject, damaged=False):
    rng = np.random.default_rng(subject + 1)
    signal = LATENTS @ rng.normal(size=(6, VOXELS[subject]))
    values = np.concatenate([signal + rng.normal(size=signal.shape) for _ in range(2)])
    if damaged:
        values[:, 0] = np.nan
    coords = {
        "stimulus_id": ("presentation", IDS * 2),
        "repetition": ("presentation", np.repeat([0, 1], N)),
        "neuroid_id": ("neuroid", [f"{subject}.{number}" for number in range(VOXELS[subject])]),
        "region": ("neuroid", ["V1"] * VOXELS[subject]),
    }
    made = NeuroidAssembly(values, coords, ["presentation", "neuroid"])
    return attach_stimulus_set(made, StimulusSet({"stimulus_id": IDS}))


def benchmark(subject, damaged=False, alphas=(0.1, 1.0, 10.0)):
    folds = {"splits": 3, "kfold": True, "stratification_coord": None}
    metric = load_metric("ridgecv", crossvalidation_kwargs=folds, alphas=alphas, alpha_per_target=True, cv=3)
    return NeuralBenchmark(
        f"Doe2026.subject{subject}",
        lambda: trials(subject, damaged),
        metric,
        ceiling_func=Ceiling(load_ceiling("noise_ceiling_snr"), lambda: trials(subject)),
        region="V1",
        time_bins=[(0, 100)],
    )


def plain(found):
    """Everything in a score except when it was made."""
    return replace(found, provenance=replace(found.provenance, start=None, seconds=None)).to_dict()


def close(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True) if isinstance(one, float) else one == other


def test_subjects_are_fitted_at_once_with_the_scores_of_single_cells(model, fits, tmp_path):
    subjects = [benchmark(subject) for subject in range(3)]
    grid = score_grid(model, subjects, store=tmp_path / "results.db")
    assert fits == [sum(VOXELS)]
    for each in subjects:
        alone = benchmark(subjects.index(each))(model)
        assert close(plain(grid.score("net", each.identifier)), plain(alone))
    assert fits[1:] == list(VOXELS)


def test_only_benchmarks_of_the_same_metric_are_fitted_at_once_and_no_more_than_fit_in_memory(model, fits):
    subjects = [benchmark(0), benchmark(1, alphas=(0.5, 5.0)), benchmark(2)]
    score(model, subjects, store=None)
    assert fits == [VOXELS[0] + VOXELS[2], VOXELS[1]]
    with memory_limit(N * 8 * (VOXELS[0] + VOXELS[1])):
        score(model, [benchmark(subject) for subject in range(3)], store=None)
    assert fits[2:] == [VOXELS[0] + VOXELS[1], VOXELS[2]]


def test_a_subject_that_fails_does_not_fail_the_others(model, tmp_path):
    grid = score_grid(model, [benchmark(0), benchmark(1, damaged=True)], store=tmp_path / "results.db")
    states = {done.benchmark: done.state for done in grid.done}
    assert states == {"Doe2026.subject0": "scored", "Doe2026.subject1": "failed"}


@pytest.mark.filterwarnings("ignore:another command")
def test_registered_subjects_are_fitted_at_once_except_one_that_another_command_computes(
    model, fits, tmp_path, monkeypatch
):
    names = [f"Doe2026.subject{subject}" for subject in range(3)]
    for subject, name in enumerate(names):
        monkeypatch.setitem(benchmark_registry, name, lambda subject=subject: benchmark(subject))
    claimed, taken = IntoStore.claimed, []

    def claimed_later(self, cells):
        """Another command has the second subject at first."""
        mine = [cell for cell in cells if cell.names[1] != names[1] or taken]
        taken.extend(cell for cell in cells if cell not in mine)
        return claimed(self, mine)

    with ResultStore(tmp_path / "results.db") as store:
        monkeypatch.setattr(IntoStore, "claimed", claimed_later)
        grid = score_grid(model, names, store=store)
        assert fits == [VOXELS[0] + VOXELS[2], VOXELS[1]]
        assert [done.state for done in grid.done] == ["scored"] * 3
        for subject, name in enumerate(names):
            assert close(plain(grid.score("net", name)), plain(benchmark(subject)(model)))


def test_subjects_that_were_fitted_at_once_are_found_in_the_store(model, tmp_path, monkeypatch):
    """Nothing of bsjax is replaced here, as scores of replaced code are not taken from the store."""
    names = [f"Doe2026.subject{subject}" for subject in range(2)]
    for subject, name in enumerate(names):
        monkeypatch.setitem(benchmark_registry, name, lambda subject=subject: benchmark(subject))
    with ResultStore(tmp_path / "results.db") as store:
        assert [done.state for done in score_grid(model, names, store=store).done] == ["scored"] * 2
        assert not score_grid(model, names, store=store).done
