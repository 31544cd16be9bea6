import pytest

from bsjax.labelled import Provenance
from bsjax.leaderboard.origins import Documents, Origins, layers_of
from bsjax.results import ResultStore
from tests.support import paired_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with ResultStore(tmp_path_factory.mktemp("origins") / "results.db") as store:
        paired_store.fill(store)
        yield store


def test_documents_say_what_the_scores_do(store):
    keys = store.frame(latest=False)["key"].tolist()
    found = dict(Documents(store).of(keys))
    assert set(found) == set(keys)
    for key, said in found.items():
        score = store.score(key, raw_values=False)
        assert Provenance.from_dict(said["provenance"]) == score.provenance
        assert (said["value"], said["error"]) == (score.value, score.error)
        assert layers_of(said) == {region: tuple(names) for region, names in score.provenance.layers.items()}


def test_keys_that_are_no_scores_are_left_out(store):
    failure = store.add_failure("pixels", "Doe2026-pls", "no data")
    assert list(Documents(store).of([failure, "0" * 32])) == []


def test_a_damaged_store_is_named(tmp_path):
    from sqlalchemy import delete

    from bsjax.results import tables

    with ResultStore(tmp_path / "results.db") as store:
        paired_store.fill(store)
        keys = store.frame()["key"].tolist()
        with store.writing() as connection:
            connection.execute(delete(tables.shared_parts))
        with pytest.raises(ValueError, match="the store is damaged"):
            list(Documents(store).of(keys))


def test_origins_count_what_scores_were_made_from(store):
    rows = store.frame(paired_store.PROFILED)
    origins = Origins()
    for _, said in Documents(store).of(rows["key"]):
        origins.add(said)
    assert origins.n == len(rows) == 4
    assert origins.layers == {region: {("layer4",): 1} for region in paired_store.REGIONS.values()}
    assert origins.facts["dtype"] == {"float64": 4} and origins.facts["jax"] == {"0.10.2": 4}
    assert origins.facts["digest"] == {f"digest-of-{paired_store.PROFILED}": 4}
    assert origins.started == ("2026-03-01T10:00:00+00:00",) * 2 and origins.seconds == pytest.approx(10)
