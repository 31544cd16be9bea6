"""What axe-core finds wrong with a page."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.browser import Browser
from tests.support.paths import REPOSITORY

VARIABLE = "BSJAX_AXE"
_PACKAGE = "axe-core@4.10.3"
_FOLDER = REPOSITORY / "build" / "axe"


def violations(browser: Browser) -> list[str]:
    """Each rule that the page in a browser breaks, of any level, with where it does."""
    browser.execute_script(_source())
    # It would ask for the styles again, which the policy of the pages refuses; it sees them as they are applied.
    found = browser.execute_async_script(
        "const done = arguments[0], given = { preload: false };"
        "axe.run(document, given).then((found) => done(found.violations), (error) => done(String(error)));"
    )
    assert isinstance(found, list), found
    return [f"{rule['id']} ({rule['impact']}): {[node['target'] for node in rule['nodes']][:5]}" for rule in found]


@cache
def _source() -> str:
    """The script, from the file that ``$BSJAX_AXE`` names, or from npm."""
    named = os.environ.get(VARIABLE)
    path = Path(named) if named else _FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        if named or not (npm := shutil.which("npm")):
            pytest.skip(f"axe-core is not here: ${VARIABLE} names no file, and there is no npm to install it")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(_FOLDER), _PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"axe-core cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    return path.read_text(encoding="utf-8")
