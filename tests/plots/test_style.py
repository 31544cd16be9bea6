"""The style of pictures: a column's width, colours of the axes, and text that grows with them."""

import matplotlib
import matplotlib.figure
import matplotlib.style
import numpy as np

from bsjax.plots.style import look_of, nice_step, panel_for, runs, shortened


def test_a_notebook_shows_the_picture_of_axes_and_of_their_figure():
    from IPython.core.formatters import PNGFormatter

    axes = panel_for(None, None, 2.0)
    shown = [PNGFormatter()(each) for each in (axes, axes.figure)]
    assert shown[0] == shown[1] and shown[0].startswith(b"\x89PNG")


def test_colours_are_those_of_the_axes():
    with matplotlib.style.context("dark_background"):
        dark = look_of(panel_for(None, None, 2.0))
    light = look_of(panel_for(None, None, 2.0))
    assert (dark.ink, dark.paper[:3]) == ("white", (0.0, 0.0, 0.0))
    assert (light.ink, light.paper[:3]) == ("black", (1.0, 1.0, 1.0))


def test_groups_steps_and_long_names():
    assert runs([]) == [] and runs(["a"]) == [("a", 0, 1)]
    assert [nice_step(span, 10) for span in (0.1, 1.0, 1.01, 3.0, 7.0)] == [0.01, 0.1, 0.2, 0.5, 1.0]
    assert len(shortened("x" * 100, 10)) == 10 and np.isclose(nice_step(0.0, 5), 0.01)
