"""The record of what a score was made from."""

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from bsjax.core.files import as_json
from bsjax.labelled import Provenance, Score
from tests.support.plain_assemblies import assert_equal_values

FULL = Provenance(
    model="net",
    model_digest="ab12",
    layers={"V1": ["conv1", "conv2"]},
    benchmark="Small.V1-pls",
    benchmark_version=3,
    data={"one": "sha256:12", "two": None},
    parent="V1",
    region="V1",
    metric="pls",
    settings={"components": 25, "bins": (70, 170)},
    dtype="float64",
    device="cpu",
    seeds={"random_state": 1, "seed": 2**60},
    versions={"bsjax": "9.9", "jax": "1.2"},
    start="2026-01-02T03:04:05+00:00",
    seconds=1.5,
    reason="constant responses",
    details={"n_stimuli": 40, "scores": {"one": math.nan}, "counts": np.arange(3), "$odd": {1: None}},
)
# As scores of earlier versions hold it in JSON.
FORMER = {
    **{"metric": "rdm", "dtype": "float64", "device": "cpu", "bsjax": "0.1.0", "jax": "0.10.2", "random_state": 1},
    **{"similarity": "corr", "undefined": "source has the same responses to all stimuli", "model": "net"},
    **{"benchmark": "B", "benchmark_version": 2, "region": "IT", "data": "sha256:12", "n_stimuli": 9},
    **{"bins": {"$tuple": [70, 170]}, "least": {"$float": "nan"}},
}


def test_every_field_survives_json_in_a_stable_order():
    plain = json.loads(as_json(FULL.to_dict()))
    again = Provenance.from_dict(plain)
    assert again == FULL and hash(again) == hash(FULL)
    assert_equal_values(vars(again), vars(FULL))
    assert list(plain) == [field.name for field in fields(FULL) if field.init]
    assert as_json(again.to_dict()) == as_json(FULL.to_dict())
    assert Provenance().to_dict() == {"schema": 1}


def test_it_reads_as_a_dict_of_what_is_known():
    assert FULL["benchmark"] == "Small.V1-pls" and FULL["random_state"] == 1 and FULL["jax"] == "1.2"
    assert FULL["components"] == 25 and FULL["n_stimuli"] == 40 and FULL.get("colour", "red") == "red"
    few = Provenance(metric="pls", details={"n_stimuli": 40})
    assert list(few.items()) == [("metric", "pls"), ("n_stimuli", 40)] and len(few) == 2


def test_a_plain_dict_becomes_a_record_whose_details_hold_what_does_not_fit_its_field():
    given = {"metric": "pls", "random_state": 1, "jax": "1.2", "n_stimuli": 40}
    made = Score(0.5, provenance=given).provenance
    assert (made.metric, made.seeds, made.versions) == ("pls", {"random_state": 1}, {"jax": "1.2"})
    assert made.details == {"n_stimuli": 40} and made == given
    made = Score(0.5, provenance={"layers": "relu", "seconds": "long", "model": 3}).provenance
    assert made.layers is None and dict(made) == {"layers": "relu", "seconds": "long", "model": 3}
    assert Provenance.from_dict(json.loads(as_json(made.to_dict()))) == made


def test_json_of_an_earlier_version_is_read():
    made = Score.from_dict({"value": 0.5, "provenance": FORMER}).provenance
    assert (made.metric, made.model, made.benchmark_version, made.data) == ("rdm", "net", 2, "sha256:12")
    assert made.reason == FORMER["undefined"] and made.seeds == {"random_state": 1}
    assert made.versions == {"bsjax": "0.1.0", "jax": "0.10.2"}
    assert made.details["similarity"] == "corr" and made.details["bins"] == (70, 170)
    assert math.isnan(made.details["least"])
    assert Provenance.from_dict(made.to_dict()) == made


def test_when_it_was_computed_does_not_make_another_record():
    later = replace(FULL, start="2027-01-01T00:00:00+00:00", seconds=9.0)
    assert later == FULL and hash(later) == hash(FULL)
    assert replace(FULL, seeds={}) != FULL and replace(FULL, details={}) != FULL and FULL != 3


def test_it_is_frozen_and_copied():
    details = {"n_stimuli": 40}
    made = Provenance(details=details)
    details["n_stimuli"] = 41
    assert made["n_stimuli"] == 40
    with pytest.raises(FrozenInstanceError):
        made.metric = "pls"
    with pytest.raises(TypeError):
        made["metric"] = "pls"
    for again in (copy.deepcopy(FULL), pickle.loads(pickle.dumps(FULL))):
        assert again == FULL and dict(again.settings) == dict(FULL.settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": 3}, "provenance.metric is the int 3: Expected `str"),
        ({"layers": {"V1": "conv1"}}, r"provenance.layers is the dict {'V1': 'conv1'}: Expected `array`, got `str`"),
        ({"details": {"by": len}}, r"provenance\['by'\] is a builtin.* cannot be written as JSON"),
        ({"metric": "pls", "details": {"metric": "cka"}}, "provenance.details has what is said elsewhere: 'metric'"),
        ({"schema": 2}, "the schema of a provenance must be 1, got 2: another bsjax wrote it"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given, message):
    with pytest.raises(ValueError, match=message):
        Provenance(**given)
