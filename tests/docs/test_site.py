"""The site: it builds without a warning, offline; it has every public name; every task is two clicks away."""

import ast
import importlib
import importlib.util
import inspect
import json
import re
import sys
import zlib
from textwrap import dedent

import pytest

from tests.support.accessibility import violations
from tests.support.paths import REPOSITORY

DOCS = REPOSITORY / "docs"
NOTEBOOKS = sorted((REPOSITORY / "examples").glob("*.ipynb"))
# What the tutorials of Brain-Score's developers teach, and the page that does it here.
TASKS = {
    "questions of developers": "help/questions.html",
    "a model": "tutorials/submit-a-model.html",
    "common faults": "help/troubleshooting.html",
    "getting help": "help/getting-help.html",
    "contributing": "help/contribute-a-plugin.html",
    "data": "tutorials/package-data.html",
    "a benchmark of behaviour": "tutorials/behavioural-benchmark.html",
    "a neural benchmark": "tutorials/neural-benchmark.html",
    "a benchmark of properties": "tutorials/properties-benchmark.html",
    "which metric": "explanations/which-metric.html",
    "which pattern": "explanations/which-benchmark.html",
    "ceilings": "explanations/ceilings.html",
    "submission of a benchmark": "tutorials/submit-a-benchmark.html",
}
# Their examples need what the tests have not: libraries of networks, another backend of Keras.
NOT_INSTALLED = {"from_keras", "from_timm", "from_torchvision"}
# Kernels that do no more than count, sort or arrange.
WITHOUT_A_PAPER = {"accuracy", "compiled", "confusion_counts", "decode", "drawn_folds", "leave_one_out_similarity"}
WITHOUT_A_PAPER |= {"value_delta", "make_folds", "ranks", "rdm_pairs", "similarity_on_subsets"}
LOOKED_AT = ["index.html", "tutorials/index.html", "explanations/which-metric.html", "help/troubleshooting.html"]
LOOKED_AT += ["examples/torch_against_v1.html", "reference/names/bsjax.score.html", "reference/packages.html"]
LOOKED_AT += ["gallery.html", "reference/glossary.html", "differences.html"]


# Whichever test comes first waits for the site, which executes all notebooks.
pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def public():
    spec = importlib.util.spec_from_file_location("docs_public", DOCS / "_public.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def links(site, page):
    """The pages of the site that a page links to."""
    addresses = re.findall(r'<a [^>]*href="([^"#:]+)[^":]*"', (site / page).read_text(encoding="utf-8"))
    found = [(site / page).parent.joinpath(address).resolve() for address in addresses]
    return {path.relative_to(site.resolve()).as_posix() for path in found if path.suffix == ".html" and path.exists()}


def test_every_public_name_has_a_docstring_with_an_example(public):
    bare = []
    for package in public.packages():
        for name in public.public_names(package):
            value = getattr(importlib.import_module(package), name)
            if inspect.isclass(value) or inspect.isroutine(value):
                doc = inspect.getdoc(inspect.unwrap(value)) or ""
                if "Example" not in doc or (">>>" not in doc and name not in NOT_INSTALLED):
                    bare.append(f"{package}.{name}")
    assert bare == []


def test_every_public_function_states_its_arguments_errors_and_source(public):
    lacking = []
    for name in sorted(
        {public.home(package, name) for package in public.packages() for name in public.public_names(package)}
    ):
        package, _, own = name.rpartition(".")
        value = getattr(importlib.import_module(package), own)
        if not inspect.isfunction(value):
            continue
        doc, code = inspect.getdoc(value) or "", ast.parse(dedent(inspect.getsource(inspect.unwrap(value))))
        parameters = [each for each in inspect.signature(value).parameters if not each.startswith("_")]
        lacking += [f"{name}: {each}" for each in parameters if not re.search(rf"\b{each}\b", doc)]
        if any(isinstance(node, ast.Raise) and node.exc for node in ast.walk(code)) and "Raises:" not in doc:
            lacking.append(f"{name}: what it raises")
        if package == "bsjax.metrics" and own not in WITHOUT_A_PAPER and "Source:" not in doc:
            lacking.append(f"{name}: its source")
    assert lacking == []


@pytest.mark.slow
def test_every_task_is_two_clicks_from_the_front_page(site):
    first = links(site, "index.html")
    near = first | {page for one in first for page in links(site, one)}
    assert {task: page for task, page in TASKS.items() if page not in near} == {}


@pytest.mark.slow
def test_the_reference_has_the_names_that_are_exported(site, public):
    lines = (site / "objects.inv").read_bytes().split(b"\n", 4)
    named = {line.split()[0] for line in zlib.decompress(lines[4]).decode().splitlines() if " py:" in line}
    exported = {public.home(package, name) for package in public.packages() for name in public.public_names(package)}
    assert exported - named == set()
    pages = {path.stem for path in (site / "reference" / "names").glob("*.html")}
    assert pages == exported | set(public.packages())


@pytest.mark.slow
def test_notebooks_were_executed(site):
    for notebook in NOTEBOOKS:
        page = (site / "examples" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert page.count("cell_output") > 2, notebook.stem


def test_notebooks_are_kept_without_outputs_and_check_their_numbers():
    assert len(NOTEBOOKS) >= 6
    for notebook in NOTEBOOKS:
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
        assert not any(cell["outputs"] or cell["execution_count"] for cell in cells), notebook.stem
        assert sum("".join(cell["source"]).count("assert ") for cell in cells) >= 2, notebook.stem


def test_notebooks_end_with_links_that_lead_somewhere():
    for notebook in NOTEBOOKS:
        last = "".join(json.loads(notebook.read_text())["cells"][-1]["source"])
        found = re.findall(r"\]\(/([^)#]+)\)", last)
        found += [f"{name}.ipynb" for name in re.findall(r"\{doc\}`[^`]*</([^>`]+)>`", last)]
        assert last.startswith("## Where to go next") and len(found) >= 3, notebook.stem
        assert [link for link in found if not (DOCS / link).is_file()] == [], notebook.stem


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("address", LOOKED_AT)
def test_pages_break_no_rule_and_ask_for_nothing(page, site, address, colours):
    page.prefer(colours)
    if colours == "dark":  # and as narrow as a phone
        page.resize(390)
    page.show(site / address, "")
    page.wait("document.readyState === 'complete'")
    assert violations(page) == []
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert [request for request in page.requests() if not request.startswith(("file:", "data:"))] == []
