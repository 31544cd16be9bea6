"""Jobs are data: equal, hashed and pickled by what they say, and built where they run."""

import pickle
import subprocess
import sys

import pytest

from bsjax.scoring import Job, Options
from bsjax.scoring.job import built_benchmark, built_model
from tests.support.paths import REPOSITORY


def test_jobs_are_equal_and_hashed_by_what_they_say():
    options = Options.of({"memory": "2GB", "batch_size": 4}, {"data": "here"})
    same = Options.of({"batch_size": 4, "memory": "2GB"}, {"data": "here"})
    jobs = {Job("pixels", "Simulated.V1-cka", options), Job("pixels", "Simulated.V1-cka", same)}
    assert len(jobs) == 1
    assert Job("pixels", "Simulated.V1-cka") not in jobs
    one, other = (Options.of({}, {"regions": regions}) for regions in (["V1"], ["V4"]))  # which cannot be hashed
    assert len({Job("pixels", "any", one), Job("pixels", "any", one), Job("pixels", "any", other)}) == 2


@pytest.mark.slow
def test_a_job_runs_in_another_process():
    job = Job("pixels", "Simulated.V1-cka", Options.of({"batch_size": 16, "cache": None}))
    code = (
        "import pickle, sys; from bsjax.scoring import run;"
        "[outcome] = run([pickle.loads(bytes.fromhex(sys.argv[1]))]); print(outcome.score.to_dict()['value'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(job).hex()],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=REPOSITORY,
        check=True,
    )
    here = built_benchmark(job)(built_model(job))
    assert float(done.stdout) == pytest.approx(float(here), abs=1e-12)


def test_options_of_the_extraction_reach_the_model(good):
    options = Options.of({"batch_size": 3})
    assert built_model(Job("pixels", "Simulated.V1-cka", options)).activations_model._options.batch_size == 3
    with pytest.raises(ValueError, match="whose extraction has no options; leave out batch_size"):
        built_model(Job(good, "Simulated.V1-cka", options))
