"""Jobs are data: equal and hashed by what they say, and built where they run."""

import pytest

from bsjax.scoring import Job, Options
from bsjax.scoring.job import built_model


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
