"""Probabilities that are learned from examples."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bsjax import StimulusSet
from bsjax.models.tasks.probabilities import probabilities_task
from tests.models.conftest import seen

RNG = np.random.default_rng(0)
FEATURES = {f"s{n}": RNG.normal(size=6) + n % 3 for n in range(24)}
NAMES = ["pear", "apple", "fig"]


def see(stimuli, layers):
    return seen(stimuli, np.array([FEATURES[stimulus_id] for stimulus_id in stimuli["stimulus_id"]]))


def stimuli(numbers, **columns):
    return StimulusSet({"stimulus_id": [f"s{n}" for n in numbers], **columns})


def labelled(numbers):
    return stimuli(numbers, image_label=[NAMES[n % 3] for n in numbers])


def expected(numbers, shown):
    x, y = np.array([FEATURES[f"s{n}"] for n in numbers]), np.array([n % 3 for n in numbers])
    scaler = StandardScaler().fit(x)
    classifier = LogisticRegression(solver="newton-cg", C=1e-3, tol=1e-10, max_iter=1000).fit(scaler.transform(x), y)
    return classifier.predict_proba(scaler.transform(np.array([FEATURES[f"s{n}"] for n in shown])))


@pytest.mark.slow
def test_probabilities_of_other_stimuli_in_the_order_of_first_appearance():
    learned, shown = [1, *range(18)], [20, 23, 18]  # the second label comes first
    answer = probabilities_task(see, ["layer"], labelled(learned))(see, stimuli(shown, difficulty=[1, 2, 3]))
    assert answer.dims == ("presentation", "choice") and answer["choice"].values.tolist() == ["apple", "pear", "fig"]
    np.testing.assert_allclose(answer.values, expected(learned, shown)[:, [1, 0, 2]], atol=1e-6)
    assert answer["stimulus_id"].values.tolist() == ["s20", "s23", "s18"]
    assert answer["difficulty"].values.tolist() == [1, 2, 3]
    answer.validate()


def test_two_labels():
    two = [n for n in range(18) if n % 3 < 2]
    answer = probabilities_task(see, ["layer"], labelled(two))(see, stimuli([18, 19]))
    assert answer.idxmax("choice").values.tolist() == ["pear", "apple"]


def test_what_cannot_be_learned_from():
    with pytest.raises(ValueError, match="needs at least two labels; all stimuli to fit have the image_label 'pear'"):
        probabilities_task(see, ["layer"], labelled([0, 3, 6]))
    with pytest.raises(ValueError, match="has no image_label for 1 of its presentations"):
        probabilities_task(see, ["layer"], stimuli([0, 1, 2], image_label=["pear", None, "fig"]))
