"""Look-alikes in human ventral temporal cortex, in the shape of the published data."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from bsjax import NeuroidAssembly, load_benchmark
from tests.benchmarks.conftest import parts
from tests.support import served_data as served
from tests.support.recorder import Recorder

N, VOXELS, SUBJECTS = 27, 8, 4
LABELS = ["lookalike", "animal", "object"] * 9


@pytest.fixture
def stimuli(serve):
    stimuli = served.stimuli_of(
        N, image_label=LABELS, stimulus_name=LABELS, exemplar_number=range(N), image_group=LABELS
    )
    serve("Bracci2019", stimuli=stimuli)
    return stimuli


@pytest.fixture(params=[1.0, np.nan])
def responses(serve, stimuli, request):
    """(subjects, regions, stimuli, voxels); a subject may lack the values of a voxel of the last region."""
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(N, VOXELS)) + rng.normal(size=(SUBJECTS, 3, N, VOXELS))
    responses += 5 * rng.normal(size=(SUBJECTS, 3, 1, VOXELS))
    responses[1, 2, 4, 6] *= request.param
    assembly = NeuroidAssembly(
        responses.transpose(2, 0, 1, 3).reshape(N, -1),
        coords={
            **{name: ("presentation", stimuli[name].to_numpy()) for name in stimuli.columns},
            "subject": ("neuroid", np.repeat(np.arange(SUBJECTS), 3 * VOXELS)),
            "roi": ("neuroid", np.tile(np.repeat(np.arange(3), VOXELS), SUBJECTS)),
            "voxels": ("neuroid", np.tile(np.arange(3 * VOXELS), SUBJECTS)),
        },
        dims=["presentation", "neuroid"],
    )
    serve("Bracci2019", assembly)
    return responses


def upper(rdm):
    return rdm[np.triu_indices(N, 1)]


@pytest.mark.slow
def test_the_score_is_that_of_numpy_and_scipy(stimuli, responses, same_as_published):
    """Centred, averaged over subjects, correlated; over the agreement of the subjects."""
    values = np.random.default_rng(1).normal(size=(N, 20))
    values[:, :VOXELS] += 2 * responses[:, 2].mean(axis=0)
    values = np.nan_to_num(values)
    model = Recorder(stimuli, values, backwards=True)
    score = load_benchmark("Bracci2019.anteriorVTC-rdm")(model)
    if np.isfinite(responses).all():
        same_as_published(score, model)

    centred = responses[:, 2] - responses[:, 2].mean(axis=1, keepdims=True)
    raw = spearmanr(upper(1 - np.corrcoef(values)), upper(1 - np.corrcoef(np.nanmean(centred, axis=0))))[0]
    rdms = [upper(1 - np.corrcoef(one[:, np.isfinite(one).all(axis=0)])) for one in centred]
    ceilings = [spearmanr(rdms[s], np.mean(np.delete(rdms, s, axis=0), axis=0))[0] for s in range(SUBJECTS)]
    assert parts(score) == pytest.approx((raw, np.mean(ceilings), raw / np.mean(ceilings)))
    assert 0.05 < float(score.ceiling) < 1 and score.formula == "r/c"
    np.testing.assert_allclose(score.ceiling.raw.sel(bound="lower"), ceilings)
