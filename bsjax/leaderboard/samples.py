"""Sample stimuli of benchmarks, as images embedded in a page."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from bsjax.benchmarks.families.marques2020.stimuli import BLANK, COLUMNS, RENDERED, grid, render
from bsjax.benchmarks.families.simulated import procedural

if TYPE_CHECKING:
    from bsjax.benchmarks import BenchmarkRow

_MOST = 6
# The middle half of the visual field, at every third pixel, since the gratings are small.
_MIDDLE = slice(168, 504, 3)
_PROCEDURAL, _PIXELS, _SEED = "bsjax.benchmarks.families.simulated.", 96, 0


class Samples(NamedTuple):
    """Sample stimuli of a benchmark.

    Attributes:
        images: name, description and data URL of each image.
        words: a caption, or why there are no images.
    """

    images: list[tuple[str, str, str]]
    words: str


def samples(row: BenchmarkRow) -> Samples:
    """Make sample stimuli of a benchmark if bsjax renders them itself. Others are not shown, for lack of a licence.

    Nothing is downloaded.

    Args:
        row: row of the benchmark.

    Example:
        >>> from bsjax.benchmarks import benchmark_row
        >>> made = samples(benchmark_row("Marques2020_DeValois1982-pref_or"))
        >>> [(name, seen, address[:22]) for name, seen, address in made.images[:1]]
        [('104 of 1152', 'a grating of 0 degrees, 1.5 cycles per degree, 1.3 degrees wide', 'data:image/png;base64,')]
    """
    if row.with_data and row.stimuli in RENDERED and row.stimuli != BLANK:
        gratings = grid(row.stimuli)
        return Samples(
            [
                (f"{at + 1} of {len(gratings)}", _seen(gratings[at]), _address(render(gratings[at])[_MIDDLE, _MIDDLE]))
                for at in _spread(len(gratings))
            ],
            f"The middle of some images of {row.stimuli}, 6 degrees wide. bsjax renders them itself.",
        )
    if row.builder.startswith(_PROCEDURAL):
        images = [(kind, procedural.render(kind, (_SEED, at), _PIXELS)) for at, kind in enumerate(procedural.KINDS)]
        return Samples(
            [(kind, f"a grey image of the kind {kind}", _address(image)) for kind, image in images],
            "Images of each kind that is shown, drawn anew: bsjax makes those of the benchmark in the same way.",
        )
    names = [name for name in dict.fromkeys([row.stimuli, row.fitting_stimuli, *row.data]) if name]
    of = f" of {' and '.join(names)}" if names else ""
    return Samples([], f"No images are shown: no licence is known that lets a page show those{of}.")


def _seen(grating: np.ndarray) -> str:
    of = dict(zip(COLUMNS, grating.tolist(), strict=True))
    return (
        f"a grating of {of['orientation']:g} degrees, {of['spatial_frequency']:.2g} cycles per degree, "
        f"{2 * of['radius']:.2g} degrees wide"
    )


def _spread(n: int) -> list[int]:
    """Deterministic, unevenly spaced indices into a set; even spacing might always select the same orientation."""
    golden = (np.arange(1, _MOST + 1) * (math.sqrt(5) - 1) / 2) % 1
    return sorted((golden * n).astype(int).tolist())


def _address(pixels: np.ndarray) -> str:
    content = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(content, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
