"""Identities that are written down: the same on every Python, in every process, and in a later version of bsjax.

Who changes them on purpose has everything computed anew: ``python -m tests.support.fixed_things`` prints them.
"""

import json
import os
import subprocess

import pytest

from bsjax.scoring import cells
from bsjax.scoring.job import Beside, Job, Options
from tests.support.interpreters import INTERPRETERS
from tests.support.paths import REPOSITORY

THINGS = {
    "values": "13dd16f89f7bf526ea9b233cb461309f",
    "function": "0c2753646937bfd7a4f1cfad5db30286",
    "function of functions": "5bbde0232cd39e7e06a3507c93529806",
    "closure": "75e5b1d0cdaba91635ffa1a35928203a",
    "partial": "89a9b1bf8da51f73f8addd2738f7092f",
    "member": "0a82c6d5b00952ff9ff9d9500c58e776",
    "object": "b61cd00bdcda438ec33534d53a4eb840",
    "class": "786c330895bf59f2fbbed41b20b8457c",
    "method": "5e10ac789e0021090a3c0663ab3638fb",
    "standard library": "dafabd240bf4e7e3f63b41d7e4446096",
}

JOBS = {
    "in batches": "a2eca1eb11d58bf6ce233c03e7c6e15d",
    "in a budget": "a2eca1eb11d58bf6ce233c03e7c6e15d",
    "draws": "828a304aad755fd2119c8442a34efbd2",
    "null": "4bf6088f6f9d018ce6d903eec8c0be7b",
    "beside": "e238c2910167e06661eb1ed5bd31deff",
    "Simulated.V1-pls": "a2eca1eb11d58bf6ce233c03e7c6e15d",
    "Simulated.V1-cka": "c8f87911f3b2beb39df867da384a2658",
    "MajajHong2015public.IT-pls": "4ca3c777601d7dd61521398dd1dab00c",
    "Rajalingham2018-i2n": "2bff356ec92e0cd0fa12badbea1e68c0",
    "Kar2019-ost": "a58003ec69f4e5cfbc1d4a583d7d38e8",
}


@pytest.mark.slow
@pytest.mark.parametrize("python", INTERPRETERS)
def test_ten_things_on_every_python(python):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "random"}
    command = [python, "-m", "tests.support.fixed_things"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == THINGS


def test_the_keys_of_ten_jobs(monkeypatch):
    """Those of one version of bsjax's source and of a model, which have tests of their own."""
    monkeypatch.setattr(cells, "own_source", lambda *folders: "source")
    options = {
        "in batches": Options.of({"batch_size": 8}),
        "in a budget": Options.of({"memory": "2GB", "ahead": ("conv1",)}),
        "draws": Options.of(beside=Beside.of("stimuli", None, False)),
        "null": Options.of(beside=Beside.of(None, 99, False)),
        "beside": Options.of(beside=Beside.of(None, None, ["pixels"])),
    }
    jobs = {name: Job("pixels", "Simulated.V1-pls", each) for name, each in options.items()}
    jobs |= {benchmark: Job("pixels", benchmark) for benchmark in JOBS if benchmark not in options}
    keys = {name: cells.cell_of(job, "content") for name, job in jobs.items()}
    assert keys == JOBS
    assert keys["in batches"] == keys["in a budget"] == keys["Simulated.V1-pls"] and len({*keys.values()}) == 8
