import numpy as np
import pytest
from scipy import stats
from selenium.webdriver import ActionChains, Keys

from bsjax.leaderboard.encoding import shown
from tests.leaderboard.conftest import drawn_rows

pytestmark = pytest.mark.slow


X, Y = "MajajHong2015public.IT-pls", "FreemanZiemba2013public.V1-pls"


def test_points_and_correlations_are_those_of_the_store(page, ordinary_store, ordinary_site):
    page.show(ordinary_site / "scatter.html", f"x={X}&y={Y}")
    stored = ordinary_store.frame(benchmarks=[X, Y]).pivot(index="model", columns="benchmark", values="score").dropna()
    found = drawn_rows(page, "#correlation")
    one, two = stored[X].to_numpy(), stored[Y].to_numpy()
    r, rho = stats.pearsonr(one, two), stats.spearmanr(one, two)
    ends = r.confidence_interval()
    assert found[0][:3] == ["Pearson's r", shown(r.statistic), f"{shown(ends.low)} to {shown(ends.high)}"]
    reach = stats.norm.ppf(0.975) * np.sqrt((1 + rho.statistic**2 / 2) / (len(one) - 3))
    low, high = np.tanh(np.arctanh(rho.statistic) + reach * np.array([-1, 1]))
    assert found[1][:3] == ["Spearman's ρ", shown(rho.statistic), f"{shown(low)} to {shown(high)}"]
    by_x = stored.sort_values(X, ascending=False)
    assert [row[0] for row in drawn_rows(page, "#numbers")] == by_x.index.tolist()
    assert [row[1].split(" ")[0] for row in drawn_rows(page, "#numbers")] == [shown(value) for value in by_x[X]]
    drawn = page.execute_script("const [one] = document.querySelector('#chart .chart').data; return [one.x, one.y]")
    assert sorted(zip(*drawn, strict=True)) == sorted(zip(one.tolist(), two.tolist(), strict=True))


def test_choice_marks_and_the_address(page, ordinary_site):
    page.show(ordinary_site / "scatter.html")
    drawn_rows(page, "#numbers")

    def write(place, text):
        page.execute_script("document.getElementById(arguments[0]).select()", place)
        ActionChains(page).send_keys(text, Keys.ENTER).perform()

    write("x", X)
    write("y", Y)
    write("mark", "hmax")
    page.execute_script("document.getElementById('errors').click()")
    page.wait("document.querySelector('#chart .chart').data[1].hovertext.length === 1")
    assert not page.execute_script("return document.querySelector('#chart .chart').data[0].error_x.visible")
    view = page.execute_script("return location.hash.slice(1)")
    before = drawn_rows(page, "#numbers")
    page.show(ordinary_site / "scatter.html", view)
    assert drawn_rows(page, "#numbers") == before
    assert page.execute_script("return ['x', 'y', 'mark'].map((id) => document.getElementById(id).value)") == [
        X,
        Y,
        "hmax",
    ]
    write("x", "no such node")
    assert page.wait("document.getElementById('status').textContent") == "There is no benchmark no such node."
    assert page.execute_script("return location.hash.slice(1)") == view


def test_points_by_keyboard(page, ordinary_site):
    page.show(ordinary_site / "scatter.html", f"x={X}&y={Y}")
    order = [row[0] for row in drawn_rows(page, "#numbers")][::-1]
    page.execute_script("document.querySelector('#chart .chart').focus()")
    for model in order[:3]:
        ActionChains(page).send_keys(Keys.ARROW_RIGHT).perform()
        said = page.execute_script("return document.querySelector('#chart [role=status]').textContent")
        assert said.startswith(f"{model}\n{X}: ")
    page.wait("document.querySelector('#chart .hoverlayer text')")
    ActionChains(page).send_keys(Keys.HOME).perform()
    assert page.execute_script("return document.querySelector('#chart [role=status]').textContent").startswith(order[0])
