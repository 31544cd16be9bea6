"""Requests beside a score, as plain data."""

import json

import pytest

from bsjax import Permutations, Resampling
from bsjax.scoring.job import Beside


@pytest.mark.parametrize(
    "asked",
    [
        Beside(),
        Beside.of(("stimuli", "subjects"), 19, "stimulus-*"),
        Beside.of(Resampling("neuroids", draws=7, seed=3), Permutations(99, seed=5)),
    ],
)
def test_it_survives_json_and_parts_tell_it_from_others(asked):
    again = Beside.from_plain(json.loads(json.dumps(asked.to_plain())))
    assert again == asked and hash(again) == hash(asked) and bool(again) == bool(asked.parts())
    assert again.parts() == asked.parts() != Beside.of("subjects").parts()
