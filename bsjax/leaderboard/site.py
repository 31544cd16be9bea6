"""The site: a folder of static files that works without server and network."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from bsjax.core.extras import import_extra
from bsjax.core.messages import counted
from bsjax.core.version import __version__
from bsjax.leaderboard import benchmark_pages, chart_pages, model_pages, table_page
from bsjax.leaderboard.encoding import column, script, shown, templates_in
from bsjax.leaderboard.records import Node, Records, records
from bsjax.results.aggregation import How
from bsjax.scoring.grid import Grid

if TYPE_CHECKING:
    from bsjax.results import ResultStore

# Marks a folder as a site, which may be replaced.
_MARK = "bsjax-site.txt"
_MARKED = "This folder is written whole by `bsjax leaderboard build`, which replaces all that is in it.\n"
_PAGES = (table_page, model_pages, benchmark_pages, chart_pages)
_NAVIGATION = (
    ("table", "index.html", "Table"),
    ("compare", "compare.html", "Compare models"),
    ("scatter", "scatter.html", "Scatter plot"),
    ("history", "history.html", "History"),
)
_HERE = Path(__file__).parent
_LONGEST_REASON = 240
_FACTS = ("region", "modality", "species", "metric", "summary")


@dataclass(frozen=True)
class Site:
    """A built site.

    Attributes:
        folder: its folder; ``folder / "index.html"`` is its first page.
        n_models, n_benchmarks: number of models and benchmarks shown.
        n_files, n_bytes: number of files and total size.
        notes: descriptions of what the store contains and the site does not show.

    Example:
        >>> import tempfile
        >>> from bsjax.leaderboard import build
        >>> from bsjax.results import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026.V4-pls", "no data")
        ...     build(store, f"{folder}/site").n_models
        1
    """

    folder: Path
    n_models: int
    n_benchmarks: int
    n_files: int
    n_bytes: int
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        first, here = self.folder / "index.html", Path.cwd()
        # A notebook server can serve files in its own folder.
        address = first.relative_to(here).as_posix() if first.is_relative_to(here) else first.as_uri()
        source = escape(address)
        return f'<iframe src="{source}" width="100%" height="600"></iframe><p><a href="{source}">{source}</a></p>'


def build(
    scores: ResultStore | Grid,
    out: str | Path = "leaderboard",
    *,
    models: Iterable[str] | None = None,
    benchmarks: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    how: How = "available",
    title: str = "",
) -> Site:
    """Build the site of the scores in a store or grid. The folder is replaced only when the site is complete.

    In a notebook, the result displays the site.

    Args:
        scores: a store, or the result of :func:`bsjax.score_grid`, of which all models and benchmarks are shown.
        out: output folder: a new one, an empty one, or a site built earlier, which is replaced.
        models, benchmarks: identifiers or globs; by default all.
        exclude: identifiers or globs of models and benchmarks to leave out.
        how: treatment of missing scores in averages, see :func:`~bsjax.results.aggregation.aggregate`. The page can
            show both, and starts with this one.
        title: title of the site.

    Raises:
        FileExistsError: the output folder is a file, or contains other files; it is not changed.
        ValueError: nothing in the store matches.
        ImportError: the extra ``leaderboard`` is not installed.
        OSError: the store cannot be read, or the folder cannot be written.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026.V4-pls", "no data")
        ...     site = build(store, f"{folder}/site")
        ...     (site.folder / "index.html").exists(), site.n_models, site.n_benchmarks
        (True, 1, 1)
    """
    store = scores.store if isinstance(scores, Grid) else scores
    if isinstance(scores, Grid):
        names = [cell.names for cell in scores.plan]
        models = models or sorted({model for model, _ in names})
        benchmarks = benchmarks or sorted({benchmark for _, benchmark in names})
    folder = Path(os.path.realpath(out))
    _check_place(folder)
    environment = _environment()
    found = records(store, models=models, benchmarks=benchmarks, exclude=exclude, how=how, title=title)
    environment.globals["site"] = found
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.parent / f".{secrets.token_hex(8)}.part"
    try:
        aside.mkdir()
        for path, content in _files(found, environment):
            (aside / path).parent.mkdir(exist_ok=True)
            # A store can contain lone surrogates, which UTF-8 cannot encode; they are escaped.
            (aside / path).write_bytes(content.encode("utf-8", "backslashreplace"))
        sizes = [path.stat().st_size for path in aside.rglob("*") if path.is_file()]
        _check_place(folder)
        _put(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return Site(folder, len(found.models), len(found.leaves), len(sizes), sum(sizes), tuple(found.notes))


def data_script(found: Records) -> str:
    """Make ``data.js``, the file from which all pages read their numbers."""
    reasons, reason = _numbered(found.texts["reason"])
    intervals, interval = _numbered(found.texts["interval"])
    columns = {name: found.columns[name] for name in ("score", "error", "low", "high", "state")}
    columns |= {"reason": reason, "interval": interval}
    return script(
        "bsjaxData",
        {
            "title": found.title,
            "how": found.how,
            "built": found.built,
            "normalHalf": float(scipy.special.ndtri(0.975)),
            "models": [
                {
                    "identifier": model.identifier,
                    "slug": model.slug,
                    "family": model.family,
                    "parameters": model.facts.get("parameters"),
                }
                for model in found.models
            ],
            "nodes": [_plain_node(node) for node in found.nodes],
            "reasons": [_cut(text) for text in reasons],
            "intervals": intervals,
            "columns": {name: column(values) for name, values in columns.items()},
            # Averaged instead of the scores by Brain-Score's website, for engineering benchmarks only.
            "raw": {node.leaf: column(found.columns["raw"][node.leaf]) for node in found.leaves if node.engineering},
        },
    )


def _plain_node(node: Node) -> dict[str, Any]:
    names = ("identifier", "slug", "label", "parent", "depth", "leaf", "engineering", "version", "family", "public")
    plain = {name: getattr(node, name) for name in names}
    return plain | {name: str(node.facts[name]) for name in _FACTS if name in node.facts}


def _numbered(texts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The distinct texts, "" first, and the index of each element into them."""
    numbers: dict[str, int] = {"": 0}
    places = [numbers.setdefault(text, len(numbers)) for text in texts.ravel()]
    return list(numbers), np.array(places, np.min_scalar_type(-len(numbers)))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


def _environment() -> Any:
    environment = templates_in(_HERE / "templates")
    environment.globals |= {"root": "", "here": "", "charts": False, "pages": _NAVIGATION, "version": __version__}
    environment.filters |= {"shown": shown, "counted": counted}
    return environment


def _files(found: Records, environment: Any) -> Iterator[tuple[str, str]]:
    """The paths and contents of all files."""
    yield _MARK, _MARKED
    yield "data.js", data_script(found)
    for path in sorted((_HERE / "static").iterdir()):
        yield f"static/{path.name}", path.read_text(encoding="utf-8")
    yield "static/plotly.min.js", _plotly().read_text(encoding="utf-8")
    for page in _PAGES:
        yield from page.render(found, environment)


def _plotly() -> Path:
    """The path of plotly's script in its Python package."""
    path = Path(str(import_extra("plotly", "leaderboard").__file__)).parent / "package_data" / "plotly.min.js"
    if not path.is_file():
        raise FileNotFoundError(f"expected the script of plotly at {path}, but it is not there: install plotly again")
    return path


def _check_place(folder: Path) -> None:
    if not os.path.lexists(folder) or (folder / _MARK).is_file():
        return
    if not folder.is_dir():
        raise FileExistsError(f"expected a folder, or a new place, for the site, but {folder} is a file; name another")
    if any(folder.iterdir()):
        raise FileExistsError(
            f"expected a new or empty folder, or a site that was built before, but {folder} has other files in it, "
            "which would be lost; name another folder"
        )


def _put(aside: Path, folder: Path) -> None:
    """Move a folder to its place, and remove the previous one."""
    if not folder.exists():
        os.rename(aside, folder)
        return
    before = folder.parent / f"{aside.name}.before"
    os.rename(folder, before)
    try:
        os.rename(aside, folder)
    except OSError:
        os.rename(before, folder)
        raise
    shutil.rmtree(before, ignore_errors=True)
