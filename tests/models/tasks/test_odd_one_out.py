"""The odd one of three."""

import numpy as np
import pytest

from bsjax import StimulusSet
from bsjax.models.tasks.odd_one_out import OddOneOutTask
from tests.models.conftest import seen

FEATURES = {
    "a": [1.0, 0.0],
    "b": [0.9, 0.1],
    "c": [0.0, 5.0],
    "same": [1.0, 0.0],
    "long": [9.0, 9.0],
    "zero": [0.0, 0.0],
}


def see(stimuli, layers):
    ids = stimuli["stimulus_id"].tolist()
    assert len(set(ids)) == len(ids), "each stimulus is shown once"
    return seen(stimuli, np.array([FEATURES[stimulus_id] for stimulus_id in ids]))


def ask(ids, see=see, **settings):
    return OddOneOutTask(["layer"], **settings)(see, StimulusSet({"stimulus_id": list(ids)}))


def by_hand(ids, similarity):
    i, j, k = (np.array(FEATURES[name]) for name in ids)
    return ids[2 - int(np.argmax([similarity(i, j), similarity(i, k), similarity(j, k)]))]


def cosine(x, y):
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


@pytest.mark.parametrize(("measure", "similarity"), [("dot", np.dot), ("cosine", cosine)])
def test_the_one_that_the_most_similar_pair_leaves(measure, similarity):
    triplets = [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a"), ("a", "b", "long"), ("long", "c", "a")]
    chosen = ask([name for triplet in triplets for name in triplet], similarity_measure=measure)
    assert chosen.dims == ("presentation", "choice") and chosen.shape == (5, 1)
    assert chosen.values[:, 0].tolist() == [by_hand(triplet, similarity) for triplet in triplets]
    assert chosen["stimulus_id"].values.tolist()[0] == "a|b|c"


def test_of_equally_similar_pairs_the_first_counts():
    assert ask(["a", "same", "a"]).values.item() == "a"
    assert ask(["zero", "a", "c"]).values.item() == "c"


def test_ids_may_be_numbers():
    FEATURES.update({1: [1.0, 0.0], 2: [0.0, 1.0], 3: [1.0, 0.1]})
    chosen = ask([1, 2, 3])
    assert chosen.values.item() == 2 and chosen["stimulus_id"].values.tolist() == ["1|2|3"]


def test_trials_are_averaged():
    def twice(stimuli, layers):
        once = see(stimuli, layers)
        rows = np.repeat(np.arange(len(once)), 2)
        noise = np.tile([[0.5, -0.5], [-0.5, 0.5]], (len(once), 1))
        return once.isel(presentation=rows) + noise

    assert ask(["a", "b", "c"], see=twice).values.item() == ask(["a", "b", "c"]).values.item() == "c"
