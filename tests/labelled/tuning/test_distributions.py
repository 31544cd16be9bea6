import numpy as np
import pytest

from bsjax import PropertyAssembly
from bsjax.labelled.tuning.distributions import BootstrapDistributionSimilarity, NeuronalPropertyCeiling

BINS = np.linspace(0.0, 1.0, 8)


def neurons(values, bins=None, name="osi", **others):
    columns = {name: values, **others}
    return PropertyAssembly(
        np.stack([np.asarray(v, float) for v in columns.values()], axis=1),
        coords={"neuroid_id": ("neuroid", np.arange(len(values))), "neuroid_property": list(columns)},
        dims=["neuroid", "neuroid_property"],
        attrs={} if bins is None else {f"{name}_bins": bins},
    )


def populations():
    rng = np.random.RandomState(3)
    model = rng.rand(57) * 1.4 - 0.2
    recorded = rng.beta(2, 3, 40)
    model[::9], recorded[3] = np.nan, np.nan
    return model, recorded


def test_equals_a_loop_over_the_draws_of_the_reference():
    model, recorded = populations()
    score = BootstrapDistributionSimilarity("osi", ns=300, seed=5)(neurons(model), neurons(recorded, BINS))
    rng = np.random.RandomState(5)
    q = np.cumsum(np.histogram(recorded, BINS)[0]) / 39
    raw = []
    for _ in range(300):
        p = np.histogram(np.clip(rng.choice(model, 40), 0, 1), BINS)[0]
        p = np.cumsum(p) / p.sum()
        raw.append(1 - np.abs(p - q).max() / max((1 - q).max(), q[:-1].max()))
    np.testing.assert_allclose(score.raw.values, raw, atol=1e-12)
    assert float(score) == pytest.approx(np.mean(raw)) and score.error == pytest.approx(np.std(raw))
    assert score.raw.dims == ("bootstrap",) and "300 bootstraps" in score.error_kind
    assert (score.n_units, score.n_undefined) == (57, 7)
    assert (score.provenance["target_units"], score.provenance["target_units_undefined"]) == (40, 1)


def test_takes_its_property_among_others_in_any_layout():
    model, recorded = populations()
    plain = BootstrapDistributionSimilarity("osi")(neurons(model), neurons(recorded, BINS))
    source = neurons(model, ssi=model[::-1]).transpose("neuroid_property", "neuroid")
    target = neurons(recorded, BINS, ssi=recorded)[:, [1, 0]]
    assert float(BootstrapDistributionSimilarity("osi")(source, target)) == float(plain)


def test_few_neurons_with_a_value_leave_empty_draws():
    _, recorded = populations()
    few, fewest = np.full(200, np.nan), np.full(2000, np.nan)
    few[:12], fewest[:2] = 0.5, 0.5
    some = BootstrapDistributionSimilarity("osi")(neurons(few), neurons(recorded, BINS))
    assert 0 < some.provenance["draws_undefined"] <= 100
    assert float(some) == pytest.approx(np.nanmean(some.raw))
    none = BootstrapDistributionSimilarity("osi")(neurons(fewest), neurons(recorded, BINS))
    assert none.provenance["draws_undefined"] > 100
    assert np.isnan(float(none)) and none.error is None and none.n_undefined == 1998


def test_the_ceiling_is_the_similarity_to_itself():
    _, recorded = populations()
    metric = BootstrapDistributionSimilarity("osi")
    ceiling = NeuronalPropertyCeiling(metric)(neurons(recorded, BINS))
    assert float(ceiling) == float(metric(neurons(recorded), neurons(recorded, BINS)))
    assert ceiling.provenance["metric"] == "property_ceiling"
    assert ceiling.provenance["similarity_metric"]["identifier"] == "ks_similarity"
