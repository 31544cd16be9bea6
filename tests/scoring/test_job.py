"""Jobs are data: equal and hashed by what they say, and built where they run."""

import json

import pytest

from bsjax import Permutations, Resampling
from bsjax.scoring import Job, Options
from bsjax.scoring.job import Beside, built_model


def test_jobs_are_equal_and_hashed_by_what_they_say():
    options = Options.of({"memory": "2GB", "batch_size": 4}, {"data": "here"})
    same = Options.of({"batch_size": 4, "memory": "2GB"}, {"data": "here"})
    jobs = {Job("pixels", "Simulated.V1-cka", options), Job("pixels", "Simulated.V1-cka", same)}
    assert len(jobs) == 1
    assert Job("pixels", "Simulated.V1-cka") not in jobs
    one, other = (Options.of({}, {"regions": regions}) for regions in (["V1"], ["V4"]))  # which cannot be hashed
    assert len({Job("pixels", "any", one), Job("pixels", "any", one), Job("pixels", "any", other)}) == 2


def test_options_of_the_extraction_reach_the_model(good):
    options = Options.of({"batch_size": 3})
    assert built_model(Job("pixels", "Simulated.V1-cka", options)).activations_model._options.batch_size == 3
    with pytest.raises(ValueError, match="whose extraction has no options; leave out batch_size"):
        built_model(Job(good, "Simulated.V1-cka", options))


@pytest.mark.parametrize(
    "asked",
    [
        Beside(),
        Beside.of(("stimuli", "subjects"), 19, "stimulus-*"),
        Beside.of(Resampling("neuroids", draws=7, seed=3), Permutations(99, seed=5)),
    ],
)
def test_what_is_asked_beside_a_score_survives_json_and_parts_tell_it_from_others(asked):
    again = Beside.from_plain(json.loads(json.dumps(asked.to_plain())))
    assert again == asked and hash(again) == hash(asked) and bool(again) == bool(asked.parts())
    assert again.parts() == asked.parts() != Beside.of("subjects").parts()
