import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys

from bsjax.inference.comparison import compare
from bsjax.leaderboard.encoding import shown
from tests.leaderboard.conftest import drawn_rows
from tests.support.paired_store import ALONE, BY_NEUROID, DRAWN

pytestmark = pytest.mark.slow


VIEW = "model=hmax&model=resnet50"


def shown_rows(page):
    return {cells[0]: cells[1:] for cells in drawn_rows(page, "#numbers", "innerText")}


def difference(value, low, high):
    return f"{'+' if value > 0 else ''}{shown(value)} [{shown(low)}, {shown(high)}]" + (
        " differs" if low > 0 or high < 0 else ""
    )


def test_scores_are_those_of_the_store(page, paired_site, paired):
    page.show(paired_site / "compare.html", VIEW)
    rows = shown_rows(page)
    for _, stored in paired.frame(["hmax", "resnet50"]).iterrows():
        cell = rows[stored["benchmark"]][["hmax", "resnet50"].index(stored["model"])]
        assert cell == f"{shown(stored['score'])} [{shown(stored['low'])}, {shown(stored['high'])}]"


def test_paired_differences_are_those_of_the_comparison_of_the_scores(page, paired_site, paired):
    keys = paired.frame(benchmarks=BY_NEUROID).set_index("model")["key"]
    # All models at once, as the pairing of draws and units is that of all.
    pair = compare({model: paired.score(key) for model, key in keys.items()}).table.set_index(["model", "other"])
    row = pair.loc[("resnet50", "hmax")]
    page.show(paired_site / "compare.html", VIEW)
    lines = shown_rows(page)[BY_NEUROID][2].split("\n")
    assert difference(row["difference"], row["low"], row["high"]) in lines and "independent errors" in lines
    assert any(line.startswith("paired over") for line in lines)
    # The other way round, all is turned.
    page.show(paired_site / "compare.html", "model=resnet50&model=hmax")
    assert difference(-row["difference"], -row["high"], -row["low"]) in shown_rows(page)[BY_NEUROID][2].split("\n")


def test_other_differences_are_by_independent_errors(page, paired_site, paired):
    scores = paired.frame(["hmax", "resnet50"], ALONE).set_index("model")
    # The error that averages take: that of an interval, where it is wider.
    errors = np.fmax(scores["error"], (scores["high"] - scores["low"]) / 2 / 1.959963984540054)
    value, reach = scores["score"]["resnet50"] - scores["score"]["hmax"], 1.959963984540054 * np.hypot(*errors)
    page.show(paired_site / "compare.html", VIEW)
    assert shown_rows(page)[ALONE][2].split("\n") == [
        difference(value, value - reach, value + reach),
        "independent errors",
    ]


def test_models_are_chosen_and_the_address_keeps_the_view(page, paired_site):
    page.show(paired_site / "compare.html")
    # It opens on the two best.
    chosen = "[...document.querySelectorAll('#chosen bdi')].map((name) => name.textContent)"
    assert len(page.execute_script(f"return {chosen}")) == 2
    page.execute_script("for (const each of [1, 2]) document.querySelector('#chosen button').click()")
    assert page.wait("document.getElementById('status').textContent") == "Choose two or more models."
    # By keyboard alone.
    page.execute_script("document.getElementById('add').focus()")
    ActionChains(page).send_keys("alexnet", Keys.ENTER).pause(0.1).send_keys("pixels", Keys.ENTER).perform()
    page.wait("document.querySelectorAll('#chosen li').length === 2")
    ActionChains(page).send_keys("nobody", Keys.ENTER).perform()
    assert page.wait("document.getElementById('status').textContent") == "There is no model nobody."
    for script in (
        "under.selectedIndex = [...under.options].findIndex((one) => one.text.trim() === 'IT')",
        "shown.value = 'benchmarks'",
    ):
        name = script.split(".")[0]
        page.execute_script(
            f"const {name} = document.getElementById('{name}'); {script}; {name}.dispatchEvent(new Event('change'))"
        )
    assert list(shown_rows(page)) == [DRAWN]
    view = page.execute_script("return location.hash.slice(1)")
    before = shown_rows(page)
    page.show(paired_site / "compare.html", view)
    assert shown_rows(page) == before
    page.execute_script("document.querySelector('#chosen button').click()")
    assert page.execute_script(
        "return [...document.querySelectorAll('#chosen bdi')].map((name) => name.textContent)"
    ) == ["pixels"]
