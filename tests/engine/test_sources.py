"""Sources that are computed together, and those that are not."""

import jax.numpy as jnp
import numpy as np

from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.programs.compilation import traces
from bsjax.engine.sharding import Shards
from bsjax.engine.sources import of_sources


def scaled(source, by):
    return {"product": source @ by, "sum": jnp.sum(source)}


def sources(*widths, place=jnp.asarray):
    return [place(np.full((3, width), number, np.float32)) for number, width in enumerate(widths)]


def test_results_are_those_of_each_source():
    for place in (jnp.asarray, np.asarray):
        found = of_sources(scaled, sources(2, 2, 2, place=place), [np.ones(2, np.float32)], Shards((None, None)))
        assert [one["sum"].item() for one in found] == [0, 6, 12]
        assert all(one["product"].shape == (3,) for one in found)


def test_runs_of_one_shape_share_a_call():
    def total(source):
        return jnp.sum(source)

    with traces() as counted:
        found = of_sources(total, sources(2, 2, 5, 2, 2), [], Shards((None,)))
    assert [float(one) for one in found] == [0, 6, 30, 18, 24]
    assert counted == {"_of_each_source": 1, "total": 1}  # the shape of the first two came again


def test_no_more_go_together_than_may_be_held():
    def smallest(source):
        return jnp.min(source)

    with traces() as counted, memory_limit(2 * 3 * 2 * 4):
        of_sources(smallest, sources(2, 2, 2), [], Shards((None,)))
    assert counted == {"_of_each_source": 1, "smallest": 1}
