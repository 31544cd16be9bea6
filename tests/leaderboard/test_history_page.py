import numpy as np
import pytest

from bsjax.leaderboard import build
from bsjax.leaderboard.encoding import shown
from tests.leaderboard.conftest import drawn_rows, scored
from tests.support.paired_store import ALONE, DRAWN, PROFILED

pytestmark = pytest.mark.slow


def said(page):
    return page.execute_script("return document.getElementById('status').textContent")


def rows(page):
    """The cells of the table of all scores."""
    return drawn_rows(page, "#numbers > details")


def expected(frame, shown_keys):
    frame = frame.sort_values("started", ascending=False, kind="stable")
    return [
        [
            row.started[:16].replace("T", " "),
            row.model,
            row.benchmark,
            str(int(row.version)),
            shown(row.score),
            "yes" if row.key in shown_keys else "no",
        ]
        for row in frame.itertuples()
    ]


def test_all_scores_of_a_benchmark_are_there(page, paired_site, paired):
    page.show(paired_site / "history.html", f"benchmark={DRAWN}")
    found, last = rows(page), set(paired.frame()["key"])
    assert [row[:5] + row[6:] for row in found] == expected(paired.frame(benchmarks=DRAWN, latest=False), last)
    assert len(found) == 7 and sum(row[-1] == "no" for row in found) == 3
    assert said(page) == "7 scores, 3 of them superseded by later scores."


def test_versions_are_apart_and_the_best_so_far_never_falls(page, paired_site, paired):
    page.show(paired_site / "history.html", f"benchmark={DRAWN}")
    rows(page)
    series = page.execute_script(
        "const plain = (name) => name.replace(/[\\u2068\\u2069]/g, '');"
        "const { data } = document.querySelector('#chart .chart');"
        "return data.filter((one) => one.mode !== 'text').map((one) => [plain(one.name), [...one.x], [...one.y]])"
    )
    assert [name for name, _, _ in series] == [
        "version 3",
        "version 4",
        "best so far, version 3",
        "best so far, version 4",
        "each model",
        "known change",
    ]
    stored = paired.frame(benchmarks=DRAWN, latest=False).sort_values("started")
    of_four = stored[stored["version"] == 4]
    assert series[1][2] == of_four["score"].tolist()
    best = series[3][2]
    assert np.all(np.diff(best) >= 0) and best[-1] == of_four["score"].max()
    # The score of version 3, which is higher than the first of version 4, is not in their line.
    assert best[0] == of_four["score"].iloc[0] < series[0][2][0]


def test_an_average_at_the_end_of_each_day(page, store, tmp_path):
    scores = [
        ("pixels", "Doe2026.V1-a", 1, 5, 0.2),
        ("pixels", "Doe2026.V1-b", 1, 6, 0.4),
        ("hmax", "Doe2026.V1-a", 1, 6, 0.3),
    ]
    scores += [("hmax", "Doe2026.V1-a", 2, 7, 0.7), ("pixels", "Doe2026.V1-a", 2, 8, 0.6)]
    for model, name, version, month, value in scores:
        made = {"start": f"2026-{month:02d}-01T12:00:00+00:00", "benchmark_version": version, "parent": "V1"}
        store.add(scored(model, name, value, **made))
    page.show(build(store, tmp_path / "site").folder / "history.html", "benchmark=V1")
    versioned = "the version of the benchmark"
    assert sorted([row[0][5:7], row[1], *row[4:]] for row in rows(page)) == [
        ["05", "pixels", shown(0.2), "", "no"],
        ["06", "hmax", shown(0.3), "", "no"],
        ["06", "pixels", shown(0.3), "", "no"],
        ["07", "hmax", shown(0.7), f"Doe2026.V1-a: {versioned}", "yes"],
        ["07", "pixels", shown(0.4), "new version of a benchmark", "no"],
        ["08", "pixels", shown(0.5), f"Doe2026.V1-a: {versioned}", "yes"],
    ]


def test_choice_and_the_address(page, paired_site):
    page.show(paired_site / "history.html")
    # At first, the benchmark with the most scores.
    rows(page)
    assert page.execute_script("return document.getElementById('benchmark').value") == DRAWN
    write = (
        "const place = document.getElementById(arguments[0]);"
        "place.value = arguments[1]; place.dispatchEvent(new Event('change'))"
    )
    page.execute_script(write, "benchmark", ALONE)
    page.execute_script(write, "model", PROFILED)
    assert [row[1:3] for row in rows(page)] == [[PROFILED, ALONE]]
    before, view = rows(page), page.execute_script("return location.hash.slice(1)")
    page.show(paired_site / "history.html", view)
    assert rows(page) == before
    page.execute_script(write, "benchmark", "none such")
    assert said(page) == "There is no benchmark none such."
    page.execute_script(write, "benchmark", "")
    page.execute_script(write, "model", "")
    assert said(page) == "Choose a benchmark or a model."


def test_it_says_what_changed(page, store, tmp_path):
    made = {"jax": "0.10.0", "data": "one"}
    changes = [{}, {"jax": "0.11.0"}, {"model_digest": "sha256:2"}, {"data": "other", "benchmark_version": 2}, {}]
    for number, change in enumerate(changes):
        made |= change | {"start": f"2026-0{5 + number}-01T12:00:00+00:00"}
        store.add(scored("pixels", "Doe2026-odd", 0.5 + number / 100, **made))
    page.show(build(store, tmp_path / "site").folder / "history.html", "benchmark=Doe2026-odd")
    assert [row[5] for row in rows(page)] == [
        "computed again",
        "the version of the benchmark, the data",
        "the model",
        "jax 0.10.0 to 0.11.0",
        "",
    ]


def test_one_line_a_model_has_its_changes_behind_it(page, store, tmp_path):
    for number, (model, month) in enumerate([("pixels", "05"), ("hmax", "06"), ("pixels", "07")]):
        more = {"start": f"2026-{month}-01T12:00:00+00:00", "jax": f"0.{10 + number}.0"}
        store.add(scored(model, "Doe2026-odd", 0.5 + number / 100, **more))
    page.show(build(store, tmp_path / "site").folder / "history.html", "benchmark=Doe2026-odd")
    change = f"2026-07-01 12:00: {shown(0.5)} to {shown(0.52)}, jax 0.10.0 to 0.12.0"
    assert drawn_rows(page, "#numbers > .scroll") == [
        ["pixels", "Doe2026-odd", shown(0.52), "2026-07-01 12:00", f"1 change{change}"],
        ["hmax", "Doe2026-odd", shown(0.51), "2026-06-01 12:00", ""],
    ]
