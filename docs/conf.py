"""How Sphinx builds the site of the documentation: ``make docs``.

The build asks for nothing over the network: fonts and scripts are those of the installed packages, and what other
libraries' sites have is said by the files of _inventories/.
"""

import sys
from pathlib import Path

import bsjax

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _public import home, picture, public_names, used_in  # noqa: E402

project, author, copyright = "bsjax", "The bsjax authors", "The bsjax authors"
release = version = bsjax.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "_public",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "gallery/README.rst", "gallery/*.py", "examples/.ipynb_checkpoints"]

# Links between pages are errors where they lead nowhere, and names of bsjax where no page has them. Types of other
# libraries are links where an inventory has them, and plain text elsewhere.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!bsjax\.).*")]
suppress_warnings = ["config.cache"]
linkcheck_anchors = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Notebooks are executed once, and again when they have changed.
nb_execution_mode = "cache"
nb_execution_timeout = 300  # of a cell: machines that test are busy
nb_execution_raise_on_error = True
nb_execution_show_tb = True

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"home": home, "public_names": public_names, "used_in": used_in, "picture": picture}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True
napoleon_use_rtype = False

INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "xarray": "https://docs.xarray.dev/en/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "jax": "https://docs.jax.dev/en/latest/",
}
intersphinx_mapping = {name: (url, str(HERE / "_inventories" / f"{name}.inv")) for name, url in INVENTORIES.items()}

html_theme = "pydata_sphinx_theme"
html_title = "bsjax"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_js_files = [("site.js", {"defer": "defer"})]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "collapse_navigation": True,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
