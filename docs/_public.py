"""The public names of bsjax, for the reference: those that its packages export, each on one page."""

import ast
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from docutils.nodes import SkipNode, math_block
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.pycode import ModuleAnalyzer

import bsjax

HERE = Path(__file__).parent
_NAMES = re.compile(r"^\s*:(?:param|ivar) [\w*\\]+(?:, [\w*\\]+)+:")


@cache
def packages() -> tuple[str, ...]:
    """The packages that export names: bsjax, then its own in the order of the alphabet."""
    own = [f"bsjax.{each.name}" for each in pkgutil.iter_modules(bsjax.__path__) if each.ispkg]
    return ("bsjax", *(name for name in own if _exported(name)))


@cache
def _exported(package: str) -> tuple[str, ...]:
    module = import_module(package)
    if hasattr(module, "__all__"):
        return tuple(sorted(module.__all__))
    if package.endswith((".cli", ".compat", ".core")):  # commands, Brain-Score's own names, what no user calls
        return ()
    names = (name for name in dir(module) if not name.startswith("_"))
    return tuple(name for name in names if not inspect.ismodule(getattr(module, name)))


@cache
def _homes() -> dict[int, str]:
    """Identity of what is exported -> the first name that has it."""
    homes: dict[int, str] = {}
    for package in packages():
        for name in _exported(package):
            homes.setdefault(id(getattr(import_module(package), name)), f"{package}.{name}")
    return homes


def home(package: str, name: str) -> str:
    """The name under which the reference has what ``package`` exports as ``name``."""
    return _homes()[id(getattr(import_module(package), name))]


def public_names(package: str) -> tuple[str, ...]:
    """What a package exports, without what is no object to describe."""
    return tuple(name for name in _exported(package) if name != "__version__")


@cache
def _uses() -> dict[str, set[str]]:
    """Name of the reference -> the pages and notebooks whose code has it."""
    uses: dict[str, set[str]] = {}
    for page in [*HERE.rglob("*.md"), *HERE.glob("examples/*.ipynb")]:
        for name in _mentioned(_code_of(page)):
            package, _, last = name.rpartition(".")
            if package in packages() and last in public_names(package):
                uses.setdefault(home(package, last), set()).add(page.relative_to(HERE).with_suffix("").as_posix())
    return uses


def _code_of(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def _mentioned(code: str) -> Iterator[str]:
    """The dotted names below bsjax of a piece of code, by whatever names it has imported them."""
    nodes = list(ast.walk(ast.parse(code)))
    known = {"bsjax": "bsjax"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "bsjax":
            known |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            if first in known:
                yield ".".join([known[first], *rest])


def used_in(name: str) -> list[str]:
    """The pages and notebooks that use what the reference has under a name, as links."""
    return [f":doc:`/{page}`" for page in sorted(_uses().get(name, ()))]


def picture(name: str) -> str:
    """The picture of the gallery that a function of ``bsjax.plots`` draws, if there is one."""
    drawn = name.removeprefix("bsjax.plots.plot_")
    return f"/gallery/{drawn}.png" if (HERE / "gallery" / f"{drawn}.png").exists() else ""


def _documented_as(app, what, name, obj, options, lines) -> None:
    """A constant has the text below it in its module, not that of its type."""
    if what == "data" and type(obj).__module__ == "builtins":
        package, constant = name.rsplit(".", 1)
        tree = ast.parse(inspect.getsource(import_module(package)))
        found = [
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            if constant in [alias.name for alias in node.names]
        ]
        lines[:] = ModuleAnalyzer.for_module(found[0]).find_attr_docs().get(("", constant), [])


def _together(app, what, name, obj, options, lines) -> None:
    """Names that share a line of a docstring, ``a, b: ...``, are names: Sphinx would take the first for a type."""
    lines[:] = [_NAMES.sub(lambda found: found.group().replace(", ", ",\u200b"), line) for line in lines]


def _of_inside(app, env, node, contnode):
    """What is not exported has no page: its name stays as it is, if it is the name of something."""
    parts = node["reftarget"].split(".") if node.get("refdomain") == "py" else []
    for cut in range(len(parts), 0, -1) if parts[:1] == ["bsjax"] else ():
        try:
            attrgetter(".".join(["__name__"] if cut == len(parts) else parts[cut:]))(
                import_module(".".join(parts[:cut]))
            )
        except (ImportError, AttributeError):
            continue
        return contnode
    return None


def _formula(translator, node) -> None:
    """As MathML, which browsers draw themselves: the usual script would come over the network."""
    translator.body.append(tex2mathml(node.astext(), as_block=isinstance(node, math_block)))
    raise SkipNode


def setup(app) -> dict[str, bool]:
    """Write the list of packages that the reference begins with, and leave names without a page as they are."""
    app.connect("autodoc-process-docstring", _documented_as)
    app.connect("autodoc-process-docstring", _together, priority=600)  # behind napoleon, which makes the fields
    app.connect("missing-reference", _of_inside)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    listed = "\n".join(packages())
    page = f"""# Packages

Every public name has a page, found by the package that exports it.

```{{eval-rst}}
.. autosummary::
   :toctree: names
   :template: autosummary/package.rst

   {listed.replace(chr(10), chr(10) + "   ")}
```
"""
    path = app.srcdir / "reference" / "packages.md"
    if not path.exists() or path.read_text() != page:
        path.write_text(page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
