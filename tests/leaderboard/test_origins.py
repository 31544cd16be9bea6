import pytest

from bsjax import Score
from bsjax.labelled import Provenance
from bsjax.leaderboard import build
from bsjax.leaderboard.origins import Origins
from bsjax.leaderboard.records import slug
from bsjax.results.reading import read_documents
from tests.leaderboard.conftest import words_of
from tests.support import paired_store


def of(alpha, splits=7):
    made = Provenance(metric="ridge", settings={"alpha": alpha}, seeds={"random_state": 1})
    ceiling = Score(0.8, provenance=Provenance(metric="internal_consistency", settings={"splits": splits}))
    return Score(0.5, provenance=made, ceiling=ceiling)


def test_the_pages_have_the_settings_of_metric_and_ceiling(store, tmp_path):
    for model, alpha in {"one": 1.0, "two": 1.0, "three": 1e4}.items():
        store.add(of(alpha), model=model, benchmark="Doe2026-ridge")
    store.add(Score(0.2), model="one", benchmark="Doe2026-old")
    site = build(store, tmp_path / "site").folder
    benchmark, old, model = (
        words_of(site / page)
        for page in (
            f"benchmarks/{slug('Doe2026-ridge')}.html",
            f"benchmarks/{slug('Doe2026-old')}.html",
            f"models/{slug('three')}.html",
        )
    )
    ridge, ceiling = (
        "ridge (alpha = {}, random_state = 1)",
        "ceiling and its settings internal_consistency (splits = 7)",
    )
    assert f"metric and its settings {ridge.format(1)} (2 of 3 scores); {ridge.format(10000)} (1 of 3" in benchmark
    assert ceiling in benchmark and "its settings" not in old
    assert f"metric and its settings {ridge.format(10000)} {ceiling}" in model


def test_origins_count_what_scores_were_made_from(paired):
    rows = paired.frame(paired_store.PROFILED)
    origins = Origins()
    for _, said in read_documents(paired, rows["key"]):
        origins.add(said)
    assert origins.n == len(rows) == 4
    assert origins.layers == {region: {("layer4",): 1} for region in paired_store.REGIONS.values()}
    assert origins.facts["dtype"] == {"float64": 4} and origins.facts["jax"] == {"0.10.2": 4}
    assert origins.facts["digest"] == {f"digest-of-{paired_store.PROFILED}": 4}
    assert origins.started == ("2026-03-01T10:00:00+00:00",) * 2 and origins.seconds == pytest.approx(10)
