"""Naming what is shown."""

import numpy as np
import pytest
from scipy.special import softmax

from bsjax import StimulusSet
from bsjax.models.tasks.imagenet import indices_of, label_indices, synsets
from bsjax.models.tasks.label import label_task
from tests.models.conftest import seen

LAYERS = {"conv": (8, 8, 4), "logits": (1000,)}
IDS = ["a", "b", "c", "d"]
STIMULI = StimulusSet({"stimulus_id": IDS, "truth": list("wxyz")})


def seeing(values):
    """A model that answers every stimulus set with these logits."""
    return lambda stimuli, layers: seen(stimuli, values)


@pytest.fixture
def logits():
    return np.random.default_rng(0).normal(scale=5, size=(4, 1000)).astype(np.float32)


def test_imagenets_own_classes(logits):
    named = label_task("net", LAYERS, "imagenet")(seeing(logits), STIMULI)
    assert named.dims == ("presentation", "choice") and named.shape == (4, 1)
    best = logits.argmax(axis=1)
    assert named["logit"].values.tolist() == best.tolist()
    for name in ("synset", "label"):
        assert named[name].values.tolist() == [synsets()[n] for n in best] == named.values[:, 0].tolist()
    assert named["stimulus_id"].values.tolist() == IDS and named["truth"].values.tolist() == list("wxyz")
    named.validate()


def test_a_label_has_the_mean_probability_of_its_classes(logits):
    labels = ["dog", "airplane", "Sewing machine", "tiger"]
    named = label_task("net", LAYERS, labels)(seeing(logits), STIMULI)
    probabilities = softmax(logits.astype(float), axis=1)
    pooled = {
        how: np.stack([how(probabilities[:, list(indices_of(x))], axis=1) for x in labels]) for how in (np.mean, np.max)
    }
    assert named.values[:, 0].tolist() == [labels[n] for n in pooled[np.mean].argmax(axis=0)]
    by_maximum = label_task("net", LAYERS, labels, aggregation="max")(seeing(logits), STIMULI)
    assert by_maximum["label"].values.tolist() == [labels[n] for n in pooled[np.max].argmax(axis=0)]
    assert "synset" not in named.coords


def test_large_logits(logits):
    large = logits * 1000
    assert large.max() > np.log(np.finfo(large.dtype).max)
    labels = ["cat", "dog", "truck"]
    named = label_task("net", LAYERS, labels)(seeing(large), STIMULI)
    best = [
        max(labels, key=lambda label, row=row: softmax(row.astype(float))[list(indices_of(label))].mean())
        for row in large
    ]
    assert named.values[:, 0].tolist() == best


def test_networks_of_other_classes(logits):
    task = label_task("net", {"conv": (4,), "output": (10,)}, {"even": [0, 2, 4, 6, 8], "odd": [1, 3, 5, 7, 9]})
    assert task.layer == "output"
    one_hot = np.eye(10)[[1, 2, 8, 9]] * 9
    assert task(seeing(one_hot), STIMULI).values[:, 0].tolist() == ["odd", "even", "even", "odd"]
    # Labels stay numbers, and a column of the stimuli stays the truth.
    task = label_task("net", {"output": (10,)}, {0: [0, 2, 4, 6, 8], 1: [1, 3, 5, 7, 9]})
    named = task(seeing(one_hot), STIMULI.assign(label=[1, 1, 1, 1]))
    assert named.values[:, 0].tolist() == [1, 0, 0, 1] and named["label"].values.tolist() == [1, 1, 1, 1]


def test_index_sets():
    assert len(synsets()) == 1000 == len(set(synsets()))
    assert (synsets()[404], synsets()[999]) == ("n02690373", "n15075141")
    table = label_indices()
    assert len(table) == 36 and all(0 <= n < 1000 for indices in table.values() for n in indices)
    assert 286 in table["cat"] and 286 in table["tiger"]
    sixteen = (
        "airplane bear bicycle bird boat bottle car cat chair clock dog elephant keyboard knife oven truck".split()
    )
    assert [len(table[label]) for label in sixteen] == [1, 4, 2, 49, 5, 7, 3, 6, 4, 3, 109, 2, 2, 1, 1, 8]
    classes = [n for label in sixteen for n in table[label]]
    assert len(classes) == len(set(classes))


@pytest.mark.parametrize(
    ("layers", "labels", "message"),
    [
        (LAYERS, ["dgo"], "no class of ImageNet is known for the label 'dgo'; nearest: dog"),
        (LAYERS, {"dog": [3, 1000]}, "has classes 0 to 999, not dog 1000"),
    ],
)
def test_labels_that_cannot_be_given(layers, labels, message):
    with pytest.raises(ValueError, match=message):
        label_task("net", layers, labels)
