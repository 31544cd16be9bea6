import re
from html import unescape

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys

from bsjax.leaderboard import build
from bsjax.leaderboard.encoding import shown
from bsjax.leaderboard.records import slug
from bsjax.results.aggregation import aggregate
from bsjax.results.tree import benchmark_tree
from tests.leaderboard.conftest import MODELS, downloaded, scored, words_of
from tests.support import paired_store


def rows_of(site, model):
    """Name -> the other cells, of a page as it is written: no script has run."""
    text = (site / "models" / f"{slug(model)}.html").read_text(encoding="utf-8")
    body = text.partition('id="numbers"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = {}
    for row in re.split(r"<tr[^>]*>", body)[1:]:
        name, *cells = (unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.split(r"<t[hd][^>]*>", row)[1:])
        rows[name] = cells
    return rows


def test_numbers_are_those_of_the_store_without_scripts(ordinary_store, ordinary_site):
    last = ordinary_store.frame()
    tree = benchmark_tree(dict(zip(last["benchmark"], last["parent"], strict=True)))
    tree = tree.only(name for name in tree.leaves() if name in set(last["benchmark"]))
    averages = aggregate(last, tree).set_index(["model", "benchmark"])
    scores = last.set_index(["model", "benchmark"])
    for model in MODELS:
        rows = rows_of(ordinary_site, model)
        assert list(rows) == list(tree.order)
        for name, cells in rows.items():
            average = averages.loc[(model, name)]
            if np.isnan(average["score"]):
                assert len(cells) == 1
                continue
            assert cells[0] == shown(average["score"])
            if tree.children(name):
                assert cells[1] == ("" if np.isnan(average["error"]) else f"±{shown(average['error'])}")
                continue
            score = scores.loc[(model, name)]
            if not np.isnan(score["low"]):
                assert cells[1] == f"{shown(score['low'])} to {shown(score['high'])}"
            assert cells[2:] == [shown(score["raw"]), f"{shown(score['ceiling'])} ±{shown(score['ceiling_error'])}"]


@pytest.mark.parametrize(
    ("model", "benchmark", "said"),
    [
        ("alexnet", "FreemanZiemba2013public.V2-pls", "failed: the machine has too little memory"),
        ("hmax", "FreemanZiemba2013public.V2-pls", "missing"),
        ("pixels", "MajajHong2015public.V4-pls", "not applicable: the model has no layer for V4"),
        ("resnet50", "Marques2020_Cavanaugh2002-grating_summation_field", "undefined: no unit of the model responds"),
    ],
)
def test_what_has_no_score_says_why(ordinary_site, model, benchmark, said):
    assert rows_of(ordinary_site, model)[benchmark] == [said]


@pytest.mark.slow
def test_layers_profile_and_provenance(paired_site):
    plain = words_of(paired_site / "models" / f"{slug(paired_store.PROFILED)}.html")
    assert "IT not stored layer4 (1 score)" in plain
    # The last score of each layer, layer2 before layer10.
    assert f"Layer profile on {paired_store.DRAWN}" in plain
    assert re.search(r"layer2 0\.300 0\.020 layer4 0\.\d{3} 0\.020 layer10 0\.450 0\.020", plain)
    assert "computed in float64" in plain and "jax 0.10.2" in plain
    assert f"digest of weights and code digest-of-{paired_store.PROFILED}" in plain
    assert "computing time 10.0 s in total" in plain
    others = (paired_site / "models" / f"{slug('pixels')}.html").read_text(encoding="utf-8")
    assert "No layer profile: the store has no benchmark" in others


def test_what_the_plugin_requires_is_on_the_card(store, tmp_path):
    store.add(scored("mine", "Doe2026-odd", 0.5), facts={"requires": ["timm>=1.0", "einops"]})
    text = (build(store, tmp_path / "site").folder / "models" / f"{slug('mine')}.html").read_text(encoding="utf-8")
    assert re.search("<dt>requires</dt><dd><bdi>timm&gt;=1.0, einops</bdi></dd>", text)


def test_chart_by_keyboard_and_links(page, ordinary_site):
    page.show(ordinary_site / "models" / f"{slug('pixels')}.html")
    page.wait("document.querySelector('#ceilings .main-svg')")
    rows = {name: cells for name, cells in rows_of(ordinary_site, "pixels").items() if len(cells) == 4}
    drawn = page.execute_script("return document.querySelector('#ceilings .chart').data.map((one) => [...one.x])")
    assert drawn[0] == [float(cells[0]) for cells in rows.values()]
    assert set(drawn[1]) == {1}
    page.execute_script("document.querySelector('#ceilings .chart').focus()")
    ActionChains(page).send_keys(Keys.ARROW_RIGHT).perform()
    first = next(iter(rows))
    said = page.wait("document.querySelector('#ceilings [role=status]').textContent")
    assert said.startswith(f"{first}: {rows[first][0]}")
    assert page.wait("document.querySelector('#ceilings .hoverlayer text')?.textContent").strip("\u2068\u2069") == said
    links = page.execute_script(
        "return [...document.querySelectorAll('#numbers th a')].map((a) => [a.textContent, a.href])"
    )
    assert len(links) == 7
    for name, address in links:
        assert address == (ordinary_site / "benchmarks" / f"{slug(name)}.html").as_uri()


def test_chart_is_saved_as_svg(page, ordinary_site):
    page.show(ordinary_site / "models" / f"{slug('pixels')}.html")
    page.wait("document.querySelector('#ceilings .main-svg')")
    page.execute_script("document.querySelector('#ceilings .save').click()")
    text = downloaded(page, ".svg")
    assert (page.downloads / "scores-and-ceilings.svg").exists()
    assert text.startswith("<svg") and "MajajHong2015public.IT-pls" in text
