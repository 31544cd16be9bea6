"""Brains that predict one another, and models among them: a further subject passes, a random network does not."""

import numpy as np
import pytest
import xarray as xr

import bsjax


def population(rng, subjects, models=0, stimuli=60, units=15):
    """Subjects who see the same in their own neurons with noise, and as many models that see nothing."""
    seen = rng.normal(size=(stimuli, 6))
    see = lambda: seen @ rng.normal(size=(6, units)) + 1.5 * rng.normal(size=(stimuli, units))  # noqa: E731
    return [see() for _ in range(subjects)], [rng.normal(size=(stimuli, units)) for _ in range(models)]


@pytest.mark.slow
def test_scores_are_those_of_pairs():
    brains, [noise] = population(np.random.default_rng(0), 4, 1)
    named = dict(zip("abcd", brains, strict=True))
    found = bsjax.brain_to_brain(named, metric="ridge", models={"noise": noise})
    assert float(found.between.sel(source="b", target="a")) == pytest.approx(
        float(bsjax.score_arrays(named["b"], named["a"], metric="ridge")), abs=1e-9
    )
    to_brains = np.mean([float(bsjax.score_arrays(noise, side, metric="ridge")) for side in brains])
    assert found.models.loc["noise", "to_brains"] == pytest.approx(to_brains, abs=1e-9)
    assert np.isnan(np.diag(found.between)).all() and "4 subjects" in repr(found)


@pytest.mark.slow
def test_a_further_subject_passes_and_a_random_network_fails():
    rng, passed = np.random.default_rng(1), {"subject": 0, "random": 0}
    times = 30
    for _ in range(times):
        brains, [noise] = population(rng, 6, 1)
        named = {str(place): side for place, side in enumerate(brains[:5])}
        models = bsjax.brain_to_brain(named, "cka", {"subject": brains[5], "random": noise}).models
        for name in passed:
            passed[name] += int(models.loc[name, "passes"])
    assert passed["subject"] >= 0.9 * times and passed["random"] <= 0.05 * times


def test_what_cannot_be_compared():
    brains, _ = population(np.random.default_rng(3), 3)
    named = dict(zip("abc", brains, strict=True))
    with pytest.raises(ValueError, match="3 subjects"):
        bsjax.brain_to_brain({"a": brains[0], "b": brains[1]})
    with pytest.raises(ValueError, match="c as a source of a|a as a source of c"):
        bsjax.brain_to_brain(named | {"c": np.ones((60, 15))}, metric="cka")
    with pytest.raises(ValueError, match="coordinate 'subject'"):
        bsjax.brain_to_brain(xr.DataArray(brains[0], dims=["presentation", "neuroid"]))
