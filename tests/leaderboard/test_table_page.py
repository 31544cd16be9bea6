"""The table in a browser, from files, with the network off."""

import csv
import io
import re

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bsjax.leaderboard import build
from bsjax.leaderboard.ranking import ranks_over_benchmarks
from bsjax.leaderboard.records import records
from bsjax.leaderboard.table_page import leaf_scores
from bsjax.results.aggregation import aggregate
from tests.leaderboard.conftest import HOSTILE, MODELS, downloaded, scored

READY = "document.getElementById('table').dataset.ready !== undefined"
IT, V4 = "MajajHong2015public.IT-pls", "MajajHong2015public.V4-pls"


@pytest.fixture
def table(page, ordinary_site):
    """The page with its table drawn; whatever a test does, nothing is refused and nothing asked of others."""
    show(page, ordinary_site)
    yield page
    assert page.messages() == []
    assert [address for address in page.requests() if not re.match("file:|blob:|data:|chrome:|about:", address)] == []


def show(page, site, view=""):
    page.show(site / "index.html", view)
    page.wait(READY)


def cells(page):
    """The table as it is drawn: the head, and the rows as text."""
    return page.execute_script(
        "const text = (cell) => cell.innerText.replace(/\\s+/g, ' ').trim();"
        "const rows = [...document.querySelectorAll('#table thead tr, #table .rows tr')];"
        "return rows.map((row) => [...row.cells].map(text))"
    )


def names(page):
    return [row[0] for row in cells(page)[1:]]


def columns(page):
    return page.execute_script(
        "return [...document.querySelectorAll('#table thead .sort')].slice(1).map((each) => each.title)"
    )


def press(page, selector):
    page.find_element(By.CSS_SELECTOR, selector).click()


def open_own(page):
    """Open the list of columns and weights, which is drawn by an event that comes after the click."""
    press(page, "#own summary")
    page.wait("document.getElementById('own-list').children.length")


def sort(page, title):
    press(page, f'#table thead .sort[title="{title}"]')


def choose(page, name, value):
    page.execute_script(
        "const each = document.getElementById(arguments[0]);"
        "each.value = arguments[1]; each.dispatchEvent(new Event('input'))",
        name,
        value,
    )


def scores(page):
    """What the page has worked out: column -> (nodes x models)."""
    found = page.execute_script(
        "const found = bsjax.view.scores(bsjax.view.read());"
        "const plain = (of) => [...of].map((x) => Number.isNaN(x) ? null : x);"
        "return {score: plain(found.score), error: plain(found.error), state: [...found.state]}"
    )
    return {name: np.array(values, float).reshape(-1, len(MODELS)) for name, values in found.items()}


@pytest.mark.parametrize("how", ["available", "website"])
def test_the_table_is_there_with_averages_and_ranks(table, ordinary_site, ordinary_store, how):
    show(table, ordinary_site, f"how={how}")
    read = records(ordinary_store, how=how)
    ranked = np.argsort(np.argsort(-read.averages["score"][0])) + 1
    bounds = np.concatenate(
        [ranked[:, None], ranks_over_benchmarks(*leaf_scores(read), read.averages["score"][0])], axis=1
    )
    head, *rows = cells(table)
    assert head[2].startswith("average_ vision") or head[2].startswith("average_vision")
    order = np.argsort(bounds[:, 0])
    assert [row[0] for row in rows] == [MODELS[number] for number in order]
    for row, number in zip(rows, order, strict=True):
        rank, best, worst, tied = bounds[number]
        assert row[1] == f"{rank}{'≈' * tied} ({best}–{worst})"
        assert row[2].startswith(f"{read.averages['score'][0, number]:.3f}")
    assert "5 of 5 models, 7 of 7 benchmarks" in table.find_element(By.ID, "said").text


@pytest.mark.slow
def test_the_table_of_a_past_day(page, store, tmp_path):
    for month, model, value, version in [(5, "a", 0.1, 1), (6, "b", 0.2, 1), (7, "a", 0.3, 1), (8, "b", 0.4, 2)]:
        start = f"2026-0{month}-01T12:00:00+00:00"
        store.add(scored(model, "Doe2026-odd", value, start=start, benchmark_version=version))
    site = build(store, tmp_path / "site").folder
    days = {
        "2026-04-30": [],
        "2026-05-01": [["a", "0.100"]],
        "2026-06-15": [["b", "0.200"], ["a", "0.100"]],
        "2026-07-15": [["a", "0.300"], ["b", "0.200"]],
        "2026-09-01": [["b", "0.400"]],  # of the version before there is no score in the table of today
        "": [["b", "0.400"]],
    }
    for day, expected in days.items():
        show(page, site, f"until={day}")
        assert [[row[0], row[2]] for row in cells(page)[1:]] == expected, day


@pytest.mark.slow
def test_sorting_by_any_column_and_back(table):
    sort(table, "Doe2026-odd")
    # All are the same: they share the rank, and are in the order of their names.
    assert names(table) == MODELS and all(row[1].startswith("1=") for row in cells(table)[1:])
    sort(table, "FreemanZiemba2013public.V2-pls")
    values = [row[-1] for row in cells(table)[1:]]
    numbers = [float(value) for value in values if value[0] == "0"]
    assert numbers == sorted(numbers, reverse=True) and values[-2:] == ["failed", "missing"]
    sort(table, "FreemanZiemba2013public.V2-pls")
    values = [row[-1] for row in cells(table)[1:]]
    assert [float(value) for value in values[:3]] == sorted(numbers) and values[-2:] == ["failed", "missing"]
    press(table, "#table thead .name .sort")
    assert names(table) == MODELS
    assert table.find_element(By.CSS_SELECTOR, "#table thead .name").get_attribute("aria-sort") == "ascending"
    press(table, "#table thead .name .sort")
    assert names(table) == MODELS[::-1]


@pytest.mark.slow
def test_columns_open_and_shut(table):
    before = columns(table)
    assert {"neural_vision", "V1", "V4", "IT", "behavior_vision"} <= set(before) and IT not in before
    button = '//button[.//span[contains(., "below neural_vision")]]'
    for shut in (True, False):
        table.find_element(By.XPATH, button).click()
        assert ("V1" in columns(table)) == ("shut=neural_vision" not in table.current_url) == (not shut)
    assert columns(table) == before
    press(table, "#collapse")
    assert "neural_vision" not in columns(table) and "average_vision" in columns(table)


def test_filters_of_models(table):
    choose(table, "model", "NET")
    assert set(names(table)) == {"alexnet", "resnet50"}
    assert "2 of 5 models" in table.find_element(By.ID, "said").text
    choose(table, "model", "")
    choose(table, "model-family", "torchvision")
    assert names(table) == [MODELS[-1]]
    choose(table, "model-family", "")
    press(table, "#complete")
    assert names(table) == ["torchvision:vgg16@features.30"]


@pytest.mark.slow
def test_filters_of_benchmarks_take_them_out_of_the_averages(table, ordinary_store):
    read = records(ordinary_store)
    for name, value, kept in (
        ("region", "IT", lambda node: node.facts.get("region") == "IT"),
        ("species", "macaque", lambda node: node.facts.get("species") == "macaque"),
        ("modality", "behaviour", lambda node: node.facts.get("modality") == "behaviour"),
        ("family", "MajajHong2015", lambda node: node.family == "MajajHong2015"),
        ("benchmark", "v4", lambda node: "V4" in node.identifier),
    ):
        choose(table, name, value)
        leaves = [node.identifier for node in read.leaves if kept(node)]
        assert leaves and f"{len(leaves)} of 7 benchmarks" in table.find_element(By.ID, "said").text
        cut = read.tree.only(leaves)
        frame = ordinary_store.frame()
        expected = aggregate(frame[frame["benchmark"].isin(leaves)], cut).set_index(["benchmark", "model"])["score"]
        found = scores(table)["score"]
        for number, node in enumerate(read.nodes):
            for place, model in enumerate(MODELS):
                np.testing.assert_equal(found[number, place], expected.get((node.identifier, model), np.nan))
        choose(table, name, "")
    press(table, "#public")
    public = sum(node.public is True for node in read.leaves)
    assert 0 < public < 7 and f"{public} of 7 benchmarks" in table.find_element(By.ID, "said").text


@pytest.mark.slow
def test_cells_without_a_number_look_different_and_say_why(table, ordinary_site):
    show(table, ordinary_site, "open=neural_vision&open=V1&open=V4&open=Marques2020")
    looks, why = {}, {}
    for kind in ("missing", "failed", "undefined", "inapplicable"):
        cell = table.find_element(By.CSS_SELECTOR, f"#table td.{kind}")
        looks[kind] = (cell.text, cell.value_of_css_property("color"), cell.value_of_css_property("font-style"))
        table.execute_script("arguments[0].focus()", cell)
        why[kind] = table.find_element(By.ID, "tip").text
        assert cell.get_attribute("aria-describedby") == "tip"
    assert len(set(looks.values())) == 4
    assert "too little memory" in why["failed"] or "failed" in why["failed"]
    assert "not scored yet" in why["missing"]
    assert "not applicable" in why["inapplicable"] and "undefined" in why["undefined"]


def test_each_number_has_its_error_and_interval_on_focus_and_in_the_cell(table, ordinary_store):
    frame = ordinary_store.frame("pixels", "FreemanZiemba2013public.V2-pls").iloc[0]
    cell = table.execute_script(
        "const rows = [...document.querySelectorAll('#table .rows tr')];"
        "return rows.find((row) => row.innerText.startsWith('pixels')).lastChild"
    )
    table.execute_script("arguments[0].focus()", cell)
    words = table.find_element(By.ID, "tip").text
    assert f"score {float(frame['score'])!r}" in words and f"error {frame['error']:.4f}" in words
    assert "t over stimuli" in words
    assert f"{frame['low']:.4f} to {frame['high']:.4f}" in words
    choose(table, "cells", "interval")
    table.execute_script("document.getElementById('scroll').scrollLeft = 1e6")  # to the last column
    wanted = f"{frame['score']:.3f} {frame['low']:.3f}–{frame['high']:.3f}"
    table.wait(f"document.querySelector('#table').innerText.replace(/\\s+/g, ' ').includes('{wanted}')")
    assert wanted in next(row for row in cells(table) if row[0] == "pixels")


@pytest.mark.slow
def test_columns_and_weights_of_ones_own_change_scores_and_ranks(table, ordinary_store):
    open_own(table)
    weight = table.find_element(By.CSS_SELECTOR, '[aria-label="Weight of behavior_vision"]')
    weight.send_keys(Keys.CONTROL, "a")
    weight.send_keys("0.25")
    read = records(ordinary_store)
    expected = aggregate(ordinary_store.frame(), read.tree, weights={"behavior_vision": 0.25})
    of_first = expected[expected["benchmark"] == "average_vision"].set_index("model")["score"]
    assert names(table) == of_first.sort_values(ascending=False).index.tolist()
    np.testing.assert_array_equal(scores(table)["score"].T.ravel(), expected["score"])
    assert "weight=0.25*behavior_vision" in table.current_url
    weight.send_keys("x-")
    assert weight.get_attribute("aria-invalid") == "true"
    press(table, f'[aria-label="Show {IT}"]')
    press(table, '[aria-label="Show neural_vision"]')
    assert IT in columns(table) and "neural_vision" not in columns(table)
    press(table, "#own-reset")
    assert "weight" not in table.current_url


@pytest.mark.slow
def test_a_link_shows_the_same_view(table, ordinary_site):
    open_own(table)
    press(table, f'[aria-label="Show {IT}"]')
    choose(table, "cells", "error")
    choose(table, "how", "website")
    choose(table, "model", "e")
    sort(table, IT)
    sort(table, IT)
    seen, address = cells(table), table.current_url
    table.get("about:blank")
    table.get(address)
    table.wait(READY)
    assert cells(table) == seen and table.current_url == address
    # Also where the page is there already, as by a link in a text.
    table.execute_script("location.hash = ''")
    table.wait("document.getElementById('model').value === ''")
    table.execute_script("location.hash = arguments[0]", address.partition("#")[2])
    table.wait("document.getElementById('model').value === 'e'")
    assert cells(table) == seen
    press(table, "#reset")
    assert "#" not in table.current_url.rstrip("#") and len(names(table)) == 5


def test_an_address_that_is_wrong_shows_what_it_can(table, ordinary_site):
    show(table, ordinary_site, "sort=nobody&weight=-1*V1&weight=x&how=magic&cells=&open=__proto__&region=Mars&%FF=1")
    assert columns(table) == [] and "0 of 7 benchmarks" in table.find_element(By.ID, "said").text
    press(table, "#reset")
    assert len(names(table)) == 5 and "average_vision" in columns(table)


def as_csv(page):
    press(page, "#download")
    return list(csv.reader(io.StringIO(downloaded(page, ".csv"), newline="")))


@pytest.mark.slow
def test_csv_is_just_that_view_with_all_digits(table, ordinary_store):
    choose(table, "model", "net")
    choose(table, "cells", "error")
    sort(table, "FreemanZiemba2013public.V1-pls")
    head, *rows = as_csv(table)
    shown_columns = columns(table)
    assert head == ["model", "family", "rank", "best rank", "worst rank"] + [
        name for column in shown_columns for name in (column, f"{column} error")
    ]
    assert [row[0] for row in rows] == names(table)
    expected = aggregate(ordinary_store.frame(), records(ordinary_store).tree).set_index(["model", "benchmark"])
    for row in rows:
        for column, text, error in zip(shown_columns, row[5::2], row[6::2], strict=True):
            one = expected.loc[(row[0], column)]
            assert (text == "") == np.isnan(one["score"]) and (not text or float(text) == one["score"])
            assert (error == "") == np.isnan(one["error"]) and (not error or float(error) == one["error"])


def focused(page):
    return page.execute_script("return document.activeElement.innerText.replace(/\\s+/g, ' ').trim()")


@pytest.mark.slow
def test_the_table_works_by_keyboard_alone(table):
    def keys(*pressed):
        for key in pressed:
            table.switch_to.active_element.send_keys(key)

    first = names(table)[0]
    # From the last control before the table, one Tab to what scrolls, and one into the table.
    table.execute_script("document.getElementById('scroll').focus()")
    keys(Keys.TAB)
    assert focused(table) == "Model"
    keys(Keys.ARROW_DOWN)
    assert focused(table) == first
    keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert table.find_element(By.ID, "tip").text.startswith("average_vision of")
    keys(Keys.ESCAPE)
    assert not table.find_element(By.ID, "tip").is_displayed()
    keys(Keys.END)
    assert table.find_element(By.ID, "tip").text.startswith("FreemanZiemba2013public.V2-pls")
    keys(Keys.CONTROL + Keys.END, Keys.HOME)
    assert focused(table) == names(table)[-1]
    keys(Keys.CONTROL + Keys.HOME, Keys.ARROW_UP)
    assert focused(table) == "Model"
    keys(Keys.ARROW_RIGHT, Keys.ENTER)  # sorts by average_vision again: lowest first
    assert "lowest first" in table.find_element(By.ID, "said").text
    assert table.switch_to.active_element.get_attribute("title") == "average_vision"
    keys(Keys.ARROW_RIGHT, Keys.ENTER)  # shuts it
    assert "neural_vision" not in columns(table)
    keys(Keys.ENTER)
    assert "neural_vision" in columns(table)
    assert table.switch_to.active_element.get_attribute("aria-expanded") == "true"
    keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_DOWN, Keys.ENTER)
    table.wait("location.pathname.includes('/models/')")


@pytest.mark.slow
def test_a_phone_has_the_table_at_once_and_nothing_is_wider_than_it(table, ordinary_site):
    table.resize(390, 844)
    show(table, ordinary_site)
    assert table.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert not table.find_element(By.ID, "model").is_displayed()
    assert table.execute_script("return document.getElementById('scroll').getBoundingClientRect().top < innerHeight")
    press(table, "#filters summary")
    choose(table, "model", "pix")
    assert names(table) == ["pixels"]


@pytest.mark.slow
def test_light_and_dark_follow_the_system_and_the_switch(table, ordinary_site):
    def ground():
        show(table, ordinary_site)
        return table.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = ground()
    table.prefer("dark")
    assert ground() != light
    table.execute_script(
        "const each = document.getElementById('theme'); each.value = 'light'; each.dispatchEvent(new Event('change'))"
    )
    assert ground() == light


@pytest.mark.slow
def test_hostile_names_are_text(page, hostile_site):
    page.resize(1280, 2400)
    show(page, hostile_site)
    texts = page.execute_script(
        "return [...document.querySelectorAll('#table th.name a bdi')].map((each) => each.textContent)"
    )
    shown_names = {name.encode("utf-8", "backslashreplace").decode() for name in HOSTILE}
    assert set(texts) == shown_names
    press(page, "#expand")
    open_own(page)
    listed = page.execute_script(
        "return [...document.querySelectorAll('#own-list bdi')].map((each) => each.textContent)"
    )
    assert shown_names <= set(listed)
    failed = page.find_element(By.CSS_SELECTOR, "#table td.failed")
    page.execute_script("arguments[0].focus()", failed)
    assert page.execute_script("return window.hacked") is None
    assert page.find_elements(By.CSS_SELECTOR, "main img, main script") == []
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.messages() == []
    head, *rows = as_csv(page)
    assert {row[0] for row in rows} == {f"'{name}" if name[0] == "=" else name for name in shown_names}
    # A link with such names shows the same view.
    sort(page, HOSTILE[1].replace('"', '\\"'))
    seen, address = cells(page), page.current_url
    page.get("about:blank")
    page.get(address)
    page.wait(READY)
    assert cells(page) == seen
    press(page, "#table th.name a")
    page.wait("location.pathname.includes('/models/') && document.querySelector('h1') !== null")
    assert page.execute_script("return window.hacked") is None


@pytest.mark.slow
def test_a_printed_page_has_all_rows(page, store, tmp_path):
    for number in range(150):
        store.add(scored(f"model{number}", "Doe2026-odd", number / 150))
    site = build(store, tmp_path / "site").folder
    show(page, site)
    assert len(names(page)) < 80
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert len(names(page)) == 150
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(names(page)) < 80
    page.execute_script("document.getElementById('scroll').scrollTop = 1e6")
    page.wait("document.querySelector('#table tbody.rows tr:last-child').innerText.startsWith('model0')")


def test_without_scripts_there_is_a_list_of_models(ordinary_site):
    text = (ordinary_site / "index.html").read_text()
    plain = text[text.index("<noscript>") : text.index("</noscript>")]
    assert all(f"<bdi>{name}</bdi>" in plain for name in MODELS)
