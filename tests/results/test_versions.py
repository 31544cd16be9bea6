"""A store says the version of its tables; what an earlier version exported is imported."""

import json

import pytest
import sqlalchemy as sa

from bsjax import Score
from bsjax.results import ResultStore
from bsjax.results.exchange import Imported, import_scores
from tests.support.paths import REPOSITORY

EXPORTED = REPOSITORY / "tests" / "results" / "stores" / "exported-0002.json"


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        ("0004", "`bsjax results export all.json --all --scores`, .*`bsjax results import"),
        ("9999", "a later bsjax has written it: pip install --upgrade bsjax"),
    ],
)
def test_a_store_of_another_version_says_how_it_is_read_and_stays(place, store, version, advice):
    store.add(Score(0.5, provenance={"model": "m", "benchmark": "b"}))
    with store.writing() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{version}'"))
    for read_only in (False, True):
        with pytest.raises(ValueError, match=f"is of version {version}, and this bsjax reads 0005: .*{advice}"):
            ResultStore(place, read_only=read_only)
    assert len(store.frame()) == 1


def test_what_an_earlier_version_exported_is_read_whole(store):
    rows = {row["key"]: row for row in json.loads(EXPORTED.read_bytes())["scores"]}
    n_scores = sum(row["score"] is not None for row in rows.values())
    assert import_scores(store, EXPORTED) == Imported(new=n_scores, failures=1)
    assert import_scores(store, EXPORTED) == Imported(known=n_scores)
    # What was kept without its raw values is another score now; all else has the key that it had.
    without = rows.keys() - set(store.frame(latest=False)["key"])
    assert [rows[key]["benchmark"] for key in without] == ["Simulated.V1-rdm"]


def test_a_store_that_does_not_say_its_version_is_damaged(place, store):
    with store.writing() as connection:
        connection.execute(sa.text("DELETE FROM alembic_version"))
    with pytest.raises(ValueError, match="the store of results at .* is damaged: it does not say its version"):
        ResultStore(place)
    store.close()
