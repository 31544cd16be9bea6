"""Read-outs across domains: which images are trained and tested, and the accuracy."""

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bsjax.labelled.behaviour.domain_transfer import ALPHAS, DomainTransferAccuracy

PER_CATEGORY = {"hvm": 8, "outline": 8, "sketch": 6, "photo": 2}


@pytest.fixture(scope="module")
def recordings():
    """Three objects in four domains; the hvm images and their outlines have backgrounds of their own."""
    rng = np.random.default_rng(0)
    domain, label, background = [], [], []
    for name, number in PER_CATEGORY.items():
        domain += [name] * 3 * number
        label += ["apple", "bear", "car"] * number
        background += list(range(1, 25)) if name in ("hvm", "outline") else [0] * 3 * number
    codes = np.unique(label, return_inverse=True)[1]
    values = rng.normal(size=(3, 30))[codes] + 2 * rng.normal(size=(len(label), 30))
    coords = {"domain": domain, "object_label": label, "background_id": background}
    coords = {name: ("presentation", np.array(values)) for name, values in coords.items()}
    return xr.DataArray(values, coords, ["presentation", "neuroid"])[rng.permutation(len(label))]


@pytest.fixture(scope="module")
def metric():
    return DomainTransferAccuracy("hvm", ["outline"], splits=4, test_images=6)


def test_which_images_are_trained_and_tested(recordings, metric):
    rows = metric.splits_of(recordings)
    domain, label, background = (recordings[name].values for name in ("domain", "object_label", "background_id"))
    assert rows.train.shape == (4, 18) and set(domain[rows.train].ravel()) == {"hvm"}
    names = list(dict.fromkeys(domain.tolist()))
    for split in range(4):
        tested = {name: rows.test[split, i][rows.test_mask[split, i]] for i, name in enumerate(names)}
        for name, chosen in tested.items():
            assert set(domain[chosen]) == {name} and len(set(chosen)) == 6
            if name != "outline":
                assert np.unique(label[chosen], return_counts=True)[1].tolist() == [2, 2, 2]
        assert not set(rows.train[split]) & set(tested["hvm"])
        assert set(background[tested["outline"]]) == set(background[tested["hvm"]])
        assert not set(background[tested["outline"]]) & set(background[rows.train[split]])
    assert len({tuple(np.sort(train)) for train in rows.train}) == 4
    np.testing.assert_array_equal(metric.splits_of(recordings).train, rows.train)
    other = DomainTransferAccuracy("hvm", ["outline"], splits=4, test_images=6, seed=1)
    assert not np.array_equal(other.splits_of(recordings).train, rows.train)


def test_the_accuracy_is_that_of_scikit_learns_classifier(recordings, metric):
    score, rows = metric(recordings), metric.splits_of(recordings)
    x, (names, codes) = recordings.values, np.unique(recordings["object_label"].values, return_inverse=True)
    for split in range(4):
        classifier = make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=ALPHAS))
        decision = classifier.fit(x[rows.train[split]], codes[rows.train[split]]).decision_function(x)
        right = (decision < decision[np.arange(len(x)), codes][:, None]).sum(1) / (len(names) - 1)
        expected = [
            right[test[mask]].mean() for test, mask in zip(rows.test[split], rows.test_mask[split], strict=True)
        ]
        np.testing.assert_allclose(score.raw[split], expected, atol=1e-12)
    by_domain = score.raw.mean("split")
    assert set(score.raw["domain"].values) == set(PER_CATEGORY)
    assert float(score) == pytest.approx(float(by_domain.mean())) and 0.6 < float(score) < 1
    assert score.error == pytest.approx(float(by_domain.std()))


def test_what_is_refused(recordings):
    def score(recordings=recordings, **changes):
        return DomainTransferAccuracy(**{"train_domain": "hvm", "splits": 2, "test_images": 6, **changes})(recordings)

    for changes, message in (
        ({"train_domain": "tdw"}, "no images of tdw"),
        ({"test_images": 12}, "photo has 6 images, 12"),
        ({"train_domain": "photo"}, "none is left to train on"),
    ):
        with pytest.raises(ValueError, match=message):
            score(**changes)
    new = recordings["object_label"].values.copy()
    new[recordings["domain"].values == "photo"] = "zebra"
    with pytest.raises(ValueError, match="it holds apple, bear, car, and others zebra"):
        score(recordings.assign_coords(object_label=("presentation", new)))
