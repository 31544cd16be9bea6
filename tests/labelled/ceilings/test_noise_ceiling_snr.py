import numpy as np
import pytest

from bsjax import load_ceiling
from bsjax.labelled.ceilings.noise_ceiling_snr import NoiseCeilingSNR
from bsjax.labelled.ceilings.stored_reliability import StoredNoiseCeiling
from tests.support.single_trials import recording


def test_equals_the_definition():
    assembly = recording()
    score = load_ceiling("noise_ceiling_snr")(assembly)
    trials = assembly.sortby(["repetition", "stimulus_id"]).values.reshape(4, 60, 20)
    noise = trials.var(axis=0, ddof=1).mean(axis=0)
    snr = np.sqrt(np.maximum(trials.mean(axis=0).var(axis=0, ddof=1) / noise - 1 / 4, 0))
    expected = snr**2 / (snr**2 + 1 / 4)
    np.testing.assert_allclose(score.raw, expected, atol=1e-12)
    np.testing.assert_allclose(score.raw["ncsnr"], snr, atol=1e-12)
    assert float(score) == pytest.approx(np.median(expected), abs=1e-12)
    assert score.raw["n_stimuli"].values.tolist() == [60] * 20
    assert 0 < score.error < 0.1 and "bootstraps over 20 neuroids" in score.error_kind
    assert score.uncertainty.over == ("neuroids",)


def test_its_root_is_what_is_stored():
    """Publishers store it in per cent of the variance."""
    assembly = recording()
    score = NoiseCeilingSNR()(assembly)
    stored = assembly.assign_coords(nc_12rep=("neuroid", 100 * score.raw.values))
    np.testing.assert_allclose(StoredNoiseCeiling()(stored).raw, np.sqrt(score.raw), atol=1e-12)


def test_missing_cells_and_constant_neuroids():
    assembly = recording()
    assembly.values[assembly["stimulus_id"].values == "s003", 1] = np.nan
    assembly.values[:, 2] = 0.1
    score = NoiseCeilingSNR()(assembly)
    assert score.raw["n_stimuli"].values[:3].tolist() == [60, 59, 60]
    assert np.isnan(score.raw[2]) and (score.n_units, score.n_undefined) == (20, 1)
    alone = NoiseCeilingSNR()(assembly[assembly["stimulus_id"].values != "s003"])
    np.testing.assert_allclose(score.raw[1], alone.raw[1], atol=1e-12)
