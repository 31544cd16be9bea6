"""Scores read many at a time, beside each read by itself."""

import pytest

from bsjax.labelled import Provenance
from bsjax.results import ResultStore, database
from bsjax.results.reading import having_values, read_documents, read_scores
from tests.support import paired_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with ResultStore(tmp_path_factory.mktemp("reading") / "results.db") as store:
        paired_store.fill(store)
        yield store


@pytest.fixture(scope="module")
def keys(store):
    return store.frame(latest=False)["key"].tolist()


def test_documents_say_what_the_scores_do(store, keys):
    found = dict(read_documents(store, keys))
    assert set(found) == set(keys)
    for key, said in found.items():
        score = store.score(key, raw_values=False)
        assert Provenance.from_dict(said["provenance"]) == score.provenance
        assert (said["value"], said["error"]) == (score.value, score.error)


def test_scores_are_those_that_are_read_one_by_one(store, keys):
    found = dict(read_scores(store, keys))
    assert found == {key: store.score(key) for key in keys}
    drawn = {
        key for key, score in found.items() if score.uncertainty is not None and score.uncertainty.draws is not None
    }
    having = {key for key, score in found.items() if score.raw is not None} | drawn
    assert set(having_values(store, keys)) == having < set(keys)


def test_more_keys_than_are_asked_for_at_once(store, keys, monkeypatch):
    wanted = keys[::2]
    few = dict(read_scores(store, wanted)), sorted(having_values(store, wanted))
    monkeypatch.setattr(database, "_ASKABLE", 2)
    assert (dict(read_scores(store, wanted)), sorted(having_values(store, wanted))) == few
