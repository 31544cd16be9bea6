import numpy as np
import pytest

from bsjax.labelled.behaviour.choice_signatures import I1, I2, I2n
from bsjax.labelled.settings import keep
from tests.oracle.cases import assemblies
from tests.support.memory_held import most_held


def choices(**settings):
    case = {"builder": "object_choices", "arguments": {"seed": 3, "n_images": 24, **settings}}
    return tuple(assemblies(case).values())


@pytest.fixture(scope="module")
def pair():
    return choices()


def rows(assembly, keep):
    return assembly.isel(presentation=np.flatnonzero(keep))


@pytest.mark.slow
def test_of_text_no_more_is_held_at_once_than_a_column():
    source, target = choices(trials=160)
    given = sum(np.asarray(part).nbytes for part in (target, *target.coords.values()))
    metric = I2n()
    for _ in range(2):  # the second looks at the list of the process's memory maps, which may be long
        metric(source, target)
    assert most_held(lambda: metric(source, target)) < 2 * given


def test_a_trial_without_an_answer_does_not_count(pair):
    source, target = pair
    values = target.values.astype(object)
    lost = np.random.default_rng(0).permutation(len(values))[:40]
    values[lost] = [None, np.nan] * 20
    kept = I1()._halves
    with_gaps = I1()(source, target.copy(data=values))
    # The same trials left out of the same halves.
    metric = I1()
    keep(metric, _halves=lambda trials: tuple(h & ~np.isin(np.arange(len(values)), lost) for h in kept(trials)))
    np.testing.assert_allclose(with_gaps.raw, metric(source, target).raw, atol=1e-12)


@pytest.mark.slow
def test_an_image_without_trials_in_a_half_is_left_out_and_counted(pair):
    source, target = pair
    first = target["stimulus_id"].values == target["stimulus_id"].values[0]
    once = rows(target, ~first | (np.cumsum(first) == 1))
    score = I1()(source, once)
    assert score.n_undefined >= 1 and np.isfinite(float(score))
    nothing = source.copy()
    nothing[3], nothing[4] = np.nan, 0
    score = I1()(nothing, target)
    assert score.n_undefined == 2 + I1()(source, target).n_undefined and np.isfinite(float(score))
    score = I2()(source, rows(target, target.values != "object2"))  # which has a rate of zero
    assert score.n_units == 24 * 5 and np.isfinite(float(score))


@pytest.mark.slow
def test_ceiling_without_skipna_names_what_is_missing(pair):
    assert I1().ceiling(pair[1]) == I1().ceiling(pair[1], skipna=True)
    _, target = choices(trials=2)
    with pytest.raises(ValueError, match="d' of the second half of the"):
        I2().ceiling(target)
    assert np.isfinite(float(I2().ceiling(target, skipna=True)))


def test_malformed_inputs(pair):
    source, target = pair
    with pytest.raises(ValueError, match=r"different objects: 1 objects \(object5\) only in target"):
        I1()(source[:, :5], target)
    strange = target.copy(data=np.where(np.arange(target.size) == 0, "object9", target.values))
    with pytest.raises(ValueError, match=r"1 trials chose an object that was neither.*im0000"):
        I1()(source, strange)
    truth = np.where(np.arange(target.size) == 0, target["dist_obj"].values, target["truth"].values)
    with pytest.raises(ValueError, match=r"more than one truth for 1 stimulus_id \(im0000\)|more than one truth"):
        I1()(source, target.assign_coords(truth=("presentation", truth)))
