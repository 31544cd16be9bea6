"""axe-core on every kind of page, as each looks after its scripts have run."""

import pytest
from selenium.webdriver import Keys

from bsjax.leaderboard import build
from bsjax.leaderboard.records import slug
from bsjax.results import ResultStore
from tests.support import paired_store
from tests.support.accessibility import violations
from tests.support.paired_store import DRAWN, PROFILED

PAGES = {
    "index.html": "document.querySelector('#table tbody tr')",
    f"models/{slug(PROFILED)}.html": "document.querySelectorAll('.main-svg').length > 2",
    f"benchmarks/{slug('Marques2020_DeValois1982-pref_or')}.html": "document.querySelector('.main-svg')",
    "compare.html#model=hmax&model=pixels&model=resnet50": "document.querySelector('.main-svg')",
    "scatter.html#mark=hmax": "document.querySelector('.main-svg')",
    f"history.html#benchmark={DRAWN}": "document.querySelector('.main-svg')",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ResultStore(tmp_path_factory.mktemp("accessibility") / "results.db") as store:
        paired_store.fill(store)
        origin = {"benchmark": "Marques2020_DeValois1982-pref_or", "model": "hmax"}
        store.add(paired_store.Score(0.4, error=0.05, provenance=origin))
        store.add_failure("pixels", "Marques2020_DeValois1982-pref_or", MemoryError("too little memory"))
        return build(store, tmp_path_factory.mktemp("site") / "accessibility").folder


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_no_rule_is_broken(page, site, address, colours):
    page.prefer(colours)
    if colours == "dark":  # and as narrow as a phone
        page.resize(390)
    path, _, view = address.partition("#")
    page.show(site / path, view)
    page.wait(PAGES[address])
    assert violations(page) == []
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.messages() == []


# The table of the first page has keys of its own, which its tests have.
@pytest.mark.slow
@pytest.mark.parametrize("address", [address for address in PAGES if address != "index.html"])
def test_every_control_is_reached_by_keyboard(page, site, address):
    path, _, view = address.partition("#")
    page.show(site / path, view)
    page.wait(PAGES[address])
    controls = "main button, main select, main input, main a[href], main .chart, main .scroll"
    wanted = page.execute_script(
        "const there = [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility());"
        "there.forEach((one, at) => { one.dataset.number = at; });"
        "document.getElementById('content').focus();"
        "return there.length",
        controls,
    )
    reached = set()
    for _ in range(2 * wanted + 5):
        page.switch_to.active_element.send_keys(Keys.TAB)
        number = page.execute_script("return document.activeElement.dataset.number ?? null")
        if number is not None:
            reached.add(int(number))
        if len(reached) == wanted:
            break
    assert reached == set(range(wanted)) and wanted
