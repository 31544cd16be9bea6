import pytest

from bsjax.leaderboard.origins import Origins
from bsjax.results import ResultStore
from bsjax.results.reading import read_documents
from tests.support import paired_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with ResultStore(tmp_path_factory.mktemp("origins") / "results.db") as store:
        paired_store.fill(store)
        yield store


def test_origins_count_what_scores_were_made_from(store):
    rows = store.frame(paired_store.PROFILED)
    origins = Origins()
    for _, said in read_documents(store, rows["key"]):
        origins.add(said)
    assert origins.n == len(rows) == 4
    assert origins.layers == {region: {("layer4",): 1} for region in paired_store.REGIONS.values()}
    assert origins.facts["dtype"] == {"float64": 4} and origins.facts["jax"] == {"0.10.2": 4}
    assert origins.facts["digest"] == {f"digest-of-{paired_store.PROFILED}": 4}
    assert origins.started == ("2026-03-01T10:00:00+00:00",) * 2 and origins.seconds == pytest.approx(10)
