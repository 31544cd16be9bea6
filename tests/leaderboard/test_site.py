"""The folder of a site: what is in it, and where it may be put."""

import json
import os
import re
from urllib.parse import quote

import pytest

import bsjax
from bsjax import Score
from bsjax.leaderboard import build
from bsjax.leaderboard.records import slug
from bsjax.results import ResultStore
from tests.leaderboard.conftest import HOSTILE, scored


@pytest.fixture
def store(store):
    store.add(scored("pixels", "Doe2026-x", 0.5))
    return store


def test_the_folder_holds_all_that_its_pages_name(ordinary_site):
    pages = list(ordinary_site.rglob("*.html"))
    assert {"index.html", "compare.html", "scatter.html", "history.html"} <= {page.name for page in pages}
    for page in pages:
        for name in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
            assert name.startswith("data:") or re.match("https?://", name) or (page.parent / name).is_file(), name


def test_nothing_is_asked_of_other_machines(ordinary_site):
    for page in ordinary_site.rglob("*.html"):
        text = page.read_text()
        assert "default-src 'none'" in text
        assert not re.search(r'<(script|link|img|iframe|source)[^>]+(src|href)="(https?:)?//', text)


def test_a_site_replaces_a_site_whole(store, tmp_path):
    first = build(store, tmp_path / "site")
    stale = first.folder / "models" / "gone.html"
    stale.write_text("of a model that is gone")
    again = build(store, tmp_path / "site", title="Again")
    assert not stale.exists() and "Again" in (again.folder / "index.html").read_text()
    assert [path.name for path in tmp_path.iterdir() if "results.db" not in path.name] == ["site"]
    assert again.n_files == sum(path.is_file() for path in again.folder.rglob("*"))
    assert again.n_bytes == sum(path.stat().st_size for path in again.folder.rglob("*") if path.is_file())


def test_a_folder_of_others_stays_as_it_is(store, tmp_path):
    theirs = tmp_path / "thesis"
    theirs.mkdir()
    build(store, theirs)  # it was empty
    other = tmp_path / "other"
    other.mkdir()
    (other / "chapter.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="other files"):
        build(store, other)
    with pytest.raises(FileExistsError, match="is a file"):
        build(store, other / "chapter.tex")
    assert (other / "chapter.tex").read_text() == "years of work"


def test_what_fails_leaves_the_old_site_and_nothing_else(store, tmp_path):
    build(store, tmp_path / "site", title="Old")
    with pytest.raises(ValueError, match="nothing to show"):
        build(store, tmp_path / "site", models=["nobody"])
    assert "Old" in (tmp_path / "site" / "index.html").read_text()
    assert [path.name for path in tmp_path.iterdir() if "results.db" not in path.name] == ["site"]


@pytest.mark.skipif(os.name != "posix", reason="links are those of POSIX")
def test_a_link_stays_a_link(store, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    build(store, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "index.html").is_file()


def test_reasons_are_kept_once_and_cut(store, tmp_path):
    for model in ("a", "b"):
        store.add_failure(model, "Doe2026-x", "x" * 1000)
    text = (build(store, tmp_path / "site").folder / "data.js").read_text()
    data = json.loads(text.removeprefix("window.bsjaxData = ").removesuffix(";\n"))
    assert [len(reason) for reason in data["reasons"]] == [0, 240]


class Half:
    """A benchmark without data."""

    identifier, version, parent, bibtex, ceiling = "Doe2026-half", 1, "IT", "", Score(1.0)

    def __call__(self, candidate):
        return Score(0.5)


def test_a_grid_becomes_a_site_that_shows_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(bsjax.benchmark_registry, Half.identifier, Half)
    store = ResultStore(tmp_path / "results.db")
    store.add_failure("another", "Doe2026-x", "not of the grid")
    grid = bsjax.score_grid("pixels", Half.identifier, store=store)
    site = build(grid)
    assert (site.n_models, site.n_benchmarks) == (1, 1) and site.folder == tmp_path / "leaderboard"
    assert '<iframe src="leaderboard/index.html"' in site._repr_html_()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (tmp_path / "leaderboard" / "index.html").as_uri() in site._repr_html_()


MARKUP, PATH = quote(HOSTILE[0]), quote(HOSTILE[4])
HOSTILE_PAGES = [
    ("history.html", None),
    (f"scatter.html#x={MARKUP}&y={PATH}", None),
    (f"compare.html#model={MARKUP}&model={PATH}", None),
    # Half a character is shown by its number.
    *((f"models/{slug(name)}.html", name) for name in (HOSTILE[0], "half \\ud800")),
    *((f"benchmarks/{slug(name)}.html", name) for name in (HOSTILE[4], "__proto__")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("address", "name"), HOSTILE_PAGES)
def test_hostile_names_are_text(page, hostile_site, address, name):
    path, _, view = address.partition("#")
    page.show(hostile_site / path, view)
    page.wait("document.querySelector('.main-svg, #content table')")
    assert page.execute_script("return window.hacked") is None and page.messages() == []
    assert page.execute_script("return document.querySelectorAll('main .chart a, main .chart img').length") == 0
    assert {address.partition(":")[0] for address in page.requests()} <= {"file", "data", "about"}
    shown = page.execute_script("return document.querySelector('main').innerText")
    assert (HOSTILE[0] if name is None else name) in shown
