"""A browser, and sites of stores: an ordinary one, and one whose names are hostile."""

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.leaderboard import build
from bsjax.results import ResultStore
from tests.support import paired_store

try:
    from tests.support.browser import CHROMIUM, DRIVER, Browser
    from tests.support.browser import browser as opened
except ModuleNotFoundError as error:
    if error.name != "selenium":
        raise
    CHROMIUM = DRIVER = None

BENCHMARKS = {
    "MajajHong2015public.IT-pls": 4,
    "MajajHong2015public.V4-pls": 4,
    "FreemanZiemba2013public.V1-pls": 2,
    "FreemanZiemba2013public.V2-pls": 2,
    "Marques2020_Cavanaugh2002-grating_summation_field": 1,
    "Rajalingham2018public-i2n": 2,
    "Doe2026-odd": 1,
}
"""Benchmarks of the ordinary site, and their versions: published ones, and one that only the store knows."""

MODELS = ["alexnet", "hmax", "pixels", "resnet50", "torchvision:vgg16@features.30"]
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked=1'>",
    "</script><script>window.hacked=1</script>",
    "{{ 7 * 7 }} & 'quotes' \"double\"",
    "../../x",
    "..\\..\\x",
    "/etc/passwd",
    "\u202eright to left",
    "עברית",
    "🧠🐒",
    "x" * 300,
    "=1+1",
    "case",
    "CASE",
    "two\nlines",
    "half \ud800",
    "__proto__",
    "constructor",
]


def scored(model: str, benchmark: str, value: float, error: float | None = 0.02, **more) -> Score:
    """A score with a ceiling and, where it has an error, an interval."""
    version = BENCHMARKS.get(benchmark, 1)
    provenance = {"model": model, "model_digest": f"sha256:{len(model)}", "benchmark": benchmark}
    provenance |= {"benchmark_version": version, "start": "2026-08-01T12:00:00+00:00", "dtype": "float64", **more}
    uncertainty = None if error is None else Uncertainty(("stimuli",), 1.5 * error, "jackknife of 10 groups", dof=9)
    ceiling, unceiled = Score(0.8, error=0.01, formula="2r/(1+r)"), Score(0.7 * value, error=error, formula="r")
    return Score(
        value,
        error=error,
        formula="r²/c",
        ceiling=ceiling,
        unceiled=unceiled,
        uncertainty=uncertainty,
        provenance=provenance,
    )


def words_of(page: Path) -> str:
    """What can be read on a page before any script has run."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.read_text(encoding="utf-8"))).split())


def fill_ordinary(store: ResultStore) -> None:
    """Scores of five models: ties, and cells that are missing, failed, undefined and not applicable."""
    rng = np.random.default_rng(0)
    for model in MODELS:
        facts = {"visual_degrees": 8.0, "parameters": 1000 * len(model)}
        if model == "pixels":
            facts["region_layer_map"] = {"V1": ["pixels"]}
        for benchmark in BENCHMARKS:
            value = float(rng.uniform(0.1, 0.9))
            if model == "pixels" and "V4" in benchmark:
                continue  # it has no layer for that: not applicable
            if model == "hmax" and "V2" in benchmark:
                continue  # missing
            if model == "alexnet" and "V2" in benchmark:
                store.add_failure(model, benchmark, MemoryError("the machine has too little memory"))
            elif model == "resnet50" and "Cavanaugh" in benchmark:
                store.add(scored(model, benchmark, np.nan, None, reason="no unit of the model responds"))
            elif benchmark == "Doe2026-odd":
                store.add(scored(model, benchmark, 0.5, None if model == "hmax" else 0.01), facts=facts)
            else:
                store.add(scored(model, benchmark, value, float(rng.uniform(0.005, 0.05))), facts=facts)
    earlier = scored("alexnet", "Rajalingham2018public-i2n", 0.2, start="2026-07-01T12:00:00+00:00")
    store.add(earlier)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all tests, at the width of a desktop."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium, chromedriver or selenium is not installed")
    folder = tmp_path_factory.mktemp("downloads")
    with opened(folder) as found:
        found.downloads = folder
        yield found


@pytest.fixture
def page(browser) -> "Browser":
    """The browser as each test finds it: light, as wide as a desktop, with nothing logged and nothing kept."""
    browser.get("about:blank")
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    browser.prefer("light")
    browser.resize(1280)
    browser.messages(), browser.requests()
    for path in browser.downloads.iterdir():
        path.unlink()
    return browser


def drawn_rows(page: "Browser", table: str, text: str = "textContent") -> list[list[str]]:
    """The cells of the body of a table, once the chart beside it is drawn."""
    page.wait("document.querySelector('#chart .main-svg')")
    rows = f"[...document.querySelectorAll('{table} tbody tr')].map((row) => [...row.cells]"
    return page.execute_script(f"return {rows}.map((cell) => cell.{text}))")


def downloaded(page: "Browser", suffix: str) -> str:
    """The text of a file that the page hands out, once it is there."""
    for _ in range(1500):
        found = [path for path in page.downloads.iterdir() if path.suffix == suffix]
        if found and found[0].stat().st_size:
            return found[0].read_bytes().decode("utf-8-sig")
        time.sleep(0.02)
    raise AssertionError("nothing was downloaded")


@pytest.fixture
def store(tmp_path) -> Iterator[ResultStore]:
    with ResultStore(tmp_path / "results.db") as made:
        yield made


@pytest.fixture(scope="session")
def ordinary_store(tmp_path_factory) -> ResultStore:
    store = ResultStore(tmp_path_factory.mktemp("ordinary") / "results.db")
    fill_ordinary(store)
    return store


@pytest.fixture(scope="session")
def ordinary_site(ordinary_store, tmp_path_factory) -> Path:
    return build(ordinary_store, tmp_path_factory.mktemp("sites") / "ordinary", title="Lab & friends").folder


@pytest.fixture(scope="session")
def paired(tmp_path_factory) -> ResultStore:
    """A store whose scores have draws and raw values."""
    store = ResultStore(tmp_path_factory.mktemp("paired") / "results.db")
    paired_store.fill(store)
    return store


@pytest.fixture(scope="session")
def paired_site(paired, tmp_path_factory) -> Path:
    return build(paired, tmp_path_factory.mktemp("sites") / "paired").folder


@pytest.fixture(scope="session")
def hostile_store(tmp_path_factory) -> ResultStore:
    """Each hostile name is that of a model and of a benchmark, and of why a pair failed."""
    store = ResultStore(tmp_path_factory.mktemp("hostile") / "results.db")
    for number, name in enumerate(HOSTILE):
        store.add(scored(name, HOSTILE[0], number / 20))
        store.add(scored(HOSTILE[0], name, number / 30, parent="<b>above</b>"))
        store.add_failure(name, HOSTILE[3], ValueError(name))
    return store


@pytest.fixture(scope="session")
def hostile_site(hostile_store, tmp_path_factory) -> Path:
    return build(hostile_store, tmp_path_factory.mktemp("sites") / "hostile", title=HOSTILE[0]).folder
