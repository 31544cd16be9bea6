import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.benchmarks import benchmark_row
from bsjax.leaderboard import build
from bsjax.leaderboard.encoding import shown
from bsjax.leaderboard.records import slug
from tests.leaderboard.conftest import BENCHMARKS, scored, words_of


def text_of(site, benchmark):
    return words_of(site / "benchmarks" / f"{slug(benchmark)}.html")


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if not name.startswith("Doe")])
def test_the_paradigm_is_what_the_benchmark_says_of_itself(ordinary_site, benchmark):
    plain = text_of(ordinary_site, benchmark)
    for heading, words in load_benchmark(benchmark).paradigm()._asdict().items():
        assert f"{heading} {' '.join(words.split())}" in plain
    row = benchmark_row(benchmark)
    assert f"measured {row.species}, {row.modality}" in plain
    assert " ".join(row.bibtex.split()) in plain
    above = f", averaged under average_vision › neural_vision › {row.region}" if row.parent and row.region else ""
    assert f"Version {BENCHMARKS[benchmark]}{above}" in plain
    assert "0.800 ± 0.010" in plain


def test_a_plugins_publication_is_read_and_its_paradigm_is_its_own(store, tmp_path, monkeypatch):
    """Nothing of the plugin is run, and what bsjax has of the same identifier is another benchmark."""
    folder = tmp_path / "plugins" / "benchmarks" / "majajhong2015"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        "from brainscore_vision import benchmark_registry\nraise RuntimeError\n"
        "benchmark_registry['MajajHong2015public.IT-pls'] = 1\n"
    )
    (folder / "benchmark.py").write_text('BIBTEX = "@article{doe, title={On IT}, author={Doe, J.}, year={2026}}"')
    monkeypatch.setenv("BSJAX_PLUGINS", str(tmp_path / "plugins"))
    name = "brainscore:MajajHong2015public.IT-pls"
    store.add(scored("pixels", name, 0.5))
    build(store, tmp_path / "site")
    plain = text_of(tmp_path / "site", name)
    assert "The benchmark comes from a plugin" in plain and "@article{doe, title={On IT}" in plain
    assert "macaque" not in plain


@pytest.mark.slow
def test_sample_stimuli_are_shown_where_that_is_allowed(ordinary_site, page):
    benchmark = "Marques2020_Cavanaugh2002-grating_summation_field"
    page.show(ordinary_site / "benchmarks" / f"{slug(benchmark)}.html")
    images = "[...document.querySelectorAll('.samples img')]"
    widths = page.wait(f"{images}.every((image) => image.complete) && {images}.map((image) => image.naturalWidth)")
    assert widths == [112] * 6
    assert page.execute_script(f"return {images}.every((image) => image.alt)")
    assert "No images are shown: no licence is known" in text_of(ordinary_site, "MajajHong2015public.IT-pls")


@pytest.mark.slow
def test_models_stand_by_their_scores_as_in_the_store(ordinary_site, ordinary_store, page):
    benchmark = "FreemanZiemba2013public.V2-pls"
    page.show(ordinary_site / "benchmarks" / f"{slug(benchmark)}.html")
    page.wait("document.querySelector('#content .main-svg')")
    tables = page.execute_script(
        "return [...document.querySelectorAll('#content table')].map((table) =>"
        " [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )
    rows = ordinary_store.frame(benchmarks=benchmark)
    scored = rows[rows["state"] == "scored"].sort_values("score", ascending=False)
    assert [row[0] for row in tables[0]] == scored["model"].tolist()
    for row, (_, stored) in zip(tables[0], scored.iterrows(), strict=True):
        assert row[2:4] == [shown(stored["score"]), f"{shown(stored['low'])} to {shown(stored['high'])}"]
        assert row[4:] == [stored["interval"], shown(stored["error"])]
    assert tables[1] == [["alexnet", "failed", "the machine has too little memory"]]
    drawn = page.execute_script(
        "const [one] = document.querySelector('.chart').data; return [one.x, one.error_x.array]"
    )
    np.testing.assert_array_equal(drawn[0], scored["score"])
    np.testing.assert_array_equal(drawn[1], scored["high"] - scored["score"])


def test_bibtex_is_copied(ordinary_site, page):
    page.show(ordinary_site / "benchmarks" / f"{slug('MajajHong2015public.IT-pls')}.html")
    page.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.wait("!document.getElementById('copy').hidden")
    page.execute_script("document.getElementById('copy').focus()")
    page.switch_to.active_element.send_keys(" ")
    assert page.wait("document.getElementById('copied').textContent") == "Copied."
    copied = page.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    )
    assert copied == benchmark_row("MajajHong2015public.IT-pls").bibtex.strip()
