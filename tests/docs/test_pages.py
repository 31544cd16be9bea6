"""The code of the pages of the site, copied literally, works and prints what they show."""

import jax
import pytest

from tests.docs import run_page
from tests.docs.run_page import blocks
from tests.support.paths import REPOSITORY
from tests.support.processes import printed_by

DOCS = REPOSITORY / "docs"
FOLDERS = ("tutorials", "howto", "explanations", "help", "reference")
PAGES = [path for folder in FOLDERS for path in sorted((DOCS / folder).glob("*.md"))]
WITH_CODE = [path for path in [DOCS / "index.md", *PAGES] if blocks(path.read_text(encoding="utf-8"))]


# Plugins that a process has found stay with it, and so does what stands in for Brain-Score.
ALONE = ("bsjax new", "compat.install")


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.stem)
def test_what_a_page_shows_is_so(path, tmp_path, monkeypatch):
    text = path.read_text(encoding="utf-8")
    if "import torch" in text:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    if any(words in text for words in ALONE):
        printed_by("-m", "tests.docs.run_page", path, cwd=tmp_path, PYTHONPATH=str(REPOSITORY))
    else:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            run_page.main(str(path))
