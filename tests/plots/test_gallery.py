"""The gallery of the documentation: it has every kind of picture, and its script draws them."""

import re
import runpy
import sys

import pytest
from PIL import Image

from bsjax import plots
from tests.support.paths import REPOSITORY

pytest.importorskip("matplotlib")

GALLERY = REPOSITORY / "docs" / "gallery"
PAGE = (REPOSITORY / "docs" / "gallery.md").read_text(encoding="utf-8")
SHOWN = set(re.findall(r"\(gallery/(\w+\.png)\)", PAGE))


def test_the_page_has_every_function_and_every_picture():
    drawing = {name for name in plots.__all__ if name.startswith("plot_")}
    assert drawing - set(re.findall(r"`(plot_\w+)`", PAGE)) == set()
    pictures = {path.name: path.stat().st_size for path in GALLERY.glob("*.png")}
    assert set(pictures) == SHOWN and max(pictures.values()) < 60_000


@pytest.mark.slow
def test_the_script_draws_them_in_the_sizes_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["draw.py", str(tmp_path)])
    runpy.run_path(str(GALLERY / "draw.py"), run_name="__main__")
    assert {path.name for path in tmp_path.iterdir()} == SHOWN
    for name in SHOWN:
        with Image.open(tmp_path / name) as drawn, Image.open(GALLERY / name) as shown:
            assert drawn.size == shown.size, name
            assert len(drawn.convert("RGB").getcolors(maxcolors=1000)) > 10, name
