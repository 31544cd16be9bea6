"""The site of the documentation, built once for all processes that test it, with every notebook executed."""

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.leaderboard.conftest import browser, page  # noqa: F401
from tests.support.paths import REPOSITORY
from tests.support.processes import printed_by


@pytest.fixture(scope="session")
def site() -> Path:
    pytest.importorskip("sphinx")
    folder = Path(os.environ["BSJAX_HOME"]) / "site"
    with FileLock(f"{folder}.lock"):
        if not (folder / "html" / "index.html").exists():
            # The build writes pages of the reference beside the others.
            shutil.copytree(REPOSITORY / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build", "names"))
            for name in ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"):
                shutil.copy(REPOSITORY / name, folder)
            command = ("-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", folder / "docs", folder / "html")
            places = {"PYTHONPATH": str(REPOSITORY), "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled")}
            printed_by(*command, timeout=1800, BSJAX_PROGRESS="0", **places)
    return folder / "html"
